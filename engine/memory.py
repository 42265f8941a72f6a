"""Resident memory of this process, in bytes. Any thread; never raises."""

from __future__ import annotations

import os
import sys


def resident_bytes() -> int | None:
    """Resident size now; None where the system does not tell without extra packages."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError, AttributeError):
        return _by_psutil("rss")


def peak_bytes() -> int | None:
    """Highest resident size so far."""
    if sys.platform == "win32":
        return _by_psutil("peak_wset")
    else:
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024


def _by_psutil(field: str) -> int | None:
    try:
        import psutil

        return int(getattr(psutil.Process().memory_info(), field))
    except Exception:
        return None
