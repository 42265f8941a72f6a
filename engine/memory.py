"""Resident memory of this process, in bytes. Any thread; never raises."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path


def resident_bytes() -> int | None:
    """Resident size now; None where the system does not tell without extra packages."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError, AttributeError):
        return _by_psutil("rss")


def peak_bytes() -> int | None:
    """Highest resident size so far, of this process alone.

    Not `ru_maxrss` on Linux: a process inherits that from the one that started it, so the
    engine of a small model told the size of the window.
    """
    found = _linux_peak()
    if found is not None:
        return found
    if sys.platform == "win32":
        return _by_psutil("peak_wset")
    else:
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024


def _linux_peak() -> int | None:
    try:
        found = re.search(r"^VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text(), re.M)
    except (OSError, UnicodeDecodeError):
        return None
    return int(found[1]) * 1024 if found else None


def _by_psutil(field: str) -> int | None:
    try:
        import psutil

        return int(getattr(psutil.Process().memory_info(), field))
    except Exception:
        return None
