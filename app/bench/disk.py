"""The second engine cache that exists while the first load is timed: room, place, leftovers."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

FACTOR = 1.5
"""A cache can be as large as its model (engine-facts); half as much again stays free."""

PREFIX = "tandem-bench-"
LEFT_S = 86_400.0


def room_for_cache(model_path: str, folder: Path) -> bool:
    try:
        return shutil.disk_usage(folder).free > FACTOR * os.path.getsize(model_path)
    except OSError:
        return False


@contextmanager
def scratch(cache_dir: str) -> Iterator[Path]:
    """An empty folder on the disk of the caches, removed afterwards. Those of a day ago or
    more were left by programs that were killed, and go too."""
    root = Path(cache_dir).parent if cache_dir else None
    if root is not None and not root.is_dir():
        root = None
    if root is not None:
        _remove_left(root)
    with tempfile.TemporaryDirectory(prefix=PREFIX, dir=root, ignore_cleanup_errors=True) as made:
        yield Path(made)


def _remove_left(root: Path) -> None:
    for folder in root.glob(f"{PREFIX}*"):
        with suppress(OSError):
            if folder.stat().st_mtime < time.time() - LEFT_S:
                shutil.rmtree(folder, ignore_errors=True)
