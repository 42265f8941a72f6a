"""Progress of a comparison on stderr: one line that is rewritten on a terminal, else one
line per class. Called on the bench thread; `done` on the main thread after it ended."""

from __future__ import annotations

import contextlib
from typing import TextIO

from app.bench.records import Progress
from ui import bench_strings as words
from ui import format as fmt


def describe(event: Progress) -> str:
    """`Measuring · Code · 12 of 72 · off 51.8 · on 83.1 tok/s · 2 min left`"""
    parts = [words.PHASES[event.phase].format(depth=round(event.depth * 100))]
    if event.workload is not None and event.phase != "synthetic":
        parts.append(words.WORKLOADS[event.workload.value])
    parts.append(f"{event.done} of {event.total}")
    if event.off_tps is not None and event.on_tps is not None:
        parts.append(f"off {event.off_tps:.1f} · on {event.on_tps:.1f} tok/s")
    if event.eta_s is not None:
        parts.append(f"{words.duration(event.eta_s)} left")
    return fmt.DOT.join(parts)


class ProgressLine:
    """Writes to `stream`; a closed or missing stream is no error."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream
        self._terminal = bool(stream is not None and stream.isatty())
        self._width = 0
        self._last: tuple[object, ...] = ()

    def show(self, event: Progress) -> None:
        text = describe(event)
        if self._terminal:
            self._write(f"\r{text.ljust(self._width)}")
            self._width = len(text)
            return
        step = (event.phase, event.workload, event.depth)
        if step != self._last:
            self._last = step
            self._write(f"{text}\n")

    def done(self) -> None:
        if self._terminal and self._width:
            self._write(f"\r{' ' * self._width}\r")

    def _write(self, text: str) -> None:
        if self._stream is None:
            return
        with contextlib.suppress(OSError, ValueError):
            self._stream.write(text)
            self._stream.flush()
