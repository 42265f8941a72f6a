"""The speed of a download over the last seconds."""

from __future__ import annotations

from collections import deque

WINDOW_S = 8.0


class Speed:
    """Bytes per second over a sliding window; None until there is something to measure."""

    def __init__(self, window_s: float = WINDOW_S) -> None:
        self._window = window_s
        self._points: deque[tuple[float, int]] = deque()

    def add(self, now: float, done: int) -> None:
        if self._points and done < self._points[-1][1]:
            self._points.clear()  # it began anew
        self._points.append((now, done))
        while len(self._points) > 2 and now - self._points[0][0] > self._window:
            self._points.popleft()

    @property
    def value(self) -> float | None:
        if len(self._points) < 2:
            return None
        (begin, first), (end, last) = self._points[0], self._points[-1]
        return (last - first) / (end - begin) if end > begin else None
