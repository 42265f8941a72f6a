"""Fetches one file: resume, retries, checks, and the atomic rename at the end.

One `Transfer` is one run of one download; it lives on the download thread's loop and is
stopped by cancelling its task, which closes the connection at once. Bytes go to the
`.partial` beside the target; a partial is only continued if the server's file is still the
one it was begun from (sha256, else `If-Range` with a strong ETag).
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from pathlib import Path

import httpx

from app.library import journal, partial_file
from app.library.access import Access
from app.library.download_types import DownloadPolicy, DownloadRequest, DownloadState
from app.library.failures import DownloadFailure, from_os_error, from_status
from app.library.fit import disk_need, free_bytes
from app.library.http import opened
from app.library.names import partial_path
from app.library.remote_file import (
    RemoteFile,
    content_range,
    described,
    encoded,
    is_page,
    look_up,
    strip_etag,
    unsatisfied_total,
)


class Transfer:
    def __init__(
        self,
        client: httpx.AsyncClient,
        request: DownloadRequest,
        access: Access,
        policy: DownloadPolicy,
        cache_folder: Path,
        check: Callable[[Path], None],
    ) -> None:
        self.meter = partial_file.Meter()
        self._client = client
        self._request = request
        self._access = access
        self._policy = policy
        self._cache_folder = cache_folder
        self._check = check
        self._remote = RemoteFile(total=request.expected_bytes, sha256=request.sha256 or "")
        self._restarts = 0
        self._use_range = True
        found = journal.read(request.path)
        if found is not None:
            self._remote = RemoteFile(
                total=found.total, etag=found.etag, sha256=found.sha256 or request.sha256 or ""
            )

    @property
    def sha256(self) -> str:
        """The published hash of the file, "" while not known."""
        return self._remote.sha256

    async def run(self) -> Path:
        """Fetches, verifies, renames; returns the target. Raises `DownloadFailure`."""
        meter, attempt = self.meter, 0
        while True:
            before = meter.done
            try:
                await self._attempt()
                await self._verify()
                return partial_file.finish(self._request.path)
            except DownloadFailure as failure:
                if meter.done > before:
                    attempt = 0
                if not failure.retry or attempt >= self._policy.retries:
                    raise
                await self._wait(failure, attempt)
                attempt += 1
            except OSError as error:
                raise self._disk_failure(error) from None

    async def _wait(self, failure: DownloadFailure, attempt: int) -> None:
        delay = self._policy.delay(attempt)
        if failure.wait_s is not None:
            delay = max(failure.wait_s, self._policy.first_delay_s)
        else:
            delay *= random.uniform(0.8, 1.2)
        loop = asyncio.get_running_loop()
        self.meter.state, self.meter.problem = DownloadState.WAITING, failure.value()
        self.meter.retry_at = loop.time() + delay
        await asyncio.sleep(delay)
        self.meter.retry_at = None
        self.meter.state, self.meter.problem = DownloadState.CONNECTING, None

    async def _attempt(self) -> None:
        request, meter = self._request, self.meter
        seen = await look_up(self._client, request.url, self._access, request.page)
        self._compare(seen)
        meter.done, meter.total = journal.partial_bytes(request.path), self._remote.total
        self._fits()
        if meter.total is not None and meter.done > meter.total:
            self._restart("changed")
        if meter.total is not None and meter.done == meter.total:
            return
        headers = {}
        if meter.done and self._use_range:
            headers["Range"] = f"bytes={meter.done}-"
            # With a sha256 the end is proved by itself, and different edge servers may well
            # name the same file differently; without one, only the ETag guards the splice.
            if not self._remote.sha256 and self._strong_etag():
                headers["If-Range"] = self._remote.etag
        async with opened(
            self._client, "GET", request.url, access=self._access, headers=headers
        ) as answer:
            await self._receive(answer.response, answer.first_headers)

    def _strong_etag(self) -> bool:
        return bool(self._remote.etag) and not self._remote.etag.startswith("W/")

    def _compare(self, seen: RemoteFile) -> None:
        """Adopts what the server says; begins anew if its file is not ours any more."""
        ours, request = self._remote, self._request
        changed = bool(
            (ours.sha256 and seen.sha256 and ours.sha256 != seen.sha256)
            or (not seen.sha256 and ours.etag and seen.etag and _differ(ours.etag, seen.etag))
            or (ours.total is not None and seen.total is not None and ours.total != seen.total)
        )
        if changed and journal.partial_bytes(request.path):
            self._restart("changed")
        kept = RemoteFile() if changed else ours
        self._remote = RemoteFile(
            total=seen.total if seen.total is not None else kept.total,
            etag=seen.etag or kept.etag,
            sha256=seen.sha256 or kept.sha256,
        )

    def _fits(self) -> None:
        total, target = self._remote.total, self._request.path
        if total is None:
            return
        need = disk_need(target.parent, self._cache_folder, total, self.meter.done)
        if need.fits or (need.file_fits and self._request.despite_cache):
            return
        raise DownloadFailure(
            "no_space_cache" if need.file_fits else "no_space",
            file=need.file_bytes,
            cache=need.cache_bytes,
            free=min(need.free, need.free if need.same_volume else need.cache_free),
            folder=target.parent,
        )

    def _restart(self, note: str) -> None:
        """Forgets the bytes so far. The second restart of a run is the last that is tried."""
        self._restarts += 1
        if self._restarts > 2:
            raise DownloadFailure("range_refused", host=httpx.URL(self._request.url).host)
        journal.remove(self._request.path)
        self.meter.done, self.meter.note = 0, note

    async def _receive(self, response: httpx.Response, first: httpx.Headers) -> None:
        status, meter, host = response.status_code, self.meter, response.request.url.host
        if status == 416:
            self._unsatisfied(response)
            return
        if status not in {200, 206}:
            raise from_status(
                status,
                response.headers,
                host=host,
                page=self._request.page,
                had_token=self._access.covers(str(response.request.url)),
            )
        if is_page(response.headers):
            raise DownloadFailure("captive_portal", host=host)
        if status == 200:
            seen = described(first, response)
            if meter.done:
                self._begin_again(seen)
            self._adopt(seen)
        else:
            self._check_range(response)
        await self._copy(response, host)

    def _begin_again(self, seen: RemoteFile) -> None:
        """A whole file although a part was asked for: ranges ignored, or another file."""
        another = bool(self._remote.etag and seen.etag and _differ(self._remote.etag, seen.etag))
        self._restart("changed" if another else "no_range")
        if another:
            self._remote = RemoteFile()

    async def _copy(self, response: httpx.Response, host: str) -> None:
        request, remote = self._request, self._remote
        request.path.parent.mkdir(parents=True, exist_ok=True)
        journal.write(
            journal.Journal(
                request=request, etag=remote.etag, sha256=remote.sha256, total=remote.total
            )
        )
        # No chunk size: httpx would hold bytes back to fill chunks and lose them at a cut.
        packed = encoded(response.headers)
        chunks = response.aiter_bytes() if packed else response.aiter_raw()
        await partial_file.copy(chunks, request.path, self.meter, host)

    def _adopt(self, seen: RemoteFile) -> None:
        expected = self._remote.total
        if expected is not None and seen.total is not None and seen.total != expected:
            raise DownloadFailure("wrong_size", expected=expected, got=seen.total)
        self._remote = RemoteFile(
            total=seen.total if seen.total is not None else expected,
            etag=seen.etag or self._remote.etag,
            sha256=seen.sha256 or self._remote.sha256,
        )
        self.meter.total = self._remote.total

    def _check_range(self, response: httpx.Response) -> None:
        told = content_range(response.headers)
        wrong_total = (
            told is not None
            and told[1] is not None
            and self._remote.total is not None
            and told[1] != self._remote.total
        )
        if told is None or told[0] != self.meter.done or wrong_total:
            self._use_range = False
            self._restart("changed" if wrong_total else "no_range")
            raise DownloadFailure("cut", retry=True, host=response.request.url.host)
        if told[1] is not None and self._remote.total is None:
            self._remote = RemoteFile(
                total=told[1], etag=self._remote.etag, sha256=self._remote.sha256
            )
            self.meter.total = told[1]

    def _unsatisfied(self, response: httpx.Response) -> None:
        """416: the partial is complete, or it is not what the server has. Never loops."""
        total = unsatisfied_total(response.headers)
        if total is not None and total == self.meter.done and self._remote.total in {None, total}:
            self._remote = RemoteFile(
                total=total, etag=self._remote.etag, sha256=self._remote.sha256
            )
            return
        self._restart("changed")
        raise DownloadFailure("range_refused", retry=True, host=response.request.url.host)

    async def _verify(self) -> None:
        """Size is proved; now the hash, read back from the disk, or else the header."""
        partial, sha256 = partial_path(self._request.path), self._remote.sha256
        self.meter.state = DownloadState.VERIFYING
        if self._remote.total is not None and partial.stat().st_size != self._remote.total:
            raise DownloadFailure("cut", retry=True, host=httpx.URL(self._request.url).host)
        if sha256:
            if await partial_file.hash_file(partial) != sha256:
                self._restart("checksum_again")
                if self._restarts > 1:
                    raise DownloadFailure("checksum", name=self._request.name)
                raise DownloadFailure("checksum", retry=True, name=self._request.name)
            return
        try:
            await asyncio.to_thread(self._check, partial)
        except DownloadFailure:
            journal.remove(self._request.path)
            raise

    def _disk_failure(self, error: OSError) -> DownloadFailure:
        folder = self._request.path.parent
        left = max(0, (self._remote.total or 0) - self.meter.done)
        try:
            free = free_bytes(folder)
        except OSError:
            free = 0
        return from_os_error(error, needed=left, free=free, folder=str(folder))


def _differ(one: str, other: str) -> bool:
    return strip_etag(one) != strip_etag(other)
