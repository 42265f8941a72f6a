"""The library's downloads as the window's loop sees them.

Belongs to the event loop's thread; the work happens on the download thread. `changed` is
called after every difference, `done` and `failed` at the end of a download.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from pathlib import Path

from app.library.catalogue import CatalogueEntry
from app.library.download_types import (
    DownloadPolicy,
    DownloadRequest,
    DownloadState,
    DownloadStatus,
)
from app.library.downloads import Downloads
from app.library.failures import DownloadFailure
from app.library.http import Access
from app.library.huggingface import Hub, RemoteModel, parse
from app.library.local import LocalModel
from app.library.names import free_target
from app.library.records import Origin
from app.secrets import Secret, TokenStore

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
        self._manager = Downloads(
            self._on_change_elsewhere, self._access, cache_folder, check, policy
        )

    def start(self, folder: Path | None) -> None:
        """Downloads an earlier run left unfinished come back as paused."""
        self._manager.start((folder,) if folder else ())

    def close_blocking(self) -> None:
        """Stops all traffic and keeps partials. On any thread but the main one."""
        self._manager.close()

    def forget_changes(self) -> None:
        """From now on nobody is told anything: the program is closing."""
        self._closed = True

    # ---- what a person asks for ----

    def entry(self, entry: CatalogueEntry) -> None:
        target = free_target(self._folder, Path(entry.file).name, self._taken(entry.key))
        self._manager.add(self.hub.request_for_entry(entry, str(target)))

    def file(self, found: RemoteModel) -> None:
        target = free_target(self._folder, found.file, self._taken(f"{found.repo}/{found.file}"))
        self._manager.add(self.hub.request_for_file(found, str(target)))

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
        self._manager.add(request)
        return True

    def pause(self, key: str) -> None:
        self._manager.pause(key)

    def resume(self, key: str, *, despite_cache: bool = False) -> None:
        self._manager.resume(key, despite_cache=despite_cache)

    def cancel(self, key: str) -> None:
        self._manager.cancel(key)

    async def list_repository(self, text: str) -> tuple[RemoteModel, ...]:
        """Raises `DownloadFailure`. The keyring is asked only if the hub wants a token."""
        pasted = parse(text, self.hub.endpoint)

        async def once(token: Secret | None) -> tuple[RemoteModel, ...]:
            work = self._manager.submit(lambda c: self.hub.list_files(c, pasted, token))
            return await asyncio.wrap_future(work)

        try:
            return await once(self.tokens.token)
        except DownloadFailure as failure:
            if failure.code != "token_needed" or not await self.tokens.load():
                raise
        return await once(self.tokens.token)

    async def test_token(self, token: Secret) -> str:
        """The name of the token's account. Raises `DownloadFailure`."""
        work = self._manager.submit(lambda c: self.hub.test_token(c, token))
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
