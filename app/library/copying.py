"""Copying a model into our folder, which can take minutes and must not hold up quitting."""

from __future__ import annotations

import os
import threading
from pathlib import Path

from app.library.names import free_target

_BLOCK = 4 << 20


class CopyStopped(OSError):
    """The program is closing."""


def copy_into(path: Path, folder: Path, stop: threading.Event) -> Path:
    """Copies under a free name and returns it; a broken copy leaves nothing. Blocks; raises
    `OSError`."""
    folder.mkdir(parents=True, exist_ok=True)
    target = free_target(folder, path.name)
    temporary = target.with_name(target.name + ".copying")
    try:
        with open(path, "rb") as source, open(temporary, "wb") as copy:
            while block := source.read(_BLOCK):
                if stop.is_set():
                    raise CopyStopped
                copy.write(block)
            copy.flush()
            os.fsync(copy.fileno())
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
    return target
