"""Finding, caching, deleting: on real files, with the real header reader."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from app.library import delete, local, records
from app.library.cache import EngineCache, stray_caches
from app.library.capabilities import CapabilityCache
from app.library.local import Places, Source, scan
from app.paths import model_key
from engine import model_file
from engine.types import LIBRARY_VERSION, FileState, ModelInfo


class Reader:
    """The real header reader, counting."""

    def __init__(self) -> None:
        self.read: list[str] = []

    def __call__(self, path: str) -> ModelInfo:
        self.read.append(path)
        return model_file.inspect(path)


@pytest.fixture
def own(tmp_path: Path, demo_model: Path) -> Path:
    folder = tmp_path / "models"
    folder.mkdir()
    shutil.copy(demo_model, folder / "good.litertlm")
    return folder


def by_name(models: tuple[local.LocalModel, ...]) -> dict[str, local.LocalModel]:
    return {Path(m.path).name: m for m in models}


def test_every_kind_of_file_gets_its_state(own: Path, tmp_path: Path, demo_model: Path) -> None:
    (own / "login.litertlm").write_text("<!DOCTYPE html><html>log in</html>")
    (own / "pointer.litertlm").write_text(
        "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"
    )
    (own / "empty.litertlm").touch()
    (own / "folder.litertlm").mkdir()
    (own / "notes.txt").write_text("no model")
    (own / "half.litertlm.partial").write_bytes(b"LITERTLM")
    data = demo_model.read_bytes()
    (own / "cut.litertlm").write_bytes(data[: len(data) // 2])
    found = by_name(scan(Places(own=own), CapabilityCache(tmp_path / "c.json"), Reader()))
    assert set(found) == {
        "good.litertlm",
        "login.litertlm",
        "pointer.litertlm",
        "empty.litertlm",
        "cut.litertlm",
    }
    assert found["good.litertlm"].loadable
    codes = {n: m.problem.code for n, m in found.items() if m.problem}
    assert codes == {
        "login.litertlm": "login_page",
        "pointer.litertlm": "lfs_pointer",
        "empty.litertlm": "empty",
    }
    cut = found["cut.litertlm"].info
    assert cut is not None
    assert cut.state is FileState.INCOMPLETE
    assert not found["cut.litertlm"].loadable
    assert local.orphan_partials(own) == (own / "half.litertlm.partial",)


def test_headers_are_read_once(own: Path, tmp_path: Path) -> None:
    reader, file = Reader(), tmp_path / "c.json"
    (own / "bad.litertlm").write_text("nothing")
    scan(Places(own=own), CapabilityCache(file), reader)
    assert len(reader.read) == 2
    again = scan(Places(own=own), CapabilityCache(file), reader)
    assert len(reader.read) == 2
    assert by_name(again)["good.litertlm"].info == model_file.inspect(own / "good.litertlm")
    os.utime(own / "good.litertlm", (1, 1))
    scan(Places(own=own), CapabilityCache(file), reader)
    assert len(reader.read) == 3
    file.write_text("{damaged")
    scan(Places(own=own), CapabilityCache(file), reader)
    assert len(reader.read) == 5


def test_all_places_and_no_file_twice(own: Path, tmp_path: Path, demo_model: Path) -> None:
    extra, cli, hub = tmp_path / "extra 模型", tmp_path / "cli", tmp_path / "hub"
    for folder in (extra, cli / "a", hub / "models--o--r" / "snapshots" / "abc", hub / "other"):
        folder.mkdir(parents=True)
    shutil.copy(demo_model, extra / "ß.litertlm")
    shutil.copy(demo_model, cli / "a" / "model.litertlm")
    shutil.copy(demo_model, hub / "other" / "ignored.litertlm")
    blob = hub / "models--o--r" / "blob"
    shutil.copy(demo_model, blob)
    (hub / "models--o--r" / "snapshots" / "abc" / "h.litertlm").symlink_to(blob)
    (extra / "again.litertlm").symlink_to(own / "good.litertlm")
    (extra / "circle").symlink_to(extra)
    places = Places(
        own=own,
        folders=(extra, tmp_path / "missing"),
        opened=(own / "good.litertlm", tmp_path / "gone.litertlm"),
        cli=cli,
        hub_cache=hub,
        bundled=(demo_model,),
    )
    found = scan(places, CapabilityCache(tmp_path / "c.json"), Reader())
    assert [(Path(m.path).name, m.source) for m in found] == [
        (demo_model.name, Source.BUNDLED),
        ("good.litertlm", Source.OWN),
        ("ß.litertlm", Source.FOLDER),
        ("gone.litertlm", Source.OPENED),
        ("model.litertlm", Source.CLI),
        ("h.litertlm", Source.HUB_CACHE),
    ]
    gone = by_name(found)["gone.litertlm"].problem
    assert gone is not None
    assert gone.code == "not_found"
    assert found[0].name == "Tandem demo"
    assert {s for s in Source if s.read_only} == {Source.BUNDLED, Source.CLI, Source.HUB_CACHE}


# ---- the engine cache ----


def fill(cache: EngineCache, model: str, size: int, version: str = LIBRARY_VERSION) -> Path:
    folder = cache.folder(model, version)
    folder.mkdir(parents=True)
    (folder / "one.xnnpack_cache_1_2").write_bytes(b"x" * (size // 2))
    (folder / "two.bin").write_bytes(b"x" * (size - size // 2))
    return folder


def test_cache_sizes_of_all_generations_and_versions(tmp_path: Path) -> None:
    cache = EngineCache(tmp_path / "engine")
    fill(cache, "/m/a.litertlm", 100)
    fill(cache, "/m/a.litertlm", 1000, "0.17.0")
    fill(cache, "/m/b.litertlm", 500)
    cache.folder("/m/unused.litertlm").mkdir(parents=True)
    usage = cache.usage()
    assert [(u.bytes, u.current) for u in usage] == [(1000, False), (500, True), (100, True)]
    assert cache.bytes_of("/m/a.litertlm") == 1100
    assert cache.clear("/m/a.litertlm") == 1100
    assert [u.key for u in cache.usage()] == [model_key("/m/b.litertlm")]


def test_clear_all_keeps_what_is_loaded(tmp_path: Path) -> None:
    cache = EngineCache(tmp_path / "engine")
    fill(cache, "/a", 100)
    fill(cache, "/a", 10, "0.17.0")
    kept = fill(cache, "/b", 500)
    fill(cache, "/b", 7, "0.17.0")
    assert cache.clear_keys({f"0.17.0/{model_key('/b')}"}) == 7
    assert kept.exists()
    assert cache.clear_all(keep={model_key("/b")}) == 110
    assert kept.exists()
    assert cache.clear_all() == 500
    assert cache.usage() == ()


def test_cap_removes_least_recently_used(tmp_path: Path) -> None:
    now = time.time()
    cache = EngineCache(tmp_path / "engine")
    for name, age in (("/old", 300), ("/older", 400), ("/new", 10), ("/loaded", 900)):
        folder = fill(cache, name, 100)
        os.utime(folder, (now - age, now - age))
    fill(cache, "/new", 100, "0.17.0")
    assert cache.enforce_cap(0) == 0
    assert cache.enforce_cap(300, keep={model_key("/loaded")}) == 200
    left = {u.key for u in cache.usage()}
    assert left == {model_key(n) for n in ("/old", "/new", "/loaded")}
    assert cache.enforce_cap(1, keep={model_key("/loaded")}) == 200
    assert {u.key for u in cache.usage()} == {model_key("/loaded")}


def test_using_a_cache_makes_it_young(tmp_path: Path) -> None:
    cache = EngineCache(tmp_path / "engine", clock=lambda: 5000.0)
    folder = fill(cache, "/a", 100)
    os.utime(folder, (1, 1))
    cache.touch("/a")
    assert cache.usage()[0].used == 5000.0


# ---- deleting ----


def test_delete_takes_everything_and_undo_brings_it_back(own: Path, tmp_path: Path) -> None:
    cache = EngineCache(tmp_path / "engine")
    model = own / "good.litertlm"
    size = model.stat().st_size
    (own / "good.litertlm.partial").write_bytes(b"x" * 10)
    (own / "good.litertlm.partial.json").write_bytes(b"{}")
    (own / "good.litertlm.xnnpack_cache_1").write_bytes(b"x" * 30)
    fill(cache, str(model), 100)
    fill(cache, str(model), 50, "0.17.0")
    assert stray_caches(model) == (own / "good.litertlm.xnnpack_cache_1",)
    wanted = delete.plan(str(model), cache)
    assert wanted.file_bytes == size + 12
    assert wanted.cache_bytes == 180
    assert wanted.freed == size + 192
    held = delete.delete(wanted, cache, loaded_path=None)
    assert [p.name for p in own.iterdir()] == [local.HELD_FOLDER]
    assert cache.usage() == ()
    assert not scan(Places(own=own), CapabilityCache(tmp_path / "c.json"), Reader())
    delete.undo(held)
    assert model.stat().st_size == size
    assert not (own / local.HELD_FOLDER).exists()


def test_a_loaded_model_is_not_deleted(own: Path, tmp_path: Path) -> None:
    cache = EngineCache(tmp_path / "engine")
    link = tmp_path / "link.litertlm"
    link.symlink_to(own / "good.litertlm")
    wanted = delete.plan(str(own / "good.litertlm"), cache)
    with pytest.raises(delete.StillLoaded):
        delete.delete(wanted, cache, loaded_path=str(link))
    assert (own / "good.litertlm").exists()


def test_quit_hands_models_to_the_trash(own: Path, tmp_path: Path) -> None:
    cache, trashed = EngineCache(tmp_path / "engine"), []
    (own / "good.litertlm.partial").touch()
    held = delete.delete(delete.plan(str(own / "good.litertlm"), cache), cache, None)

    def trash(path: str) -> None:
        trashed.append(Path(path).name)
        os.unlink(path)

    delete.commit([held], trash)
    assert trashed == ["good.litertlm"]
    assert list(own.iterdir()) == []


def test_without_a_trash_quitting_removes(own: Path, tmp_path: Path) -> None:
    def none(_path: str) -> None:
        raise RuntimeError("no trash here")

    cache = EngineCache(tmp_path / "engine")
    held = delete.delete(delete.plan(str(own / "good.litertlm"), cache), cache, None)
    delete.commit([held], none)
    assert list(own.iterdir()) == []


def test_a_crash_before_quitting_is_cleaned_up_later(own: Path, tmp_path: Path) -> None:
    cache = EngineCache(tmp_path / "engine")
    delete.delete(delete.plan(str(own / "good.litertlm"), cache), cache, None)
    found = delete.leftovers([own, tmp_path / "missing"])
    assert len(found) == 1
    gone: list[str] = []
    delete.commit(found, lambda path: (gone.append(Path(path).name), os.unlink(path))[0])
    assert gone == ["good.litertlm"]
    assert not delete.leftovers([own])


def test_undo_does_not_overwrite(own: Path, tmp_path: Path, demo_model: Path) -> None:
    cache = EngineCache(tmp_path / "engine")
    held = delete.delete(delete.plan(str(own / "good.litertlm"), cache), cache, None)
    (own / "good.litertlm").write_text("new")
    with pytest.raises(FileExistsError):
        delete.undo(held)
    assert (own / "good.litertlm").read_text() == "new"
    second = delete.delete(delete.plan(str(own / "good.litertlm"), cache), cache, None)
    delete.undo(held)
    assert (own / "good.litertlm").stat().st_size == demo_model.stat().st_size
    delete.commit([second], os.unlink)
    assert [p.name for p in own.iterdir()] == ["good.litertlm"]


def test_records_survive(tmp_path: Path) -> None:
    file = tmp_path / "library.json"
    assert records.read(file) == records.Records()
    kept = records.Records().with_opened("/a").with_opened("/b").with_opened("/a")
    kept = kept.with_origin("/a", records.Origin(key="o/r/a", url="http://x/a")).with_use("/a", 5.0)
    records.write(file, kept)
    assert records.read(file) == kept
    assert kept.opened == ("/a", "/b")
    assert kept.without_opened("/a").opened == ("/b",)
    file.write_text("nonsense")
    assert records.read(file) == records.Records()
