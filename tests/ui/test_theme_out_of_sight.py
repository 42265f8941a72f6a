"""A theme change restyles what is seen; conversations out of sight are made again when shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QPushButton, QStackedWidget, QWidget
from pytestqt.qtbot import QtBot

from ui.message_view import MessageView
from ui.theme import theme
from ui.transcript import FIRST, Transcript
from ui.views import TurnView


def turns(count: int) -> list[TurnView]:
    return [
        TurnView(
            node_id=f"n{i}",
            role="user" if i % 2 == 0 else "assistant",
            text=f"turn {i} " + "word " * 60,
            status="done",
        )
        for i in range(count)
    ]


@pytest.fixture
def two(qtbot: QtBot) -> Iterator[tuple[QStackedWidget, Transcript, Transcript]]:
    theme().apply(mode="light")
    stack = QStackedWidget()
    qtbot.addWidget(stack)
    seen, hidden = Transcript(), Transcript()
    for one in (seen, hidden):
        stack.addWidget(one)
    stack.resize(700, 500)
    stack.show()
    for one in (seen, hidden):
        stack.setCurrentWidget(one)
        one.set_turns(turns(40))
        qtbot.waitUntil(lambda one=one: len(one.message_views()) > FIRST, timeout=30_000)
    stack.setCurrentWidget(seen)
    yield stack, seen, hidden
    theme().apply(mode="system")


def test_only_what_is_seen_keeps_its_widgets(
    two: tuple[QStackedWidget, Transcript, Transcript], qtbot: QtBot
) -> None:
    stack, seen, hidden = two
    theme().apply(mode="dark")
    assert 1 <= len(seen.message_views()) < FIRST, "what is on screen and a little more"
    assert seen.view_of("n39") is not None
    assert hidden.findChildren(MessageView) == []
    assert [t.node_id for t in hidden.turns()] == [f"n{i}" for i in range(40)]
    theme().apply(mode="light")  # again while away
    qtbot.waitUntil(lambda: len(seen.message_views()) == 40, timeout=30_000)
    stack.setCurrentWidget(hidden)
    assert hidden.message_views()[-1].view.node_id == "n39"
    assert hidden.is_following()


def test_the_reader_finds_the_place_again(
    two: tuple[QStackedWidget, Transcript, Transcript], qtbot: QtBot
) -> None:
    stack, seen, hidden = two
    stack.setCurrentWidget(hidden)
    qtbot.waitUntil(lambda: len(hidden.message_views()) > 30, timeout=30_000)
    place = hidden.view_of("n20")
    assert place is not None
    hidden.verticalScrollBar().setValue(place.mapTo(hidden.widget(), place.rect().topLeft()).y())
    assert not hidden.is_following()
    stack.setCurrentWidget(seen)
    theme().apply(mode="dark")
    stack.setCurrentWidget(hidden)
    assert not hidden.is_following()
    again = hidden.view_of("n20")
    assert again is not None
    y = again.mapTo(hidden.viewport(), again.rect().topLeft()).y()
    assert -again.height() < y < hidden.viewport().height()


def test_what_is_read_stays_where_it_is(
    two: tuple[QStackedWidget, Transcript, Transcript], qtbot: QtBot
) -> None:
    _stack, seen, _hidden = two
    qtbot.waitUntil(lambda: not seen._dirty, timeout=30_000)
    bar = seen.verticalScrollBar()
    bar.setValue(bar.maximum() - seen.viewport().height() - 133)
    qtbot.waitUntil(lambda: not seen._dirty and not seen._clock._timer.isActive(), timeout=30_000)

    def place() -> tuple[str, int]:
        for view in seen.message_views():
            y = view.words.mapTo(seen.viewport(), view.rect().topLeft()).y()
            if y >= 0:
                return view.view.node_id, y
        raise AssertionError("nothing on screen")

    before = place()
    for mode in ("dark", "light"):
        theme().apply(mode=mode)
        assert place() == before


class Polished(QObject):
    """Counts how often each widget is given a style."""

    def __init__(self) -> None:
        super().__init__()
        self.times: Counter[int] = Counter()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.StyleChange:
            self.times[id(watched)] += 1
        return False


def test_a_widget_deep_in_the_window_is_polished_twice_and_not_at_all_for_the_same_look(
    qtbot: QtBot,
) -> None:
    theme().apply(mode="light")
    top = QWidget()
    qtbot.addWidget(top)
    parent = top
    for _ in range(12):
        inner = QWidget(parent)
        parent = inner
    button = QPushButton("x", parent)
    top.show()
    seen = Polished()
    button.installEventFilter(seen)
    theme().apply(mode="dark")
    assert seen.times == {id(button): 2}
    theme().apply(mode="dark")
    assert seen.times == {id(button): 2}
    assert button.palette().buttonText().color().name() == theme().tokens.text.lower()
    theme().apply(mode="system")


def test_what_is_being_written_or_edited_stays(
    two: tuple[QStackedWidget, Transcript, Transcript],
) -> None:
    _stack, _seen, hidden = two
    hidden.append_turn(TurnView(node_id="new", role="assistant", text="", status="streaming"))
    hidden.stream("new", "half of")
    theme().apply(mode="dark")
    hidden.stream("new", " it")
    turn = hidden.turn("new")
    assert turn is not None
    assert turn.text == "half of it"
    assert hidden.view_of("new") is not None


def test_a_turn_added_out_of_sight_builds_the_end_only(
    two: tuple[QStackedWidget, Transcript, Transcript], qtbot: QtBot
) -> None:
    stack, _seen, hidden = two
    theme().apply(mode="dark")
    hidden.append_turn(TurnView(node_id="new", role="user", text="more", status="done"))
    assert hidden.message_views()[-1].view.node_id == "new"
    assert len(hidden.message_views()) <= FIRST + 2
    stack.setCurrentWidget(hidden)
    assert hidden.view_of("new") is not None
