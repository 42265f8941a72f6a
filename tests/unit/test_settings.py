"""The settings file survives everything: unknown keys, bad values, damage, full disks."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from app.conversation import ChatSettings
from app.settings import Settings, SettingsStore, clean_spec
from engine.types import Backend, Sampling, SpecMode


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "settings.json"


def test_a_new_user_gets_defaults_and_no_file(file: Path) -> None:
    store = SettingsStore(file)
    assert store.value == Settings()
    store.save_now()
    assert not file.exists()


def test_a_change_is_written_and_read_again(file: Path) -> None:
    store = SettingsStore(file)
    chat = ChatSettings(system="be brief", spec=SpecMode.AUTO, sampling=Sampling(top_k=1))
    store.change(theme="dark", chat=chat, backend=Backend.GPU)
    store.save_now()
    again = SettingsStore(file)
    assert again.value == store.value
    assert again.notes == []
    if sys.platform != "win32":
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_keys_of_a_newer_version_are_kept(file: Path) -> None:
    file.write_text(json.dumps({"theme": "dark", "from_the_future": {"a": [1]}}))
    store = SettingsStore(file)
    store.change(theme="light")
    store.save_now()
    assert json.loads(file.read_text())["from_the_future"] == {"a": [1]}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("context_tokens", -1),
        ("context_tokens", 7),
        ("context_tokens", 999_999_999),
        ("context_tokens", "4k"),
        ("threads", -1),
        ("backend", "quantum"),
        ("theme", 5),
        ("text_size", 900),
        ("cache", "relative/path"),
        ("chat", {"sampling": {"temperature": -3}}),
        ("chat", {"sampling": {"top_k": 0}}),
        ("recent_models", [1, 2]),
    ],
)
def test_a_bad_value_falls_back_with_a_note(file: Path, key: str, value: object) -> None:
    file.write_text(json.dumps({key: value, "density": "compact"}))
    store = SettingsStore(file)
    assert getattr(store.value, key) == getattr(Settings(), key)
    assert store.value.density == "compact"
    assert [(n.code, n.params["key"]) for n in store.notes] == [("settings_value", key)]


@pytest.mark.parametrize("data", [b"", b"{", b"[1]", b"\xff\xfe\x00", b'{"a": 1} trailing'])
def test_a_damaged_file_is_set_aside_not_overwritten(file: Path, data: bytes) -> None:
    file.write_bytes(data)
    store = SettingsStore(file)
    assert store.value == Settings()
    assert [n.code for n in store.notes] == ["settings_set_aside"]
    store.change(theme="dark")
    store.save_now()
    kept = list(file.parent.glob("settings.damaged-*.json"))
    assert [k.read_bytes() for k in kept] == [data]
    assert SettingsStore(file).value.theme == "dark"


def test_out_of_range_changes_are_refused(file: Path) -> None:
    store = SettingsStore(file)
    with pytest.raises(ValueError, match="context_tokens"):
        store.change(context_tokens=-5)
    assert store.value == Settings()


def test_a_disk_that_cannot_be_written_is_told_and_harmless(file: Path) -> None:
    store = SettingsStore(file.parent / "missing" / "settings.json")
    store.change(theme="dark")
    store.save_now()
    assert [n.code for n in store.notes] == ["settings_not_saved"]
    assert store.value.theme == "dark"


def test_many_changes_are_written_once_off_the_loop(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writes: list[int] = []
    real = os.replace
    monkeypatch.setattr(os, "replace", lambda a, b: (writes.append(1), real(a, b))[1])

    async def main() -> None:
        store = SettingsStore(file)
        with ThreadPoolExecutor(1) as pool:
            store.bind(asyncio.get_running_loop(), pool)
            for size in range(10, 30):
                store.change(text_size=size)
            await store.flush()
            assert SettingsStore(file).value.text_size == 29

    asyncio.run(main())
    assert len(writes) == 1


def test_a_debounced_change_reaches_the_disk_by_itself(file: Path) -> None:
    async def main() -> None:
        store = SettingsStore(file)
        with ThreadPoolExecutor(1) as pool:
            store.bind(asyncio.get_running_loop(), pool)
            store.change(theme="dark")
            for _ in range(400):
                if os.path.exists(file):  # noqa: ASYNC240
                    return
                await asyncio.sleep(0.01)

    asyncio.run(main())
    assert SettingsStore(file).value.theme == "dark"


def test_crashed_combinations_are_remembered_per_backend(file: Path) -> None:
    store = SettingsStore(file)
    store.remember_crash("/m", Backend.GPU, "signal 6")
    store.remember_crash("/m", Backend.GPU, "signal 11")
    assert store.crashed_with("/m", Backend.CPU) is None
    found = store.crashed_with("/m", Backend.GPU)
    assert found is not None
    assert found.exit == "signal 11"
    store.forget_crash("/m", Backend.GPU)
    assert store.value.crashed == ()


def test_recent_models_are_unique_and_newest_first(file: Path) -> None:
    store = SettingsStore(file)
    for path in ("/a", "/b", "/a"):
        store.remember_model(path, Backend.CPU)
    assert store.value.recent_models == ("/a", "/b")
    assert store.value.model_path == "/a"


@pytest.mark.parametrize("supports", [False, None])
def test_a_file_without_a_drafter_never_speculates(supports: bool | None) -> None:
    assert clean_spec(SpecMode.ON, supports) is SpecMode.OFF
    assert clean_spec(SpecMode.AUTO, True) is SpecMode.AUTO
