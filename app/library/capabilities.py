"""What the headers of model files said, remembered between runs.

Keyed by path, size and modification time, so a start with fifty models reads no model file
at all. Used on the library's helper thread only.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from engine.errors import ModelFileError
from engine.types import ErrorInfo, ModelInfo


class _Kept(msgspec.Struct, frozen=True):
    size: int
    mtime_ns: int
    info: ModelInfo | None = None
    problem: ErrorInfo | None = None


class CapabilityCache:
    """Remembered headers. One scan at a time uses it; the file is written atomically."""

    FORMAT = 2

    def __init__(self, file: Path) -> None:
        self._file = file
        self._kept: dict[str, _Kept] = {}
        self._dirty = False
        self._read = False

    def _load(self) -> None:
        """Reads the file at the first use, which is on the helper thread."""
        self._read = True
        try:
            found = msgspec.json.decode(self._file.read_bytes(), type=_CacheFile)
        except (OSError, msgspec.MsgspecError):
            return
        if found.format == self.FORMAT:
            self._kept = found.models

    def look(
        self, path: str, size: int, mtime_ns: int, inspect: Callable[[str], ModelInfo]
    ) -> tuple[ModelInfo | None, ErrorInfo | None]:
        if not self._read:
            self._load()
        kept = self._kept.get(path)
        if kept is not None and (kept.size, kept.mtime_ns) == (size, mtime_ns):
            return kept.info, kept.problem
        info = problem = None
        try:
            info = inspect(path)
        except ModelFileError as error:
            problem = error.info()
        if problem is None or problem.code not in {"unreadable", "not_found"}:
            self._kept[path] = _Kept(size, mtime_ns, info, problem)
            self._dirty = True
        return info, problem

    def save(self, seen: Iterable[str]) -> None:
        """Writes what is known of the files just seen. A failure costs only time."""
        names = set(seen)
        if not self._dirty and names == set(self._kept):
            return
        self._kept = {path: kept for path, kept in self._kept.items() if path in names}
        data = msgspec.json.encode(_CacheFile(self.FORMAT, self._kept))
        temporary = self._file.with_name(self._file.name + ".new")
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            temporary.write_bytes(data)
            os.replace(temporary, self._file)
        except OSError:
            temporary.unlink(missing_ok=True)
            return
        self._dirty = False


class _CacheFile(msgspec.Struct):
    format: int
    models: dict[str, _Kept] = {}
