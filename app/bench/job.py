"""A comparison of the command line: on a thread of its own, ended early by signals.

The first signal (Ctrl+C, SIGTERM, a closed terminal, Ctrl+Break) cancels: what was measured
is kept. A second one ends the program at once with exit code 1; the engine's process ends
when its pipe closes. Handlers only count, because they run anywhere in the main thread's
work; `Job.wait` acts on it.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from app.bench.records import Plan, Progress, Record
from app.bench.runner import Cancelled, Runner
from engine.protocol import Engine
from ui import bench_strings as words

LOOK_S = 0.1

STOPS = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")


class Interruptions:
    """Counts what asks the program to stop; main thread."""

    def __init__(self) -> None:
        self.count = 0

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Takes the signals over; what was set before comes back afterwards. A hang-up that
        is ignored (nohup) stays so."""
        before: dict[signal.Signals, Callable[[int, FrameType | None], object] | int | None] = {}
        for name in STOPS:
            number = getattr(signal, name, None)
            if number is None or (name == "SIGHUP" and signal.getsignal(number) == signal.SIG_IGN):
                continue
            before[number] = signal.signal(number, self._on_signal)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        self.count += 1
        if self.count > 1:
            os.write(2, f"\ntandem: {words.QUIT_AT_ONCE}\n".encode())
            os._exit(1)


class Job:
    """The thread that owns the engine from making to closing it. Use once."""

    def __init__(
        self, plan: Plan, on_progress: Callable[[Progress], None], make: Callable[[], Engine]
    ) -> None:
        self._plan = plan
        self._on_progress = on_progress
        self._make = make
        self._runner: Runner | None = None
        self._stopping = False
        self.record: Record | None = None
        self.error: Exception | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="bench")

    def _run(self) -> None:
        try:
            engine = self._make()
            try:
                self._runner = Runner(engine, self._plan, self._on_progress)
                if self._stopping:
                    raise Cancelled
                self.record = self._runner.run()
            finally:
                engine.close()
        except Exception as problem:
            self.error = problem
        finally:
            self._ended.set()

    def wait(self, asked: Interruptions) -> Record | None:
        """Blocks until it ended by itself or was cancelled."""
        self._thread.start()
        while not self._ended.wait(LOOK_S):
            if asked.count and not self._stopping:
                self._stopping = True
                if self._runner is not None:
                    self._runner.cancel()
        self._thread.join()
        return self.record
