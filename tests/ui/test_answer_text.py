"""Long answers in several documents: nothing is lost, code is copied whole, themes are lazy."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QTextCursor, QTextFormat
from PySide6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot

from ui.answer_text import AnswerText
from ui.markdown_writer import CODE_HEAD, CODE_PAD
from ui.theme import theme
from ui.transcript import Transcript
from ui.views import TurnView

SMALL = 2000
INK = QTextFormat.Property.ForegroundBrush


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
        assert part.body is not None
        assert part.body.stream is not None
        for index in range(len(part.body.stream.regions)):
            part.body.code_clicked.emit(index)
    assert copied[-1] == "last"
    assert len(copied) > 10
    assert set(copied[:-1]) == {code}
    assert text.toPlainText().rstrip().endswith("last")


def test_hits_are_found_in_every_part(light: None, qtbot: QtBot) -> None:
    text = made(qtbot)
    text.set_markdown(document(100))
    run(text)
    hits = text.find_all("Words", True)
    assert len(hits) == 100
    assert text.y_of(hits[0]) < text.y_of(hits[50]) < text.y_of(hits[99])
    text.mark_hits(hits, hits[99])
    bodies = [part.body for part in text.parts if part.body is not None]
    assert len(bodies[-1].extraSelections()) >= 1
    strong = [m for b in bodies for m in b.extraSelections() if m.format.hasProperty(INK)]
    assert len(strong) == 1
    text.mark_hits([])
    assert all(not body.extraSelections() for body in bodies)


@pytest.fixture
def long(light: None, qtbot: QtBot) -> Transcript:
    """A conversation with one long answer, at its end."""
    view = Transcript()
    qtbot.addWidget(view)
    view.resize(700, 500)
    view.show()
    view.set_turns([TurnView(node_id="a", role="assistant", text=document(3000))])
    drawn(view, qtbot)
    return view


def words(view: Transcript) -> AnswerText:
    turn = view.view_of("a")
    assert turn is not None
    return turn.words


def drawn(view: Transcript, qtbot: QtBot) -> None:
    qtbot.waitUntil(lambda: not view._dirty and not view._clock._timer.isActive(), timeout=60_000)


def bodies(text: AnswerText) -> list[int]:
    return [at for at, part in enumerate(text.parts) if part.body is not None]


def on_screen(view: Transcript) -> str:
    """The first word on screen."""
    y = view.verticalScrollBar().value()
    text = words(view)
    y -= text.mapTo(view.widget(), QPoint(0, 0)).y()
    part = next(part for part in text.parts if part.bottom > y)
    assert part.body is not None
    cursor = part.body.cursorForPosition(QPoint(0, max(0, y - part.top)))
    return cursor.block().text()


def test_only_what_is_near_the_reader_is_drawn(long: Transcript, qtbot: QtBot) -> None:
    text, bar = words(long), long.verticalScrollBar()
    last = len(text.parts) - 1
    assert last > 12
    assert 0 < len(bodies(text)) < 6
    assert last in bodies(text)
    assert bar.value() == bar.maximum()
    bar.setValue(bar.maximum() // 2)
    drawn(long, qtbot)
    middle = bodies(text)
    assert last not in middle
    assert 0 not in middle
    bar.setValue(0)
    drawn(long, qtbot)
    assert on_screen(long) == "Part 0"
    assert set(bodies(text)) & set(middle) == set(), "what is far away was given up"
    assert text.toPlainText().count("Words of part") == 3000


def test_what_is_read_stays_where_it_is_while_the_rest_is_drawn(
    long: Transcript, qtbot: QtBot
) -> None:
    wordy = "".join(f"Part {n} {'of many words ' * 40}\n\n" for n in range(300))
    long.set_turns([TurnView(node_id="a", role="assistant", text=wordy)])
    drawn(long, qtbot)
    bar = long.verticalScrollBar()
    bar.setValue(bar.maximum() // 3)
    drawn(long, qtbot)
    heights: list[int] = []
    for _ in range(12):
        bar.setValue(bar.value() - 400)
        text, y = words(long), long.verticalScrollBar().value()
        y -= text.mapTo(long.widget(), QPoint(0, 0)).y()
        part = next(part for part in text.parts if part.bottom > y)
        place = part.top - y
        drawn(long, qtbot)
        now = text.mapTo(long.viewport(), QPoint(0, part.top)).y()
        assert now == place
        heights.append(sum(part.height for part in text.parts))
    assert len(set(heights)) > 1, "estimates became heights meanwhile"


def test_a_theme_change_draws_only_what_is_seen(long: Transcript, qtbot: QtBot) -> None:
    text = words(long)
    height, seen = text.height(), bodies(text)
    theme().apply(mode="dark")
    assert bodies(text) == seen[-1:]
    assert text.height() == height
    drawn(long, qtbot)
    assert abs(text.height() - height) < 100
    body = text.parts[-1].body
    assert body is not None
    color = body.document().begin().begin().fragment().charFormat().foreground().color()
    assert color == theme().color("text")


def test_a_new_width_lays_out_only_what_is_seen(long: Transcript, qtbot: QtBot) -> None:
    text = words(long)
    long.resize(500, 500)
    live = [part for part in text.parts if part.body is not None]
    laid = [part for part in live if part.width == text.width()]
    assert 0 < len(laid) < len(live)
    drawn(long, qtbot)
    near = [part for part in text.parts if part.body is not None and text._is_near(part, 0)]
    for part in near:
        assert part.body is not None
        assert part.body.width() == text.width() == part.width
        assert part.height == part.body.height()


def test_a_find_draws_the_part_it_goes_to(long: Transcript, qtbot: QtBot) -> None:
    assert long.highlight("Part 1500", case=True) == 1
    long.goto(0)
    text = words(long)
    hit = [part.body for part in text.parts if part.body and part.body.extraSelections()]
    assert len(hit) == 1
    y = hit[0].mapTo(long.viewport(), QPoint(0, 0)).y()
    (mark,) = hit[0].extraSelections()
    cursor = QTextCursor(mark.cursor)
    assert 0 < y + hit[0].cursorRect(cursor).top() < long.viewport().height()
    drawn(long, qtbot)
    assert 0 < hit[0].mapTo(long.viewport(), hit[0].cursorRect(cursor).center()).y() < 500


def test_a_selection_goes_over_documents(light: None, qtbot: QtBot) -> None:
    text = made(qtbot)
    text.set_markdown(document(300))
    run(text)
    assert len(text.parts) > 3
    first, third = text.parts[0].body, text.parts[2].body
    assert first is not None
    assert third is not None
    first.select(5, 8)
    place = third.mapToGlobal(third.rect().center())
    first.selecting.emit(place)
    between = text.parts[1].body
    assert between is not None
    assert between.selected_text() == between.toPlainText()
    chosen = text.selected_text()
    shown = text.toPlainText()
    assert chosen == shown[5 : 5 + len(chosen)]
    assert len(chosen) > len(text.parts[0].shown()) + len(text.parts[1].shown())
    assert first.createMimeDataFromSelection().text() == chosen
    first.selecting.emit(first.mapToGlobal(first.rect().center()))
    assert not third.textCursor().hasSelection(), "the pointer came back"
    assert text.selected_text() in shown
    qtbot.keyClick(first, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    assert text.selected_text() == shown
    first.selection_left.emit()
    assert text.selected_text() == ""


def test_a_bubble_is_as_tall_as_its_words(light: None, qtbot: QtBot) -> None:
    view = Transcript()
    qtbot.addWidget(view)
    view.resize(700, 500)
    view.show()
    words = "MMMM WWWW And if a cell is empty?\nüü iiiiiiiiiiiiiiiiii"
    view.set_turns([TurnView(node_id="u", role="user", text=words)])
    for scale in (1.0, 2.0, 0.85):
        theme().apply(scale=scale)
        drawn(view, qtbot)
        turn = view.view_of("u")
        assert turn is not None
        body = turn.words.parts[0].body
        assert body is not None
        assert turn.words.height() == int(body.document().size().height() + 0.99)


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
        body = text.parts[0].body
        assert body is not None
        document = body.document()
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
    turn.body.selecting.emit(above)
    assert view._drag._timer.isActive()
    view.set_turns([])  # another conversation, while the button is still held
    assert not view._drag._timer.isActive()


def test_code_out_of_sight_is_left_alone_by_a_new_text_size(light: None, qtbot: QtBot) -> None:
    view = Transcript()
    qtbot.addWidget(view)
    view.resize(700, 300)
    view.show()
    code = "".join(f"Text {n}.\n\n```python\nx = {n}\n```\n\n" for n in range(1500))
    view.set_turns([TurnView(node_id="a", role="assistant", text=code)])
    drawn(view, qtbot)
    with qtbot.captureExceptions() as errors:
        theme().apply(mode="dark", scale=1.25)
        view.resize(600, 300)
        theme().apply(mode="light", scale=1.0)
    assert errors == []
    view.verticalScrollBar().setValue(0)
    drawn(view, qtbot)
    body = words(view).parts[0].body
    assert body is not None
    copies = [b for b in body.findChildren(QPushButton) if b.isVisible()]
    assert 0 < len(copies) < 20, "only code that is nearly seen has its button"
