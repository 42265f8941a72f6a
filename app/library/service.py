"""The library as the window uses it: one object that knows all models and runs all work.

Belongs to the event loop's thread; everything that blocks runs on its one helper thread
(disk) or on the download thread (network). Listeners are called on the loop after every
difference, at most once per loop turn. No Qt here.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from app.kept_tasks import tell_failure
from app.library import local, records
from app.library.bin import Bin
from app.library.cache import EngineCache
from app.library.capabilities import CapabilityCache
from app.library.catalogue import CatalogueEntry, load_catalogue
from app.library.copying import copy_into
from app.library.download_types import DownloadPolicy, DownloadState, DownloadStatus
from app.library.fetching import Fetching
from app.library.hashing import hash_blocking
from app.library.huggingface import Hub
from app.library.known_problems import KnownProblems, load
from app.library.local import LocalModel, Places
from app.library.looking import Found, check_whole, look_around, try_folder
from app.library.records import Origin, Records
from app.paths import Paths, model_key
from app.secrets import TokenStore
from app.settings import SettingsStore

_log = logging.getLogger(__name__)
_T = TypeVar("_T")


class Library:
    """`fetch` does downloads, `bin` deletes; `on_downloaded(status)` tells of a model that is
    now here, `on_problem(reason)` once that the records cannot be written."""

    def __init__(
        self,
        paths: Paths,
        settings: SettingsStore,
        loop: asyncio.AbstractEventLoop,
        *,
        hub: Hub | None = None,
        tokens: TokenStore | None = None,
        policy: DownloadPolicy | None = None,
        places: Callable[[Places], Places] = lambda found: found,
    ) -> None:
        """`places` lets tests look elsewhere than in this user's stores."""
        self.catalogue: tuple[CatalogueEntry, ...] = load_catalogue()
        self.cache = EngineCache(paths.engine_cache_root)
        self.found: Found | None = None
        self.known = KnownProblems(load())
        self.records = Records()
        self.on_downloaded: Callable[[DownloadStatus], None] = lambda _status: None
        self.on_problem: Callable[[str], None] = lambda _reason: None
        self._unwritten = False
        self._paths = paths
        self._settings = settings
        self._loop = loop
        self._places = places
        self._names = local.catalogue_names(self.catalogue)
        self._file = paths.data / "library.json"
        self._facts = CapabilityCache(paths.cache / "model-facts.json")
        self._disk = ThreadPoolExecutor(1, thread_name_prefix="library")
        self._listeners: list[Callable[[], None]] = []
        self._telling = False
        self._scan: asyncio.Task[None] | None = None
        self._again = False
        self.bin = Bin(self, settings)
        self._closed = False
        self._stop = threading.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self.fetch = Fetching(
            paths.models,
            paths.engine_cache_root,
            loop,
            hub or Hub(),
            tokens or TokenStore(),
            check_whole,
            policy,
        )
        self.fetch.changed = self._changed
        self.fetch.done = lambda status: self._keep(self._after(status))
        settings.subscribe(lambda _value: self._on_settings())
        self._folders = settings.value.model_folders

    # ---- life ----

    async def start(self) -> None:
        """Reads the records, cleans up after a crash, brings downloads back, looks around."""
        self.records = await self.on_disk(records.read, self._file)
        folder = await self.on_disk(try_folder, self.own_folder)
        await self.bin.start()
        await self.fetch.start(folder)
        await self.rescan()

    async def close(self) -> None:
        """Stops traffic (partials stay), hands deleted models to the trash."""
        if self._closed:
            return
        self._closed = True
        self._stop.set()
        self.fetch.forget_changes()
        for task in (*self._tasks, *([self._scan] if self._scan else [])):
            task.cancel()
        traffic = self._loop.run_in_executor(None, self.fetch.close_blocking)
        trash = self.bin.close()
        await asyncio.gather(traffic, trash)
        self._disk.shutdown(wait=False)

    def subscribe(self, listener: Callable[[], None]) -> None:
        self._listeners.append(listener)

    async def on_disk(self, work: Callable[..., _T], *args: object) -> _T:
        """Runs blocking work on the helper thread."""
        return await self._loop.run_in_executor(self._disk, work, *args)

    @property
    def own_folder(self) -> Path:
        return self._paths.models

    # ---- what is here ----

    async def rescan(self) -> None:
        """Looks at the disk again. While a look is under way, one more follows it."""
        if self._closed:
            return
        if self._scan is not None and not self._scan.done():
            self._again = True
        else:
            self._scan = self._loop.create_task(self._look())
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.shield(self._scan)

    async def _look(self) -> None:
        while True:
            self._again = False
            v = self._settings.value
            looked = (self._wanted_places(), self._facts, self.cache, self._names, v.cache)
            self.found = await self.on_disk(look_around, *looked)
            if v.cache_cap_bytes:
                keep = {model_key(v.model_path)} if v.model_path else set()
                if await self.on_disk(self.cache.enforce_cap, v.cache_cap_bytes, keep):
                    self._again = True
            for path in self.known.to_look_at(self.found.models):
                self._keep(self._look_for_problem(path))
            self._changed()
            if not self._again:
                return

    async def _look_for_problem(self, path: str) -> None:
        if await self.known_problem(path):
            self._changed()

    async def known_problem(self, path: str) -> str:
        """What is known to be wrong with this very file, "" for nothing; see `known_problems`."""
        return await self.known.look(path, self._stop)

    def _wanted_places(self) -> Places:
        folders, opened = self._settings.value.model_folders, self.records.opened
        return self._places(local.default_places(self.own_folder, folders, opened))

    def model(self, path: str) -> LocalModel | None:
        models = self.found.models if self.found else ()
        return next((m for m in models if m.path == path), None)

    def entry(self, key: str) -> CatalogueEntry | None:
        return next((e for e in self.catalogue if e.key == key), None)

    def cache_bytes(self) -> dict[str, int]:
        """Cache sizes of the models here, all generations and library versions."""
        if self.found is None:
            return {}
        by_key: dict[str, int] = {}
        for usage in self.found.usage:
            by_key[usage.key] = by_key.get(usage.key, 0) + usage.bytes
        sizes = {m.path: by_key.get(model_key(m.path), 0) for m in self.found.models}
        return {path: size for path, size in sizes.items() if size}

    async def add_opened(self, path: str) -> None:
        """Remembers a file a person opened; it stays where it is."""
        known = self.model(path)
        if known is None:
            await self._remember(self.records.with_opened(path))
            await self.rescan()

    async def forget(self, path: str) -> None:
        await self._remember(self.records.without_opened(path))
        await self.rescan()

    async def used(self, path: str) -> None:
        """A model was loaded now."""
        await self._remember(self.records.with_use(path, time.time()))
        with contextlib.suppress(OSError):
            await self.on_disk(self.cache.touch, path)
        await self.rescan()

    async def copy_in(self, path: str) -> Path:
        """Copies a file into the models folder, when asked to. Raises `OSError`."""
        target = await self._loop.run_in_executor(
            None, copy_into, Path(path), self.own_folder, self._stop
        )
        await self.rescan()
        return target

    async def checksum(self, path: str) -> str:
        """sha256 in hex; takes seconds for a large file. Raises `OSError`."""
        return await self._loop.run_in_executor(None, hash_blocking, Path(path), self._stop)

    async def _remember(self, changed: Records) -> None:
        self.records = changed
        self._changed()
        try:
            await self.on_disk(records.write, self._file, changed)
        except OSError as error:
            _log.warning("library.json not written: %s", error.strerror)
            if not self._unwritten:
                self._unwritten = True
                self.on_problem(error.strerror or str(error))
        else:
            self._unwritten = False

    # ---- downloads ----

    def entry_for(self, model: LocalModel) -> CatalogueEntry | None:
        """The catalogue entry a file is (a part of), by name or by the size it must have."""
        name = Path(model.path).name
        expected = model.info.expected_bytes if model.info else 0
        for entry in self.catalogue:
            if Path(entry.file).name == name or entry.bytes == expected:
                return entry
        return None

    def download(self, entry: CatalogueEntry) -> None:
        """Fetches a catalogue entry; a damaged copy in our folder is replaced by it."""
        for model in self.found.models if self.found else ():
            damaged = not model.loadable and Path(model.path).parent == self.own_folder
            if damaged and self.entry_for(model) == entry:
                self.fetch.again(model, None, entry)
                return
        self.fetch.entry(entry)

    def can_download_again(self, model: LocalModel) -> bool:
        """Whether we know where a damaged file in our own folder came from."""
        known = model.path in self.records.origins or self.entry_for(model) is not None
        return known and Path(model.path).parent == self.own_folder

    def download_again(self, model: LocalModel) -> bool:
        """False if nobody knows where the file came from."""
        origin = self.records.origins.get(model.path)
        return self.fetch.again(model, origin, self.entry_for(model))

    def page_of(self, key: str) -> str:
        """The hub page of a catalogue entry or a download."""
        entry = self.entry(key)
        return self.fetch.hub.page(entry.repo if entry else "/".join(key.split("/")[:2]))

    async def _after(self, status: DownloadStatus) -> None:
        if status.state is DownloadState.DONE:
            origin = Origin(
                key=status.key,
                url=status.url,
                page=self.page_of(status.key),
                sha256=status.sha256,
            )
            await self._remember(self.records.with_origin(status.target, origin))
        await self.rescan()
        if status.state is DownloadState.DONE:
            self.on_downloaded(status)

    def _keep(self, work: Coroutine[object, object, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(tell_failure)

    # ---- telling ----

    def _on_settings(self) -> None:
        folders = self._settings.value.model_folders
        if folders != self._folders and not self._closed:
            self._folders = folders
            self._keep(self.rescan())

    def _changed(self) -> None:
        if not self._telling and not self._closed:
            self._telling = True
            self._loop.call_soon(self._tell)

    def _tell(self) -> None:
        self._telling = False
        for listener in list(self._listeners):
            listener()
