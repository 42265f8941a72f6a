"""Model files that are known to be faulty, by their content: `resources/known_problems.json`.

A file is one of them only if its size and its sha256 are those of the list, whatever its name;
other files are never read for it. What a model writes is not changed: people are only told.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Iterable
from pathlib import Path

import msgspec

import resources
from app.library.hashing import hash_blocking
from app.library.local import LocalModel

FILE = resources.FOLDER / "known_problems.json"


class KnownFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One faulty file. `problem` is a key of `ui.model_strings.KNOWN_PROBLEMS`; `name` and
    `source` are for who keeps the list."""

    name: str
    bytes: int
    sha256: str
    problem: str
    source: str


class _List(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    format: int
    files: tuple[KnownFile, ...]


def load(path: Path = FILE) -> tuple[KnownFile, ...]:
    """Reads the list. Raises `msgspec.MsgspecError` or `OSError` on a damaged install."""
    return msgspec.json.decode(path.read_bytes(), type=_List).files


class KnownProblems:
    """Belongs to the loop's thread; files are read on its default executor. `found` maps paths
    to problems, for the files looked at so far."""

    def __init__(self, files: Iterable[KnownFile]) -> None:
        self._files = {(f.bytes, f.sha256): f.problem for f in files}
        self._sizes = {size for size, _ in self._files}
        self._seen: dict[str, tuple[int, int]] = {}
        self.found: dict[str, str] = {}

    def to_look_at(self, models: Iterable[LocalModel]) -> list[str]:
        """Paths whose size makes them suspect and that were not read since they changed."""
        return [
            m.path
            for m in models
            if m.bytes in self._sizes and self._seen.get(m.path) != (m.bytes, m.mtime_ns)
        ]

    async def look(self, path: str, stop: threading.Event) -> str:
        """The problem of one file, "" for none. A file of another size is not read."""
        loop = asyncio.get_running_loop()
        try:
            key, problem = await loop.run_in_executor(None, self._look, path, stop)
        except OSError:
            return ""
        if not stop.is_set():
            self._seen[path] = key
            self.found.pop(path, None)
            if problem:
                self.found[path] = problem
        return problem

    def _look(self, path: str, stop: threading.Event) -> tuple[tuple[int, int], str]:
        status = os.stat(path)
        key = (status.st_size, status.st_mtime_ns)
        if status.st_size not in self._sizes:
            return key, ""
        if self._seen.get(path) == key:
            return key, self.found.get(path, "")
        return key, self._files.get((status.st_size, hash_blocking(Path(path), stop)), "")
