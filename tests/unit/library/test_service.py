"""The library as one object: start, look, fetch, remember, delete, clear, restart."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from app.library import delete, local
from app.library.download_types import DownloadState, DownloadStatus
from app.library.failures import DownloadFailure
from app.library.huggingface import Hub
from app.library.local import Places
from app.library.service import Library
from app.paths import Paths, model_key, resolve
from app.secrets import Secret, TokenStore
from app.settings import SettingsStore
from tests.fakes import http_server as web
from tests.fakes.http_server import Hosted, ModelServer
from tests.unit.library.conftest import QUICK
from tests.unit.library.test_token import TOKEN, Ring


class World:
    """A library below a temporary home, with a hub on loopback."""

    def __init__(self, server: ModelServer, demo: Path) -> None:
        self.server = server
        self.paths: Paths = resolve()
        self.settings = SettingsStore(self.paths.settings_file)
        self.ring = Ring()
        self.paths.models.mkdir(parents=True, exist_ok=True)
        self.hosted = Hosted(demo.read_bytes())
        server.repo("o/r", {"demo.litertlm": self.hosted})
        self.finished: list[DownloadStatus] = []

    @asynccontextmanager
    async def library(self) -> AsyncIterator[Library]:
        made = Library(
            self.paths,
            self.settings,
            asyncio.get_running_loop(),
            hub=Hub(self.server.url),
            tokens=TokenStore(lambda: self.ring),
            policy=QUICK,
            places=lambda found: Places(own=found.own, folders=found.folders, opened=found.opened),
        )
        made.on_downloaded = self.finished.append
        await made.start()
        try:
            yield made
        finally:
            await made.close()


@pytest.fixture
def world(server: ModelServer, demo_model: Path) -> World:
    return World(server, demo_model)


def run(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(work())


async def until(what: Callable[[], object], seconds: float = 20) -> None:
    async with asyncio.timeout(seconds):
        while not what():  # noqa: ASYNC110 - many different things are waited for
            await asyncio.sleep(0.01)


def names(library: Library) -> list[str]:
    return [Path(m.path).name for m in library.found.models] if library.found else []


def test_fetched_model_is_listed_remembered_and_checkable(world: World) -> None:
    async def work() -> None:
        async with world.library() as library:
            files = await library.fetch.list_repository(f"{world.server.url}/o/r")
            library.fetch.file(files[0])
            await until(lambda: world.finished)
            assert names(library) == ["demo.litertlm"]
            model = library.found.models[0] if library.found else None
            assert model is not None
            assert model.loadable
            assert library.fetch.status == {}
            origin = library.records.origins[model.path]
            assert origin.sha256 == world.hosted.sha256
            assert await library.checksum(model.path) == origin.sha256
        async with world.library() as again:
            assert again.records.origins[model.path] == origin
            assert again.page_of(origin.key) == f"{world.server.url}/o/r"

    run(work)


def test_download_without_hash_is_checked_by_its_header(world: World) -> None:
    world.hosted.linked, world.hosted.data = False, world.hosted.data[: 1 << 20]
    world.server.repo("o/r", {"demo.litertlm": world.hosted})

    async def work() -> None:
        async with world.library() as library:
            files = await library.fetch.list_repository("o/r")
            library.fetch.file(files[0])
            await until(lambda: any(s.failure for s in library.fetch.status.values()))
            status = next(iter(library.fetch.status.values()))
            assert status.failure is not None
            assert status.failure.code == "incomplete"
            assert os.listdir(world.paths.models) == []

    run(work)


def test_interrupted_download_comes_back_paused(world: World) -> None:
    world.hosted.moods = [web.stalled_after(1 << 20), web.normal]

    async def work() -> None:
        async with world.library() as library:
            files = await library.fetch.list_repository("o/r")
            library.fetch.file(files[0])
            await until(lambda: any(s.done >= 1 << 20 for s in library.fetch.status.values()))
        async with world.library() as again:
            await until(lambda: again.fetch.status)
            status = again.fetch.status["o/r/demo.litertlm"]
            assert status.state is DownloadState.PAUSED
            assert status.done == 1 << 20
            again.fetch.resume(status.key)
            await until(lambda: world.finished)

    run(work)


def test_damaged_file_is_fetched_again_into_its_place(world: World) -> None:
    async def work() -> None:
        async with world.library() as library:
            files = await library.fetch.list_repository("o/r")
            library.fetch.file(files[0])
            await until(lambda: world.finished)
            path = world.paths.models / "demo.litertlm"
            path.write_bytes(world.hosted.data[: 1 << 20])
            await library.rescan()
            model = library.model(str(path))
            assert model is not None
            assert not model.loadable
            assert library.can_download_again(model)
            assert library.download_again(model)
            await until(lambda: len(world.finished) == 2)
            assert path.read_bytes() == world.hosted.data
            assert os.listdir(world.paths.models) == ["demo.litertlm"]

    run(work)


def test_catalogue_names_and_targets(world: World) -> None:
    async def work() -> None:
        async with world.library() as library:
            entry = library.catalogue[0]
            shutil.copyfile(local.resources.DEMO_MODEL, world.paths.models / entry.file)
            await library.rescan()
            assert library.found is not None
            assert library.found.models[0].name == "Gemma 4 E2B"
            library.fetch.entry(entry)  # the same name is taken by another file
            await until(lambda: library.fetch.status)
            status = library.fetch.status[entry.key]
            assert Path(status.target).name == "gemma-4-E2B-it (2).litertlm"
            await until(lambda: library.fetch.status[entry.key].failure)
            assert library.fetch.status[entry.key].failure.code == "gone"  # type: ignore[union-attr]

    run(work)


def test_opened_files_stay_where_they_are(world: World, tmp_path: Path, demo_model: Path) -> None:
    away = tmp_path / "elsewhere 模型" / "mine.litertlm"
    away.parent.mkdir()
    shutil.copyfile(demo_model, away)

    async def work() -> None:
        async with world.library() as library:
            await library.add_opened(str(away))
            assert names(library) == ["mine.litertlm"]
            assert os.listdir(world.paths.models) == []
            await library.used(str(away))
            assert library.records.used[str(away)] > 0
        async with world.library() as again:
            assert names(again) == ["mine.litertlm"]
            copied = await again.copy_in(str(away))
            assert copied == world.paths.models / "mine.litertlm"
            assert len(names(again)) == 2
            await again.forget(str(away))
            assert [m.path for m in again.found.models] == [str(copied)]  # type: ignore[union-attr]
            assert away.exists()

    run(work)


def test_extra_folders_follow_the_settings(world: World, tmp_path: Path, demo_model: Path) -> None:
    extra = tmp_path / "extra"
    extra.mkdir()
    shutil.copyfile(demo_model, extra / "x.litertlm")

    async def work() -> None:
        async with world.library() as library:
            world.settings.change(model_folders=(str(extra),))
            await until(lambda: names(library) == ["x.litertlm"])
            world.settings.change(model_folders=())
            await until(lambda: names(library) == [])

    run(work)


def fill_cache(world: World, path: str, size: int) -> Path:
    folder = world.paths.engine_cache(path)
    folder.mkdir(parents=True)
    (folder / "a.xnnpack_cache_1").write_bytes(b"x" * size)
    return folder


def test_delete_undo_and_quit(
    world: World, demo_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trashed: list[str] = []

    def trash(path: str) -> None:
        trashed.append(Path(path).name)
        os.unlink(path)

    monkeypatch.setattr(delete, "_system_trash", trash)
    path = world.paths.models / "m.litertlm"
    shutil.copyfile(demo_model, path)
    cache = fill_cache(world, str(path), 500)

    async def work() -> None:
        async with world.library() as library:
            assert library.cache_bytes() == {str(path): 500}
            plan = await library.bin.plan(str(path))
            assert plan.cache_bytes == 500
            with pytest.raises(delete.StillLoaded):
                await library.bin.remove(plan, str(path))
            held = await library.bin.remove(plan, None)
            assert names(library) == []
            assert not cache.exists()
            await library.bin.undo(held)
            assert names(library) == ["m.litertlm"]
            await library.bin.remove(await library.bin.plan(str(path)), None)
            assert trashed == []
        assert trashed == ["m.litertlm"]
        assert os.listdir(world.paths.models) == []

    run(work)


def test_clearing_caches_spares_what_is_in_use(world: World) -> None:
    used = fill_cache(world, "/used", 100)
    other = fill_cache(world, "/other", 200)

    async def work() -> None:
        async with world.library() as library:
            assert await library.bin.clear_cache("", "/used") == 200
            assert used.exists()
            assert not other.exists()
            assert await library.bin.clear_cache(model_key("/used"), "/used") == 0
            assert await library.bin.clear_cache(model_key("/used"), "") == 100

    run(work)


def test_cap_is_kept_at_every_look(world: World) -> None:
    fill_cache(world, "/one", 700)
    fill_cache(world, "/two", 700)
    world.settings.change(cache_cap_bytes=1000, model_path="/two")

    async def work() -> None:
        async with world.library() as library:
            assert library.found is not None
            assert [u.key for u in library.found.usage] == [model_key("/two")]

    run(work)


def test_cache_in_a_folder_of_ones_own(world: World, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "m.litertlm.xnnpack_cache_1_2").write_bytes(b"x" * 100)
    (folder / "m_mldrift_weight_cache.bin").write_bytes(b"x" * 50)
    (folder / "letter.txt").write_text("dear")
    world.settings.change(cache=str(folder))

    async def work() -> None:
        async with world.library() as library:
            assert library.found is not None
            assert library.found.folder_cache == 150
            assert await library.bin.clear_folder_cache() == 150
            assert os.listdir(folder) == ["letter.txt"]

    run(work)


def test_stored_token_is_used_only_when_wanted(world: World) -> None:
    world.server.tokens.add(TOKEN)
    listing = "/api/models/o/r/tree/main"

    async def work() -> None:
        asked: list[str] = []

        class Asked(Ring):
            def get_password(self, service_name: str, username: str) -> str | None:
                asked.append(username)
                return TOKEN

        world.ring = Asked()
        async with world.library() as library:
            await library.fetch.list_repository("o/r")
            assert not asked, "an open model needs no token, so the keyring is left alone"
            world.server.pages[listing] = (401, {}, b"")
            with pytest.raises(DownloadFailure, match="token_bad"):
                await library.fetch.list_repository("o/r")
            assert asked
            assert library.fetch.tokens.token == Secret(TOKEN)
            sent = [r for r in world.server.requests if "authorization" in r.headers]
            assert [r.headers["authorization"] for r in sent] == [f"Bearer {TOKEN}"]
            await library.fetch.tokens.save(Secret(TOKEN))
        for file in world.paths.data.parent.rglob("*"):
            if file.is_file():
                assert TOKEN.encode() not in file.read_bytes(), file

    run(work)


def test_home_that_cannot_be_written(world: World) -> None:
    """No models folder, no place for records: it still starts and says nothing wrong."""
    shutil.rmtree(world.paths.data)
    world.paths.data.write_text("in the way")

    async def work() -> None:
        async with world.library() as library:
            assert names(library) == []
            await library.add_opened("/gone.litertlm")
            assert names(library) == ["gone.litertlm"]

    run(work)
