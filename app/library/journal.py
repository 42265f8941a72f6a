"""The small file beside a `.partial` that lets its download go on after a restart.

It holds no token and no signed address: the model's public address, what the server said
about the file, and nothing else. Called on the download thread; writes are atomic.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from app.library.download_types import DownloadRequest
from app.library.names import journal_path, partial_path


class Journal(msgspec.Struct, frozen=True, kw_only=True):
    """`etag` and `sha256` identify the version of the file the partial belongs to."""

    request: DownloadRequest
    etag: str = ""
    sha256: str = ""
    total: int | None = None
    format: int = 1


def write(journal: Journal) -> None:
    """Raises `OSError`, for instance when the disk is full."""
    path = journal_path(journal.request.path)
    temporary = path.with_name(path.name + ".new")
    try:
        temporary.write_bytes(msgspec.json.encode(journal))
        os.replace(temporary, path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def read(target: Path) -> Journal | None:
    """The journal of `target`; None when there is none or it is damaged. The target written
    in it is replaced by where it was found, so a moved folder goes on working."""
    try:
        found = msgspec.json.decode(journal_path(target).read_bytes(), type=Journal)
    except (OSError, msgspec.MsgspecError):
        return None
    if found.format != 1:
        return None
    request = msgspec.structs.replace(found.request, target=str(target))
    return msgspec.structs.replace(found, request=request)


def found_in(folder: Path) -> tuple[Journal, ...]:
    """All downloads that an earlier run left unfinished in `folder`."""
    suffix = ".partial.json"
    try:
        names = sorted(p.name for p in folder.iterdir() if p.name.endswith(suffix))
    except OSError:
        return ()
    journals = (read(folder / name.removesuffix(suffix)) for name in names)
    return tuple(j for j in journals if j is not None)


def remove(target: Path) -> None:
    """Removes partial and journal; missing files are fine. Raises `OSError` otherwise."""
    partial_path(target).unlink(missing_ok=True)
    journal_path(target).unlink(missing_ok=True)


def partial_bytes(target: Path) -> int:
    try:
        return partial_path(target).stat().st_size
    except OSError:
        return 0
