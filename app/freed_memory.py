"""Memory that was freed goes back to the system (glibc keeps it otherwise).

Closing a conversation frees megabytes in small pieces all over the heap; glibc gives back
only its upper end, so the process would keep its largest size for ever: 70 MB after twenty
closed conversations (measured). Elsewhere the allocators do this themselves, and nothing
happens here. Main thread; a look takes 20 µs, giving back about 10 ms.
"""

from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Callable

from engine import memory

GROWN = 8 << 20
"""Bytes the process must have grown by since the last time."""
EVERY_S = 20.0
CALM = 512 << 10
"""Growth between two looks below which nothing big is going on."""
_ARENA_MAX = -8
_ARENAS = 2


def few_arenas() -> None:
    """Lets all threads allocate from two heaps instead of one each, which would all keep
    their largest size. Call before threads are started."""
    libc = _glibc()
    if libc is not None:
        libc.mallopt(_ARENA_MAX, _ARENAS)


class FreedMemory:
    """`look` is called about once a second. `collect` is called before memory is given back:
    closed pages are cycles, and their texts are free only after them."""

    def __init__(self, collect: Callable[[], object]) -> None:
        self._collect = collect
        self._libc = _glibc()
        self._last = self._low = 0
        self._at = -EVERY_S

    def look(self) -> bool:
        """Gives back what is free once the process has grown and is calm; True when it did."""
        if self._libc is None:
            return False
        now, size = time.monotonic(), memory.resident_bytes() or 0
        grew, self._last = size - self._last, size
        self._low = min(self._low, size) if self._low else size
        if size < self._low + GROWN or abs(grew) > CALM or now < self._at + EVERY_S:
            return False
        self._collect()
        self._libc.malloc_trim(0)
        self._at, self._low = now, memory.resident_bytes() or 0
        return True


def _glibc() -> ctypes.CDLL | None:
    """The C library of this process if it is glibc."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        libc = ctypes.CDLL(None)
        return libc if libc.gnu_get_libc_version and libc.malloc_trim else None
    except (OSError, AttributeError):
        return None
