"""Runs in flight and the one static callback that feeds them.

The native callback may come on different threads, and even before the send returned. It
copies bytes, stamps the time, appends to the run's queue and returns; parsing happens on
the thread that called `generate`. A run stays registered until its final chunk, so its
objects outlive whatever the program does meanwhile; chunks of unknown runs are dropped.

`Run.cancel` may be called from any thread, at any time, any number of times.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import NamedTuple

_runs: dict[int, Run] = {}
_tokens = itertools.count(1)


class Chunk(NamedTuple):
    """One callback: `at` is `time.perf_counter()` of its arrival."""

    at: float
    text: bytes | None
    error: bytes | None
    final: bool


class Run:
    """One send. `started` is the moment just before the native send."""

    def __init__(self, run_id: int) -> None:
        self.run_id = run_id
        self.token = next(_tokens)
        self.queue: SimpleQueue[Chunk] = SimpleQueue()
        self.started = 0.0
        self.cancelled = False
        self._abort: Callable[[], None] | None = None
        self._lock = threading.Lock()

    def begin(self, send: Callable[[int], None], abort: Callable[[], None]) -> bool:
        """Calls `send(token)` unless the run was cancelled already; False if it was.

        `abort` stops the native work; it is called at most until `end`. A run that is begun
        once more gets none of the chunks of its first send.
        """
        with self._lock:
            if self.cancelled:
                return False
            self.token, self.queue = next(_tokens), SimpleQueue()
            _runs[self.token] = self
            self._abort = abort
        self.started = time.perf_counter()
        try:
            send(self.token)
        except BaseException:
            self.end()
            raise
        self._abort_if_cancelled()
        return True

    def _abort_if_cancelled(self) -> None:
        """For a cancel that came between registering and the native send."""
        if self.cancelled:
            self.abort()

    def cancel(self) -> None:
        self.cancelled = True
        self.abort()

    def abort(self) -> None:
        """Stops the native work without marking the run as stopped by a person."""
        with self._lock:
            if self._abort is not None:
                self._abort()

    def end(self) -> None:
        """The final chunk was seen: from here on the conversation may be deleted."""
        with self._lock:
            self._abort = None
        _runs.pop(self.token, None)

    def next(self, timeout: float | None) -> Chunk | None:
        """The next chunk, or None after `timeout` seconds."""
        try:
            return self.queue.get(timeout=timeout)
        except Empty:
            return None


def on_chunk(token: int, text: bytes | None, error: bytes | None, final: bool) -> None:
    """Target of the native callback."""
    run = _runs.get(token)
    if run is not None:
        run.queue.put(Chunk(time.perf_counter(), text, error, final))


def runs_in_flight() -> int:
    return len(_runs)
