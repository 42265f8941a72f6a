"""The engine's compiled caches: how much they take, and getting rid of them.

Layout: `<root>/<library version>/<model key>/…`, see `Paths.engine_cache`. The engine names
the files inside after the model's size and time, so a touched model leaves an old generation
behind: everything below a model key counts, and goes, together. A library update leaves a
whole version folder behind; that counts too. All methods block on the disk; any thread but
the main one. A cache in use must not be removed: callers name it in `keep`.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

import msgspec

from app.paths import model_key
from engine.types import LIBRARY_VERSION

_CACHE_NAME = re.compile(r"\.xnnpack_cache|_mldrift_\w*cache\.bin$|mldrift_program_cache")


class CacheUsage(msgspec.Struct, frozen=True, kw_only=True):
    """The caches of one model key under one library version. `used` is a Unix time."""

    version: str
    key: str
    bytes: int
    files: int
    used: float

    @property
    def current(self) -> bool:
        return self.version == LIBRARY_VERSION


class EngineCache:
    def __init__(self, root: Path, clock: Callable[[], float] = time.time) -> None:
        self._root = root
        self._clock = clock

    @property
    def root(self) -> Path:
        return self._root

    def folder(self, model_path: str, version: str = LIBRARY_VERSION) -> Path:
        return self._root / version / model_key(model_path)

    def touch(self, model_path: str) -> None:
        """Marks a cache as just used. Raises `OSError` when there is none."""
        now = self._clock()
        os.utime(self.folder(model_path), (now, now))

    def usage(self) -> tuple[CacheUsage, ...]:
        """Everything there is, largest first. Empty folders do not count."""
        found = [self._measure(version, folder) for version, folder in self._folders()]
        return tuple(sorted((u for u in found if u.files), key=lambda u: (-u.bytes, u.key)))

    def bytes_of(self, model_path: str) -> int:
        """All generations of one model, under all library versions."""
        key = model_key(model_path)
        return sum(u.bytes for u in self.usage() if u.key == key)

    def clear(self, model_path: str) -> int:
        """Removes all caches of a model; returns the bytes freed."""
        return self.clear_keys({model_key(model_path)})

    def clear_keys(self, keys: Collection[str], keep: Collection[str] = ()) -> int:
        """Removes caches named by model key, or exactly by `version/key`."""
        return sum(
            self._remove(folder)
            for version, folder in self._folders()
            if (folder.name in keys or f"{version}/{folder.name}" in keys)
            and not (version == LIBRARY_VERSION and folder.name in keep)
        )

    def clear_all(self, keep: Collection[str] = ()) -> int:
        """Removes everything except the current version's caches of the keys in `keep`."""
        freed = 0
        for version, folder in self._folders():
            if version != LIBRARY_VERSION or folder.name not in keep:
                freed += self._remove(folder)
        return freed

    def enforce_cap(self, cap_bytes: int, keep: Collection[str] = ()) -> int:
        """Removes least recently used caches until the rest fits; 0 means no cap. Other
        versions' caches go first: nothing will read them again."""
        if cap_bytes <= 0:
            return 0
        usages = sorted(self.usage(), key=lambda u: (u.current, u.used))
        total, freed = sum(u.bytes for u in usages), 0
        for usage in usages:
            if total - freed <= cap_bytes:
                break
            if not (usage.current and usage.key in keep):
                freed += self._remove(self._root / usage.version / usage.key)
        return freed

    def _folders(self) -> Iterator[tuple[str, Path]]:
        for version in _subfolders(self._root):
            for folder in _subfolders(version):
                yield version.name, folder

    def _measure(self, version: str, folder: Path) -> CacheUsage:
        size = files = 0
        used = _mtime(folder)
        for name, _, names in os.walk(folder):
            for entry in names:
                try:
                    status = os.lstat(os.path.join(name, entry))
                except OSError:
                    continue
                size, files = size + status.st_size, files + 1
        return CacheUsage(version=version, key=folder.name, bytes=size, files=files, used=used)

    def _remove(self, folder: Path) -> int:
        size = self._measure("", folder).bytes
        shutil.rmtree(folder, ignore_errors=True)
        left = self._measure("", folder).bytes if folder.exists() else 0
        return size - left


def folder_usage(mode: str) -> int:
    """Bytes of cache files in the folder a person chose; 0 for the other modes."""
    if not os.path.isabs(mode):
        return 0
    return sum(p.lstat().st_size for p in folder_files(Path(mode)))


def clear_folder(mode: str) -> int:
    """Removes the cache files in that folder; returns the bytes freed."""
    freed = 0
    for path in folder_files(Path(mode)) if os.path.isabs(mode) else ():
        try:
            size = path.lstat().st_size
            path.unlink()
        except OSError:
            continue
        freed += size
    return freed


def folder_files(folder: Path) -> tuple[Path, ...]:
    """Cache files in a folder that may hold other things: told by the names they carry."""
    try:
        return tuple(p for p in folder.iterdir() if _CACHE_NAME.search(p.name) and p.is_file())
    except OSError:
        return ()


def stray_caches(model: Path) -> tuple[Path, ...]:
    """Caches an engine without a cache folder wrote beside the model: files whose name
    begins with the model's and that are no models or downloads themselves."""
    try:
        siblings = sorted(model.parent.iterdir())
    except OSError:
        return ()
    return tuple(
        p
        for p in siblings
        if p.name.startswith(model.name) and "cache" in p.name[len(model.name) :] and p.is_file()
    )


def _subfolders(folder: Path) -> list[Path]:
    try:
        return sorted(p for p in folder.iterdir() if p.is_dir() and not p.is_symlink())
    except OSError:
        return []


def _mtime(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
