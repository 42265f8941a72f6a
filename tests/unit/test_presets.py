"""Presets: save, apply, match, default, delete; storage sizes."""

from __future__ import annotations

from pathlib import Path

import msgspec

from app import paths as app_paths
from app import presets, storage_sizes
from app.conversation import ChatSettings
from app.settings import SettingsStore
from engine.types import Sampling, SpecMode


def test_save_apply_match_and_delete(tmp_path: Path) -> None:
    store = SettingsStore(tmp_path / "settings.json")
    mine = ChatSettings(system="Brief.", sampling=Sampling(top_k=1), start_at="node")
    assert presets.save(store, "  My\n preset ", mine)
    assert not presets.save(store, "   ", mine)
    (preset,) = store.value.presets
    assert preset.name == "My preset"
    assert preset.settings.start_at == ""
    other = ChatSettings(spec=SpecMode.ON, start_at="elsewhere")
    got = presets.applied(preset, other)
    assert (got.system, got.start_at, got.spec) == ("Brief.", "elsewhere", SpecMode.OFF)
    assert presets.matching(store.value, got) == "My preset"
    assert presets.matching(store.value, other) == ""
    presets.save(store, "My preset", other)
    assert len(store.value.presets) == 1
    assert store.value.presets[0].settings.spec is SpecMode.ON
    assert presets.delete(store, "nothing") is None
    assert presets.delete(store, "My preset") is not None
    assert store.value.presets == ()


def test_the_default_preset_is_what_new_chats_start_with(tmp_path: Path) -> None:
    store = SettingsStore(tmp_path / "settings.json")
    own = msgspec.structs.replace(ChatSettings(), system="Own.")
    assert presets.for_new_chat(store.value) == store.value.chat
    presets.save(store, "Own", own)
    presets.set_default(store, "missing")
    assert store.value.default_preset == ""
    presets.set_default(store, "Own")
    assert presets.for_new_chat(store.value) == own
    presets.delete(store, "Own")
    assert store.value.default_preset == ""
    store.save_now()
    assert SettingsStore(tmp_path / "settings.json").value.presets == ()


def test_sizes_of_the_places(tandem_home: Path) -> None:
    paths = app_paths.resolve()
    assert storage_sizes.measure(paths)["cache"] == 0
    folder = paths.engine_cache("/models/demo.litertlm")
    folder.mkdir(parents=True)
    (folder / "weights.bin").write_bytes(b"x" * 5000)
    paths.history_file.write_bytes(b"y" * 300)
    sizes = storage_sizes.measure(paths)
    assert (sizes["cache"], sizes["history"], sizes["models"]) == (5000, 300, 0)
    assert set(storage_sizes.places(paths)) == set(sizes)
