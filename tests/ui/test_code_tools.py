"""Code over the width: it scrolls sideways by itself, with the mouse and the keys."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QMouseEvent, QWheelEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from ui.answer_text import AnswerText
from ui.code_tools import CodeBar
from ui.message_body import MessageBody
from ui.theme import theme
from ui.transcript import Transcript
from ui.views import TurnView

WIDE = "x = '" + "0123456789" * 30 + "'"
TEXT = f"Words.\n\n```python\n{WIDE}\nshort\n```\n\nBetween.\n\n```text\nshort\n```\n\nAfter.\n"


@pytest.fixture
def light() -> Iterator[None]:
    theme().apply(mode="light", scale=1.0)
    yield
    theme().apply(mode="system", scale=1.0)


@pytest.fixture
def body(light: None, qtbot: QtBot) -> MessageBody:
    made = MessageBody("Answer")
    qtbot.addWidget(made)
    made.resize(500, 100)
    made.show()
    made.set_markdown(TEXT)
    while made.render_step(1.0):
        pass
    QApplication.processEvents()
    return made


def bars(body: MessageBody) -> list[CodeBar]:
    return [bar for bar in body.findChildren(CodeBar) if bar.isVisible()]


def wheel(body: MessageBody, y: float, turned: QPoint, shift: bool = False) -> bool:
    """Turns the wheel over `y`; True when the text took it."""
    at = QPointF(100, y)
    keys = Qt.KeyboardModifier.ShiftModifier if shift else Qt.KeyboardModifier.NoModifier
    none, phase = Qt.MouseButton.NoButton, Qt.ScrollPhase.NoScrollPhase
    place = QPointF(body.mapToGlobal(at.toPoint()))
    event = QWheelEvent(at, place, QPoint(), turned, none, keys, phase, False)
    body.wheelEvent(event)
    return event.isAccepted()


def test_long_lines_are_not_wrapped_and_have_a_bar(body: MessageBody) -> None:
    (bar,) = bars(body)
    first, second = body.tools.rects()
    assert first.height() - second.height() == pytest.approx(theme().px(19), abs=2)
    assert bar.maximum() > 1000
    assert bar.accessibleName()
    assert first.bottom() >= bar.geometry().bottom() > first.bottom() - 20
    assert body.horizontalScrollBar().value() == 0


def test_the_wheel_over_code_is_for_the_conversation(body: MessageBody) -> None:
    wide, narrow = (area.center().y() for area in body.tools.rects())
    assert not wheel(body, wide, QPoint(0, -120))
    assert body.tools.offset(0) == 0
    assert wheel(body, wide, QPoint(-120, 0))
    moved = body.tools.offset(0)
    assert moved > 0
    assert wheel(body, wide, QPoint(0, -120), shift=True)
    assert body.tools.offset(0) == 2 * moved
    assert bars(body)[0].value() == 2 * moved
    assert not wheel(body, narrow, QPoint(-120, 0))
    assert not wheel(body, 2, QPoint(-120, 0))


def test_what_is_scrolled_is_painted_and_hit_where_it_is_seen(body: MessageBody) -> None:
    area = body.tools.rects()[0]
    line = QPoint(200, int(area.top()) + theme().px(28 + 11 + 9))
    place = body.mapToGlobal(line)
    before, seen = body.position_at(place), body.grab().toImage()
    outside = (QPoint(3, 5), QPoint(3, int(area.bottom()) + 12))
    body.tools.scroll(0, 160)
    assert body.position_at(place) - before == pytest.approx(20, abs=2)
    now = body.grab().toImage()
    assert now != seen
    ratio = now.devicePixelRatio()
    for place in outside:
        at = place * ratio
        assert now.copy(0, at.y(), 600, 10) == seen.copy(0, at.y(), 600, 10)
    assert body.document().toPlainText().startswith("Words.")


def press(body: MessageBody, at: QPoint, kind: QEvent.Type) -> None:
    left = Qt.MouseButton.LeftButton
    down = left if kind != QEvent.Type.MouseButtonRelease else Qt.MouseButton.NoButton
    view = body.viewport()
    place = QPointF(view.mapToGlobal(at))
    event = QMouseEvent(kind, QPointF(at), place, left, down, Qt.KeyboardModifier.NoModifier)
    QApplication.sendEvent(view, event)


def test_a_mouse_selection_in_scrolled_code_takes_what_is_seen(body: MessageBody) -> None:
    body.tools.scroll(0, 400)
    y = int(body.tools.rects()[0].top()) + theme().px(28 + 11 + 9)
    begin, end = (body.position_at(body.mapToGlobal(QPoint(x, y))) for x in (100, 180))
    press(body, QPoint(100, y), QEvent.Type.MouseButtonPress)
    press(body, QPoint(180, y), QEvent.Type.MouseMove)
    press(body, QPoint(180, y), QEvent.Type.MouseButtonRelease)
    assert (body.textCursor().anchor(), body.textCursor().position()) == (begin, end)
    assert body.stream is not None
    assert begin - body.stream.regions[0].start > 40
    assert body.selected_text() == WIDE[begin - body.stream.regions[0].start :][: end - begin]
    assert body.horizontalScrollBar().value() == 0
    assert body.tools.offset(0) == 400


def test_the_keys_reach_the_bar_and_move_it(light: None, qtbot: QtBot) -> None:
    view = Transcript()
    qtbot.addWidget(view)
    view.resize(600, 400)
    view.show()
    view.set_turns([TurnView(node_id="a", role="assistant", text=TEXT)])
    qtbot.waitUntil(lambda: not view._dirty)
    turn = view.view_of("a")
    assert turn is not None
    view.window().activateWindow()
    qtbot.waitUntil(lambda: bool(bars(turn.body)))
    turn.body.setFocus()
    qtbot.waitUntil(turn.body.hasFocus)
    names = []
    for _ in range(4):
        focus = QApplication.focusWidget()
        assert focus is not None
        qtbot.keyClick(focus, Qt.Key.Key_Tab)
        now = QApplication.focusWidget()
        assert now is not None
        names.append(type(now).__name__)
        if isinstance(now, CodeBar):
            qtbot.keyClick(now, Qt.Key.Key_Right)
            assert turn.body.tools.offset(0) > 0
            held = turn.body.tools.offset(0)
            qtbot.keyClick(now, Qt.Key.Key_Down)
            assert turn.body.tools.offset(0) == held
    assert names[:3] == ["QPushButton", "CodeBar", "QPushButton"]


def test_the_text_cursor_pulls_code_along(body: MessageBody, qtbot: QtBot) -> None:
    assert body.stream is not None
    region = body.stream.regions[0]
    body.select(region.start, region.start)
    assert body.tools.offset(0) == 0
    qtbot.keyClick(body, Qt.Key.Key_End)
    assert body.tools.offset(0) == bars(body)[0].maximum()
    qtbot.keyClick(body, Qt.Key.Key_Home)
    assert body.tools.offset(0) == 0


def test_code_over_several_documents_moves_as_one(light: None, qtbot: QtBot) -> None:
    text = AnswerText("Answer", part=2000)
    qtbot.addWidget(text)
    text.resize(500, 100)
    text.show()
    lines = "\n".join(f"{n} {WIDE}" for n in range(40))
    text.set_markdown(f"a\n\n```python\n{lines}\n```\n\nb\n")
    while text.render_step(0.05):
        pass
    bodies = [part.body for part in text.parts[:-1]]
    assert len(bodies) > 2
    assert bodies[1] is not None
    assert bodies[1].tools.scroll(0, 200)
    for body in bodies:
        assert body is not None
        assert body.tools.offset(0) == 200
    heads = [b for body in bodies if body for b in body.tools._shown.values() if b.copy]
    assert len(heads) == 1, "one block, one head"


def test_code_after_a_table_stands_below_it(light: None, qtbot: QtBot) -> None:
    body = MessageBody("Answer")
    qtbot.addWidget(body)
    body.resize(500, 100)
    body.show()
    body.set_markdown("| a | b |\n| - | - |\n| 1 | 2 |\n\n```text\nx\n```\n")
    while body.render_step(1.0):
        pass
    document = body.document()
    (frame,) = document.rootFrame().childFrames()
    table = document.documentLayout().frameBoundingRect(frame)
    assert body.tools.rects()[0].top() >= table.height() - 10
