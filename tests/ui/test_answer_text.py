"""Long answers in several documents: nothing is lost, code is copied whole, themes are lazy."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot

from ui.answer_text import AnswerText
from ui.markdown_render import CODE_HEAD, CODE_PAD
from ui.theme import theme
from ui.transcript import Transcript
from ui.views import TurnView

SMALL = 2000


@pytest.fixture
def light() -> Iterator[None]:
    theme().apply(mode="light", scale=1.0)
    yield
    theme().apply(mode="system", scale=1.0)


def made(qtbot: QtBot, part: int = SMALL) -> AnswerText:
    text = AnswerText("Answer", part=part)
    qtbot.addWidget(text)
    text.resize(600, 100)
    text.show()
    return text


def run(text: AnswerText) -> None:
    while text.render_step(0.01):
        pass


def document(count: int) -> str:
    return "".join(f"## Part {i}\n\nWords of *part* {i}.\n\n- one\n- two\n\n" for i in range(count))


def test_parts_hold_what_one_document_would(light: None, qtbot: QtBot) -> None:
    source = document(1000)
    many, one = made(qtbot), made(qtbot, part=10**9)
    for text in (many, one):
        text.set_markdown(source)
        run(text)
    assert len(many.parts) > 3
    assert len(one.parts) == 1
    assert many.toPlainText().split() == one.toPlainText().split()
    assert many.raw == source


def test_streamed_pieces_make_the_same_parts(light: None, qtbot: QtBot) -> None:
    source = document(800).replace("\n", "\r\n")
    whole, grown = made(qtbot), made(qtbot)
    whole.set_markdown(source)
    run(whole)
    for at in range(0, len(source), 37):
        grown.append(source[at : at + 37])
        grown.render_step(0.01)
    grown.finish()
    run(grown)
    assert grown.raw == source
    assert grown.toPlainText().split() == whole.toPlainText().split()
    assert len(grown.parts) > 3


def test_code_over_several_documents_is_copied_whole(light: None, qtbot: QtBot) -> None:
    code = "\n".join(f"line_{i} = {i}  # a comment that is long enough" for i in range(1500))
    text = made(qtbot)
    text.set_markdown(f"Before.\n\n```python\n{code}\n```\n\nAfter.\n\n```text\nlast\n```\n")
    run(text)
    assert len(text.parts) > 2
    copied: list[str] = []
    text.code_copied.connect(copied.append)
    for part in text.parts:
        for index in range(len(part.stream.regions) if part.stream else 0):
            part.code_clicked.emit(index)
    assert copied[-1] == "last"
    assert set(copied[:-1]) == {code}
    assert text.toPlainText().rstrip().endswith("last")


def test_hits_are_found_in_every_part(light: None, qtbot: QtBot) -> None:
    text = made(qtbot)
    text.set_markdown(document(100))
    run(text)
    hits = text.find_all("Words", True)
    assert len(hits) == 100
    assert text.y_of(hits[0]) < text.y_of(hits[50]) < text.y_of(hits[99])
    text.mark_hits(hits, 99)
    assert len(text.parts[-1].extraSelections()) >= 1
    text.mark_hits([])
    assert all(not part.extraSelections() for part in text.parts)


def test_a_theme_change_leaves_what_is_out_of_sight_for_later(light: None, qtbot: QtBot) -> None:
    view = Transcript()
    qtbot.addWidget(view)
    view.resize(700, 500)
    view.show()
    view.set_turns([TurnView(node_id="a", role="assistant", text=document(1500))])
    qtbot.waitUntil(lambda: not view._dirty, timeout=60_000)
    turn = view.view_of("a")
    assert turn is not None
    parts = turn.words.parts
    assert len(parts) > 2
    qtbot.wait(50)  # the layout of the last part
    height = turn.words.height()
    theme().apply(mode="dark")
    assert parts[0].toPlainText() == ""
    qtbot.waitUntil(lambda: not view._dirty and parts[-1].toPlainText() != "", timeout=30_000)
    assert parts[0].stale
    assert abs(turn.words.height() - height) < 100
    view.verticalScrollBar().setValue(0)
    qtbot.waitUntil(lambda: parts[0].toPlainText().startswith("Part 0"), timeout=30_000)
    color = parts[0].document().begin().begin().fragment().charFormat().foreground().color()
    assert color == theme().color("text")


def test_a_long_plain_message_keeps_every_character(light: None, qtbot: QtBot) -> None:
    text = AnswerText("You", markdown=False, part=SMALL)
    qtbot.addWidget(text)
    source = "\n".join(f"line {i}" for i in range(3000)) + "x" * 9000
    text.set_plain(source)
    assert len(text.parts) > 3
    assert text.toPlainText().replace("\n", "") == source.replace("\n", "")
    assert text.raw == source


def test_a_code_block_at_the_start_has_room_for_its_head(light: None, qtbot: QtBot) -> None:
    text = made(qtbot)
    for source in ("Words.\n", "```python\nx = 1\n```\n", "Words.\n"):
        text.set_markdown(source)
        run(text)
        document = text.parts[0].document()
        top = document.documentLayout().blockBoundingRect(document.begin()).top()
        assert top == (theme().px(CODE_HEAD + CODE_PAD) if source[0] == "`" else 0)


def test_a_selection_drawn_past_the_edge_scrolls(light: None, qtbot: QtBot) -> None:
    view = Transcript()
    qtbot.addWidget(view)
    view.resize(700, 400)
    view.show()
    view.set_turns([TurnView(node_id="a", role="assistant", text=document(40))])
    qtbot.waitUntil(lambda: not view._dirty and view.verticalScrollBar().maximum() > 0)
    turn = view.view_of("a")
    assert turn is not None
    cursor = turn.body.textCursor()
    cursor.setPosition(turn.body.document().characterCount() - 1)
    turn.body.setTextCursor(cursor)
    bar = view.verticalScrollBar()
    before = bar.value()
    above = view.viewport().mapToGlobal(view.viewport().rect().topLeft()) - QPoint(0, 30)
    turn.body.selecting.emit(above)
    qtbot.waitUntil(lambda: bar.value() < before - 50)
    turn.body.selecting.emit(None)
    assert len(turn.body.selected_text()) > 20
    assert not view._drag._timer.isActive()


def test_a_new_text_size_leaves_code_out_of_sight_alone(light: None, qtbot: QtBot) -> None:
    view = Transcript()
    qtbot.addWidget(view)
    view.resize(700, 300)
    view.show()
    code = "".join(f"Text {n}.\n\n```python\nx = {n}\n```\n\n" for n in range(1500))
    view.set_turns([TurnView(node_id="a", role="assistant", text=code)])
    qtbot.waitUntil(lambda: not view._dirty, timeout=30_000)
    with qtbot.captureExceptions() as errors:
        theme().apply(mode="dark", scale=1.25)
        view.resize(600, 300)
        theme().apply(mode="light", scale=1.0)
    assert errors == []
    turn = view.view_of("a")
    assert turn is not None
    view.verticalScrollBar().setValue(0)
    copy = lambda: turn.words.parts[0].findChildren(QPushButton)  # noqa: E731
    qtbot.waitUntil(lambda: any(b.isVisible() for b in copy()), timeout=30_000)
