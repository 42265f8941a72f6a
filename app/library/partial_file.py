"""The `.partial` file: bytes in, checks while they come, hash, and the final rename.

Called on the download thread. Short blocking writes are meant to happen on its loop: it
belongs to downloads alone, and writing there is what slows a sender that is too fast.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import BinaryIO

import httpx

from app.library.download_types import DownloadState
from app.library.failures import DownloadFailure, Failure
from app.library.hashing import hash_blocking
from app.library.http import network_failure
from app.library.names import journal_path, partial_path

MAGIC = b"LITERTLM"
_PAGE_BEGINNINGS = (b"<!doctype", b"<html", b"<?xml", b"<head", b"<!--")


class Meter:
    """What a transfer tells while it runs. Read by the manager on the same loop."""

    def __init__(self) -> None:
        self.state = DownloadState.CONNECTING
        self.done = 0
        self.total: int | None = None
        self.note = ""
        self.problem: Failure | None = None
        self.retry_at: float | None = None
        self.last_byte_at = 0.0


async def copy(chunks: AsyncIterator[bytes], target: Path, meter: Meter, host: str) -> None:
    """Appends what comes to the partial of `target`, from `meter.done` on, and syncs it.

    Raises `DownloadFailure` for a page instead of a model, for more bytes than announced,
    for a broken connection and for an end before `meter.total`; `OSError` from the disk.
    """
    loop = asyncio.get_running_loop()
    meter.state, meter.last_byte_at = DownloadState.RUNNING, loop.time()
    with _open_at(partial_path(target), meter.done) as file:
        try:
            async for chunk in chunks:
                _write(file, chunk, meter, host)
                meter.last_byte_at = loop.time()
        except httpx.HTTPError as error:
            failure = network_failure(error, host)
            raise failure if failure.code == "proxy" else _cut(host) from None
        finally:
            file.flush()
            os.fsync(file.fileno())
    if meter.total is not None and meter.done < meter.total:
        raise _cut(host)
    meter.total = meter.done


def _cut(host: str) -> DownloadFailure:
    return DownloadFailure("cut", retry=True, host=host)


def _open_at(partial: Path, offset: int) -> BinaryIO:
    file = open(partial, "r+b" if offset else "wb")  # noqa: SIM115 - the caller closes it
    file.seek(offset)
    file.truncate()
    return file


def _write(file: BinaryIO, chunk: bytes, meter: Meter, host: str) -> None:
    if meter.done == 0 and not chunk.startswith(MAGIC[: len(chunk)]):
        looks_page = chunk[:512].lstrip().lower().startswith(_PAGE_BEGINNINGS)
        raise DownloadFailure("captive_portal" if looks_page else "not_a_model", host=host)
    if meter.total is not None and meter.done + len(chunk) > meter.total:
        got = f"{meter.done + len(chunk)}"
        raise DownloadFailure("wrong_size", expected=meter.total, got=got)
    file.write(chunk)
    meter.done += len(chunk)


def finish(target: Path) -> Path:
    """Gives the verified partial its name, atomically, and drops the journal."""
    os.replace(partial_path(target), target)
    journal_path(target).unlink(missing_ok=True)
    _sync_folder(target.parent)
    return target


async def hash_file(path: Path) -> str:
    """The sha256 of a file in hex, computed on a thread; stops soon after a cancel."""
    stop = threading.Event()
    try:
        return await asyncio.to_thread(hash_blocking, path, stop)
    finally:
        stop.set()


def _sync_folder(folder: Path) -> None:
    """Makes the rename itself durable, where folders can be opened (not on Windows)."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError:
        pass  # some network file systems refuse; the file's own bytes are synced already
    finally:
        os.close(descriptor)
