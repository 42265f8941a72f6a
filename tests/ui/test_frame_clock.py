"""When a frame comes: soon after a pause, in its time after that, at once for first words."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import QCoreApplication
from pytestqt.qtbot import QtBot

from ui.frame_clock import FrameClock
from ui.gauge import Gauge
from ui.transcript import Transcript
from ui.views import GaugeView, TurnView

LONG = 60_000


@pytest.fixture
def clock(qtbot: QtBot) -> FrameClock:
    made = FrameClock(interval=LONG)
    with qtbot.waitSignal(made.tick):
        made.request()
    return made


def test_the_next_frame_waits_for_its_time(clock: FrameClock) -> None:
    clock.request()
    assert LONG / 2 < clock._timer.interval() <= LONG
    clock.request(soon=True)
    assert clock._timer.interval() > LONG / 2, "one that is asked for already stays"


def test_what_cannot_wait_comes_at_once(clock: FrameClock, qtbot: QtBot) -> None:
    clock.request()
    with qtbot.waitSignal(clock.tick, timeout=20_000):
        clock.request(now=True)
    clock.stop()


@pytest.mark.parametrize(("text", "thought"), [("One", ""), ("", "Hm")])
def test_first_words_do_not_wait_for_the_frame_and_later_ones_do(
    text: str, thought: str, qtbot: QtBot
) -> None:
    words = Transcript()
    qtbot.addWidget(words)
    words.resize(600, 400)
    words.show()
    words._clock._interval = LONG
    words.append_turn(TurnView(node_id="u", role="user", text="question"))
    words.append_turn(TurnView(node_id="a", role="assistant", text="", status="streaming"))
    with qtbot.waitSignal(words._clock.tick, timeout=20_000):
        words.stream("a", text, thought)
        assert words._clock._timer.interval() == 0
    words.stream("a", " more", "")
    assert words._clock._timer.interval() > LONG / 2
    words._clock.stop()


def test_growing_text_keeps_a_longer_distance(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ui.transcript.STREAM_MS", LONG)
    words = Transcript()
    qtbot.addWidget(words)
    words.append_turn(TurnView(node_id="a", role="assistant", text="One", status="streaming"))
    with qtbot.waitSignal(words._clock.tick, timeout=20_000):
        words._clock.request(now=True)
    words._clock.stop()
    words.stream("a", " more", "")
    assert words._clock._timer.interval() > LONG / 2
    words._clock.stop()


def test_the_final_figures_do_not_wait_for_the_frame(qtbot: QtBot) -> None:
    gauge = Gauge()
    qtbot.addWidget(gauge)
    live = GaugeView(used=10, total=100, elapsed_s=0.1, decode_tps=500.0, live=True)
    gauge.set_view(live)
    qtbot.waitUntil(lambda: gauge.text() == live.text())
    gauge.set_view(replace(live, elapsed_s=0.2))
    QCoreApplication.processEvents()
    assert gauge.text() == live.text(), "a live value waits"
    final = replace(live, elapsed_s=0.3, live=False)
    gauge.set_view(final)
    QCoreApplication.processEvents()
    assert gauge.text() == final.text()
