"""A window and a heartbeat in it: how long the event loop was away, in wall and CPU time.

A gap is the time between two beats of a timer; its CPU time is what this thread itself used
in it, which says the same on a busy machine. A frame is one sixtieth of a second.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from PySide6.QtCore import QCoreApplication, QEvent, QTimer
from PySide6.QtWidgets import QApplication

from ui.code_highlighter import warm_up
from ui.main_window import MainWindow
from ui.theme import theme
from ui.views import TabView, TurnView

FRAME_S = 1 / 60


def quantile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


@dataclass(slots=True)
class Figures:
    """Milliseconds of wall and CPU time, one entry each per gap or frame; seconds in all."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    seconds: float = 0.0
    cpu_seconds: float = 0.0

    def summary(self) -> dict[str, float]:
        return {
            "max_ms": round(max(self.wall, default=0.0), 1),
            "p99_ms": round(quantile(self.wall, 0.99), 1),
            "cpu_max_ms": round(max(self.cpu, default=0.0), 1),
            "cpu_p99_ms": round(quantile(self.cpu, 0.99), 1),
            "s": round(self.seconds, 2),
            "cpu_s": round(self.cpu_seconds, 2),
        }


class Probe:
    """One window with one conversation."""

    def __init__(self) -> None:
        app = QApplication.instance() or QApplication([])
        assert isinstance(app, QApplication)
        self.app = app
        theme().apply(mode="light")
        warm_up()
        self.window = MainWindow()
        self.window.resize(1280, 800)
        self.page = self.window.chat.add_conversation(TabView(key="a", title="x"))
        self.window.show()
        self._gaps = Figures()
        self._last = (0.0, 0.0)
        self._timer = QTimer()
        self._timer.timeout.connect(self._beat)
        self._timer.start(1)
        self.spin(0.5)

    def close(self) -> None:
        self._timer.stop()
        self.window.allow_close()
        self.window.close()

    def _beat(self) -> None:
        wall, cpu = time.perf_counter(), time.thread_time()
        self._gaps.wall.append((wall - self._last[0]) * 1000)
        self._gaps.cpu.append((cpu - self._last[1]) * 1000)
        self._last = wall, cpu

    def turn(self) -> None:
        """One turn of the event loop."""
        self.app.processEvents()
        # Without a running loop nothing is deleted later: it would be restyled for ever.
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)

    def spin(self, seconds: float, work: Callable[[], bool] = lambda: True) -> None:
        """Runs the loop until `work` says no more, `seconds` at most."""
        until = time.perf_counter() + seconds
        while time.perf_counter() < until and work():
            self.turn()
            time.sleep(0.0005)

    def drawing(self) -> bool:
        return bool(self.page.transcript._dirty)

    def gaps(self, act: Callable[[], None], longest: float, quiet: float = 0.3) -> Figures:
        """Gaps from `act` until everything is drawn (or `longest` seconds) and `quiet` more."""
        self._gaps = out = Figures()
        self._last = time.perf_counter(), time.thread_time()
        begin, busy = self._last
        act()
        self.spin(longest, self.drawing)
        out.seconds, out.cpu_seconds = time.perf_counter() - begin, time.thread_time() - busy
        self.spin(quiet)
        self._gaps = Figures()
        return out

    def frames(self, seconds: float, act: Callable[[], None]) -> Figures:
        """CPU time of each frame while `act` is done once a frame; wall: gaps between beats."""
        self._gaps = gaps = Figures()
        begin, busy = self._last = time.perf_counter(), time.thread_time()
        frames: list[float] = []
        while time.perf_counter() - begin < seconds:
            start, used = time.perf_counter(), time.thread_time()
            act()
            self.turn()
            self.spin(max(0.0, FRAME_S - (time.perf_counter() - start)))
            frames.append((time.thread_time() - used) * 1000)
        self._gaps = Figures()
        wall, cpu = time.perf_counter() - begin, time.thread_time() - busy
        return Figures(gaps.wall, frames, wall, cpu)

    def stream(self, text: str, rate: int, seconds: float) -> Figures:
        """`text` in tokens of four characters, `rate` of them a second, `seconds` at most."""
        page = self.page
        page.set_turns([TurnView(node_id="u", role="user", text="go")])
        page.append_turn(TurnView(node_id="a", role="assistant", status="streaming"))
        self.spin(0.3)
        sent, start = [0], time.perf_counter()

        def feed() -> bool:
            due = int((time.perf_counter() - start) * rate) * 4
            while sent[0] < min(due, len(text)):
                page.stream("a", text[sent[0] : sent[0] + 40])
                sent[0] += 40
            return sent[0] < len(text)

        self._gaps = out = Figures()
        self._last = begin, busy = time.perf_counter(), time.thread_time()
        self.spin(seconds, feed)
        out.seconds, out.cpu_seconds = time.perf_counter() - begin, time.thread_time() - busy
        self._gaps = Figures()
        whole = TurnView(node_id="a", role="assistant", text=text[: sent[0]])
        ended = self.gaps(lambda: page.update_turn(whole), 20)
        out.wall += ended.wall
        out.cpu += ended.cpu
        return out
