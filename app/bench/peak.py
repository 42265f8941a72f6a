"""Peak memory of the engine process between two moments.

Linux keeps the peak of a process and lets its owner start it anew, which costs the process
nothing. Elsewhere the resident size is sampled from here, so a peak shorter than `EVERY_S`
may be missed. One thread uses a meter; nothing raises: what cannot be learnt is None.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from app.bench.environment import psutil
from app.bench.summary import ALL

EVERY_S = 0.02

OWN = "own process for each leg"
RESET = f"{OWN}; peak kept by the system, started anew for each class"
SAMPLED = f"{OWN}; classes sampled every 20 ms"

_HIGHEST = re.compile(r"^VmHWM:\s+(\d+) kB", re.MULTILINE)


class PeakMeter:
    """Reads the peak of one process, part by part; `source` says how."""

    def __init__(self, pid: int) -> None:
        self._place = Path(f"/proc/{pid}")
        self._pid = pid
        self._peaks: dict[str, int | None] = {}
        self._before: int | None = None
        self.source = OWN

    @contextmanager
    def of(self, part: str) -> Iterator[None]:
        """The peak of what is done within belongs to `part`."""
        self._before = most(self._before, self._read())
        sampler = None
        try:
            (self._place / "clear_refs").write_text("5")
        except OSError:
            sampler = _Sampler(self._pid)
        try:
            yield
        finally:
            found = self._read() if sampler is None else sampler.stop()
            if found is not None:
                self.source = RESET if sampler is None else SAMPLED
            self._peaks[part] = most(self._peaks.get(part), found)

    def whole(self, told: int | None) -> dict[str, int | None]:
        """Peaks by part, and under "all" that of the whole life: what the process itself
        `told` at its end knows nothing of the time before the last part."""
        return {**self._peaks, ALL: most(told, self._before, *self._peaks.values())}

    def _read(self) -> int | None:
        try:
            found = _HIGHEST.search((self._place / "status").read_text())
        except (OSError, UnicodeDecodeError):
            return None
        return int(found[1]) * 1024 if found else None


def most(*values: int | None) -> int | None:
    """The largest of the known ones."""
    return max((v for v in values if v is not None), default=None)


class _Sampler:
    """The largest resident size seen by a thread of its own, until `stop`."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._over = threading.Event()
        self._most: int | None = None
        self._thread = threading.Thread(target=self._run, name="bench-memory", daemon=True)
        self._thread.start()

    def stop(self) -> int | None:
        self._over.set()
        self._thread.join()
        return self._most

    def _run(self) -> None:
        if psutil is None:
            return
        try:
            process = psutil.Process(self._pid)
            while True:
                self._most = max(self._most or 0, int(process.memory_info().rss))
                if self._over.wait(EVERY_S):
                    return
        except psutil.Error:
            return
