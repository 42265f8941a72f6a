"""One heartbeat for drawing: work asked for between two frames happens once, on the frame.

Owned by the main thread. The first request after a pause is served on the next turn of the
event loop, later ones every `FRAME_MS`. What cannot wait for the frame says so: the first words
of an answer come soon after the frame that showed the question (10 ms later on the median).
"""

from __future__ import annotations

import os
import time

from PySide6.QtCore import QObject, Qt, QTimer, Signal

FRAME_MS = 33
FEW_CORES = 4
STREAM_MS = 40 if (os.cpu_count() or 1) > FEW_CORES else 80
"""A growing answer is drawn so often: the engine computes on the same cores, and where there are
few of them every frame is time in which it stands still."""
GAUGE_MS = 200
"""A live gauge is redrawn at most five times a second, for the same reason; faster is not read."""
BUDGET_S = 0.007
"""What one frame may spend on rendering before it hands back to the event loop."""


class FrameClock(QObject):
    """Emits `tick` at most once per `interval` ms, and only after `request()`."""

    tick = Signal()

    def __init__(self, parent: QObject | None = None, interval: int = FRAME_MS) -> None:
        super().__init__(parent)
        self._interval = interval
        self._last = 0.0
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._on_timeout)

    def request(self, soon: int = 0, *, now: bool = False, every: int = 0) -> None:
        """Asks for one tick; further requests before it are merged. `soon` (ms) is for work
        that is left over: it goes on after whatever events wait. `now` does not wait for the
        frame. `every` (ms) is a longer distance to the last tick, for what may wait."""
        if now:
            self._timer.start(0)
            return
        if self._timer.isActive():
            return
        if soon:
            self._timer.start(soon)
            return
        passed = (time.monotonic() - self._last) * 1000
        distance = max(self._interval, every)
        self._timer.start(0 if passed >= distance else max(1, int(distance - passed)))

    def stop(self) -> None:
        self._timer.stop()

    def _on_timeout(self) -> None:
        self._last = time.monotonic()
        self.tick.emit()
