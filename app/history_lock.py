"""Which running program may repair the history: the one that holds a lock file.

The lock belongs to the open file handle, so the system frees it however the program ends.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import BinaryIO


class OwnerLock:
    """Held from `take` to `close`. History thread only."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: BinaryIO | None = None

    def take(self) -> bool:
        """True when nobody else holds it, and where locking is not possible at all."""
        try:
            handle = self._path.open("ab")
        except OSError:
            return True
        try:
            _lock(handle)
        except BlockingIOError:
            handle.close()
            return False
        except OSError as error:
            handle.close()
            return sys.platform != "win32" or error.errno not in (13, 36)
        self._file = handle
        return True

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


def _lock(handle: BinaryIO) -> None:
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(handle.fileno(), msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(handle.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
