"""The library's downloads as the window's loop sees them.

Belongs to the event loop's thread; the work happens on the download thread. `changed` is
called after every difference, `done` and `failed` at the end of a download.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from app.kept_tasks import tell_failure
from app.library import journal
from app.library.access import Access
from app.library.catalogue import CatalogueEntry
from app.library.download_types import (
    DownloadPolicy,
    DownloadRequest,
    DownloadState,
    DownloadStatus,
)
from app.library.failures import DownloadFailure
from app.library.huggingface import Hub, RemoteModel, parse
from app.library.local import LocalModel
from app.library.names import free_target
from app.library.records import Origin
from app.secrets import Secret, TokenStore

if TYPE_CHECKING:
    from app.library.downloads import Downloads


Listener = Callable[[DownloadStatus], None]


class Fetching:
    """`status` holds all unfinished downloads by key."""

    def __init__(
        self,
        folder: Path,
        cache_folder: Path,
        loop: asyncio.AbstractEventLoop,
        hub: Hub,
        tokens: TokenStore,
        check: Callable[[Path], None],
        policy: DownloadPolicy | None = None,
    ) -> None:
        self.hub = hub
        self.tokens = tokens
        self.status: dict[str, DownloadStatus] = {}
        self.changed: Callable[[], None] = lambda: None
        self.done: Listener = lambda _status: None
        self.failed: Listener = lambda _status: None
        self._folder = folder
        self._loop = loop
        self._closed = False
        self._cache_folder = cache_folder
        self._check = check
        self._policy = policy
        self._manager: Downloads | None = None
        self._starting: asyncio.Task[Downloads] | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self, folder: Path | None) -> None:
        """Downloads an earlier run left unfinished come back as paused. Without any, the
        network parts are not even imported before the first download."""
        if folder is not None:
            left = await self._loop.run_in_executor(None, journal.found_in, folder)
            if left:
                await self._ready()

    def close_blocking(self) -> None:
        """Stops all traffic and keeps partials. On any thread but the main one."""
        if self._manager is not None:
            self._manager.close()

    def forget_changes(self) -> None:
        """From now on nobody is told anything: the program is closing."""
        self._closed = True

    async def _ready(self) -> Downloads:
        """The manager, made at the first use; its imports happen off the main thread."""
        if self._starting is None:
            self._starting = self._loop.create_task(self._make())
        return await asyncio.shield(self._starting)

    async def _make(self) -> Downloads:
        make = await self._loop.run_in_executor(None, _import_manager)
        if self._closed:
            raise asyncio.CancelledError
        manager = make(
            self._on_change_elsewhere, self._access, self._cache_folder, self._check, self._policy
        )
        manager.start((self._folder,))
        self._manager = manager
        return manager

    def _do(self, action: Callable[[Downloads], None]) -> None:
        """Does something with the manager, now if there is one, else as soon as there is."""
        if self._manager is not None:
            action(self._manager)
            return

        async def later() -> None:
            action(await self._ready())

        task = self._loop.create_task(later())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(tell_failure)

    # ---- what a person asks for ----

    def entry(self, entry: CatalogueEntry) -> None:
        target = free_target(self._folder, Path(entry.file).name, self._taken(entry.key))
        request = self.hub.request_for_entry(entry, str(target))
        self._do(lambda m: m.add(request))

    def file(self, found: RemoteModel) -> None:
        target = free_target(self._folder, found.file, self._taken(f"{found.repo}/{found.file}"))
        request = self.hub.request_for_file(found, str(target))
        self._do(lambda m: m.add(request))

    def again(self, model: LocalModel, origin: Origin | None, entry: CatalogueEntry | None) -> bool:
        """Fetches a damaged file anew, into its place. False if nobody knows from where."""
        if origin is not None:
            request = DownloadRequest(
                key=origin.key,
                name=model.name,
                url=origin.url,
                target=model.path,
                page=origin.page,
                sha256=origin.sha256 or None,
            )
        elif entry is not None:
            request = self.hub.request_for_entry(entry, model.path)
        else:
            return False
        self._do(lambda m: m.add(request))
        return True

    def pause(self, key: str) -> None:
        self._do(lambda m: m.pause(key))

    def resume(self, key: str, *, despite_cache: bool = False) -> None:
        self._do(lambda m: m.resume(key, despite_cache=despite_cache))

    def cancel(self, key: str) -> None:
        self._do(lambda m: m.cancel(key))

    async def list_repository(self, text: str) -> tuple[RemoteModel, ...]:
        """Raises `DownloadFailure`. The keyring is asked only if the hub wants a token."""
        pasted = parse(text, self.hub.endpoint)
        manager = await self._ready()

        async def once(token: Secret | None) -> tuple[RemoteModel, ...]:
            work = manager.submit(lambda c: self.hub.list_files(c, pasted, token))
            return await asyncio.wrap_future(work)

        try:
            return await once(self.tokens.token)
        except DownloadFailure as failure:
            if failure.code != "token_needed" or not await self.tokens.load():
                raise
        return await once(self.tokens.token)

    async def test_token(self, token: Secret) -> str:
        """The name of the token's account. Raises `DownloadFailure`."""
        manager = await self._ready()
        work = manager.submit(lambda c: self.hub.test_token(c, token))
        return await asyncio.wrap_future(work)

    # ---- inside ----

    def _taken(self, key: str) -> frozenset[Path]:
        return frozenset(Path(s.target) for k, s in self.status.items() if k != key)

    def _access(self) -> Access:
        return self.hub.access(self.tokens.token)

    def _on_change_elsewhere(self, status: DownloadStatus) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody listens any more
            self._loop.call_soon_threadsafe(self._on_change, status)

    def _on_change(self, status: DownloadStatus) -> None:
        if self._closed:
            return
        before = self.status.get(status.key)
        over = status.state in {DownloadState.DONE, DownloadState.CANCELLED}
        if over:
            self.status.pop(status.key, None)
            self.done(status)
        else:
            self.status[status.key] = status
        failed = status.state is DownloadState.FAILED
        if failed and (before is None or before.state is not DownloadState.FAILED):
            self.failed(status)
        self.changed()


def _import_manager() -> type[Downloads]:
    """Takes a while the first time: httpx and its friends."""
    from app.library.downloads import Downloads

    return Downloads
