"""The download manager: several downloads at once on one thread with its own event loop.

Every public method may be called from any thread and returns at once, except `start` and
`close` (main thread; `close` waits a little). State lives on the loop; `on_change` gets
immutable `DownloadStatus` values **on the download thread**, at most a few a second for each
download. Pausing and closing keep the partial; cancelling removes it. A download an
earlier run left behind comes back as PAUSED.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import httpx
import msgspec

from app.library import journal
from app.library.access import Access
from app.library.download_types import (
    ACTIVE,
    DownloadPolicy,
    DownloadRequest,
    DownloadState,
    DownloadStatus,
)
from app.library.failures import DownloadFailure, Failure
from app.library.http import make_client
from app.library.speed import Speed
from app.library.transfer import Transfer

_log = logging.getLogger(__name__)
_T = TypeVar("_T")


class _Entry:
    """One download as the loop sees it."""

    def __init__(self, request: DownloadRequest, state: DownloadState) -> None:
        self.request = request
        self.state = state
        self.transfer: Transfer | None = None
        self.task: asyncio.Task[None] | None = None
        self.ending: DownloadState | None = None
        self.failure: Failure | None = None
        self.speed = Speed()
        self.done = journal.partial_bytes(request.path)
        self.total = request.expected_bytes


class Downloads:
    def __init__(
        self,
        on_change: Callable[[DownloadStatus], None],
        access: Callable[[], Access],
        cache_folder: Path,
        check: Callable[[Path], None],
        policy: DownloadPolicy | None = None,
    ) -> None:
        """`access` is asked on the download thread at each start, so a new token counts at
        the next try; `check` raises `DownloadFailure` for a file that is no whole model."""
        self._on_change = on_change
        self._access = access
        self._cache_folder = cache_folder
        self._check = check
        self._policy = policy or DownloadPolicy()
        self._entries: dict[str, _Entry] = {}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run_loop, name="download", daemon=True)
        self._gate = asyncio.Semaphore(self._policy.at_once)
        self._closed = False

    def start(self, folders: tuple[Path, ...] = ()) -> None:
        """Starts the thread and brings back what earlier runs left unfinished in `folders`."""
        self._thread.start()
        self._post(lambda: self._restore(folders))

    def add(self, request: DownloadRequest) -> None:
        """Begins a download, or goes on with one of the same key."""
        self._post(lambda: self._begin(request))

    def pause(self, key: str) -> None:
        self._post(lambda: self._stop(key, DownloadState.PAUSED))

    def resume(self, key: str, *, despite_cache: bool = False) -> None:
        self._post(lambda: self._go_on(key, despite_cache))

    def cancel(self, key: str) -> None:
        """Ends the download, closes its connection and removes its partial."""
        self._post(lambda: self._stop(key, DownloadState.CANCELLED))

    def submit(
        self, work: Callable[[httpx.AsyncClient], Coroutine[Any, Any, _T]]
    ) -> concurrent.futures.Future[_T]:
        """Runs other network work on this thread, with the same proxy and certificate rules."""

        async def run() -> _T:
            async with make_client(self._policy.read_timeout_s) as client:
                return await work(client)

        return asyncio.run_coroutine_threadsafe(run(), self._loop)

    def close(self, deadline_s: float = 3.0) -> bool:
        """Stops all traffic, keeps all partials, ends the thread. True if it ended in time."""
        if self._closed or not self._thread.is_alive():
            self._closed = True
            if not self._loop.is_running() and not self._loop.is_closed():
                self._loop.close()
            return True
        self._closed = True
        self._loop.call_soon_threadsafe(lambda: self._loop.create_task(self._shut()))
        self._thread.join(deadline_s)
        return not self._thread.is_alive()

    # ---- on the download thread ----

    def _run_loop(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.run_until_complete(self._loop.shutdown_default_executor())
        finally:
            asyncio.set_event_loop(None)
            self._loop.close()

    async def _shut(self) -> None:
        tasks = [t for t in asyncio.all_tasks() if t is not asyncio.current_task()]
        for entry in self._entries.values():
            entry.ending = entry.ending or DownloadState.PAUSED
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._loop.stop()

    def _post(self, action: Callable[[], None]) -> None:
        if not self._closed:
            self._loop.call_soon_threadsafe(action)

    def _restore(self, folders: tuple[Path, ...]) -> None:
        for folder in folders:
            for found in journal.found_in(folder):
                if found.request.key not in self._entries:
                    entry = _Entry(found.request, DownloadState.PAUSED)
                    entry.total = found.total or found.request.expected_bytes
                    self._entries[found.request.key] = entry
                    self._tell(entry)

    def _begin(self, request: DownloadRequest) -> None:
        known = self._entries.get(request.key)
        if known is not None and known.state in ACTIVE:
            return
        if known is not None and known.state in {DownloadState.PAUSED, DownloadState.FAILED}:
            self._go_on(request.key, request.despite_cache)
            return
        self._entries[request.key] = entry = _Entry(request, DownloadState.QUEUED)
        self._launch(entry)

    def _go_on(self, key: str, despite_cache: bool) -> None:
        entry = self._entries.get(key)
        if entry is None:
            return
        waiting = entry.transfer is not None and entry.transfer.meter.retry_at is not None
        if waiting and entry.task is not None:
            entry.ending = DownloadState.QUEUED  # try at once instead of at the end of the wait
            entry.task.cancel()
        elif entry.state in {DownloadState.PAUSED, DownloadState.FAILED}:
            if despite_cache:
                entry.request = msgspec.structs.replace(entry.request, despite_cache=True)
            self._launch(entry)

    def _launch(self, entry: _Entry) -> None:
        entry.state, entry.failure, entry.ending = DownloadState.QUEUED, None, None
        entry.speed = Speed()
        self._tell(entry)
        entry.task = self._loop.create_task(self._run(entry))
        entry.task.add_done_callback(lambda _task: self._ended(entry))

    def _stop(self, key: str, ending: DownloadState) -> None:
        entry = self._entries.get(key)
        if entry is None:
            return
        if entry.task is not None and not entry.task.done():
            entry.ending = ending
            entry.task.cancel()
            return
        if ending is DownloadState.CANCELLED:
            self._drop(entry)

    async def _run(self, entry: _Entry) -> None:
        async with self._gate:
            try:
                # A client of its own: the system's proxy may be another one by now.
                async with make_client(self._policy.read_timeout_s) as client:
                    await self._transfer(entry, client)
                entry.state = DownloadState.DONE
            except DownloadFailure as failure:
                entry.state, entry.failure = DownloadState.FAILED, failure.value()
                _log.info("download of %s stopped: %s", entry.request.key, failure.code)

    async def _transfer(self, entry: _Entry, client: httpx.AsyncClient) -> None:
        entry.transfer = Transfer(
            client,
            entry.request,
            self._access(),
            self._policy,
            self._cache_folder,
            self._check,
        )
        ticker = self._loop.create_task(self._report(entry))
        try:
            await entry.transfer.run()
        finally:
            ticker.cancel()

    async def _report(self, entry: _Entry) -> None:
        while True:
            await asyncio.sleep(self._policy.report_every_s)
            transfer = entry.transfer
            if transfer is not None:
                entry.speed.add(self._loop.time(), transfer.meter.done)
                self._tell(entry)

    def _ended(self, entry: _Entry) -> None:
        task, ending = entry.task, entry.ending
        entry.task, entry.ending = None, None
        if task is not None and task.cancelled():
            if ending is DownloadState.CANCELLED:
                self._drop(entry)
                return
            if ending is DownloadState.QUEUED and not self._closed:
                self._launch(entry)
                return
            entry.state = DownloadState.PAUSED
        elif task is not None and (error := task.exception()) is not None:
            _log.error("download of %s broke", entry.request.key, exc_info=error)
            entry.state = DownloadState.FAILED
            entry.failure = Failure("broken", {"reason": type(error).__name__})
        if entry.state is DownloadState.DONE:
            self._entries.pop(entry.request.key, None)
        self._tell(entry)
        entry.transfer = None
        if ending is DownloadState.CANCELLED and entry.state is not DownloadState.DONE:
            self._drop(entry)

    def _drop(self, entry: _Entry) -> None:
        self._entries.pop(entry.request.key, None)
        try:
            journal.remove(entry.request.path)
        except OSError as error:
            _log.warning("partial not removed: %s", error.strerror)
        entry.state, entry.failure = DownloadState.CANCELLED, None
        self._tell(entry)

    def _tell(self, entry: _Entry) -> None:
        self._on_change(self._status(entry))

    def _status(self, entry: _Entry) -> DownloadStatus:
        now = self._loop.time()
        state, failure, note = entry.state, entry.failure, ""
        speed = left = stalled = waiting = None
        if entry.transfer is not None:
            meter = entry.transfer.meter
            entry.done, entry.total, note = meter.done, meter.total or entry.total, meter.note
            if entry.task is not None and state in ACTIVE:
                state, failure = meter.state, meter.problem
                if meter.retry_at is not None:
                    waiting = max(0.0, meter.retry_at - now)
            if state is DownloadState.RUNNING:
                silent = now - meter.last_byte_at
                stalled = silent if silent >= self._policy.stall_after_s else None
                speed = entry.speed.value
                if speed and entry.total:
                    left = max(0, entry.total - entry.done) / speed
        return DownloadStatus(
            key=entry.request.key,
            name=entry.request.name,
            url=entry.request.url,
            target=entry.request.target,
            state=state,
            done=entry.done,
            total=entry.total,
            speed=speed,
            seconds_left=left,
            stalled_s=stalled,
            waiting_s=waiting,
            failure=failure,
            note=note,
            sha256=entry.transfer.sha256 if entry.transfer else "",
        )
