"""Looks at other processes without touching them. Any thread; a few microseconds each."""

from __future__ import annotations

import os


def gone(pid: int) -> bool:
    """Whether the process has ended (a zombie has). Never True for this process."""
    if pid == os.getpid():
        return False
    import psutil

    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True
    except psutil.Error:
        return False


def resident(pid: int) -> int | None:
    """Resident memory in bytes, None when it cannot be read."""
    import psutil

    try:
        return int(psutil.Process(pid).memory_info().rss)
    except psutil.Error:
        return None


def cpu_seconds(pid: int) -> float | None:
    """Processor time used so far, None when it cannot be read."""
    import psutil

    try:
        times = psutil.Process(pid).cpu_times()
    except psutil.Error:
        return None
    return float(times.user + times.system)
