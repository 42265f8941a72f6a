"""The transcript: following, windowing, selecting, links, finding, actions of turns."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import QPoint, Qt, QUrl
from PySide6.QtGui import QGuiApplication, QTextCursor
from PySide6.QtWidgets import QApplication, QLabel, QPlainTextEdit
from pytestqt.qtbot import QtBot

from ui import strings
from ui.conversation_page import ConversationPage
from ui.dialogs import AskDialog
from ui.theme import theme
from ui.transcript import WINDOW, Transcript
from ui.views import FooterView, TurnView

LONG = "".join(f"Paragraph {n} with some words in it.\n\n" for n in range(60))


@pytest.fixture
def page(qtbot: QtBot) -> ConversationPage:
    theme().apply(mode="light", scale=1.0)
    made = ConversationPage("k")
    qtbot.addWidget(made)
    made.resize(900, 600)
    made.show()
    return made


def user(node_id: str, text: str = "hello") -> TurnView:
    return TurnView(node_id=node_id, role="user", text=text)


def answer(node_id: str, text: str = "**hi**", status: str = "done") -> TurnView:
    return TurnView(node_id=node_id, role="assistant", text=text, status=status)


def idle(qtbot: QtBot, words: Transcript) -> None:
    qtbot.waitUntil(lambda: not words._dirty, timeout=20_000)
    for _ in range(6):  # a busy machine may turn the loop only once per wait
        qtbot.wait(10)


def at_end(words: Transcript) -> bool:
    bar = words.verticalScrollBar()
    return bar.value() >= bar.maximum() - 12


def test_streams_and_follows_the_end(page: ConversationPage, qtbot: QtBot) -> None:
    page.set_turns([user("u")])
    page.append_turn(answer("a", "", "streaming"))
    for n in range(60):
        page.stream("a", f"Paragraph {n} with some words in it.\n\n")
        qtbot.wait(1)
    idle(qtbot, page.transcript)
    view = page.transcript.view_of("a")
    assert view is not None
    assert "Paragraph 59" in view.plain_text()
    assert page.transcript.verticalScrollBar().maximum() > 0
    assert at_end(page.transcript)
    assert page.turns()[-1].text.count("Paragraph") == 60


def test_reader_who_scrolled_up_stays_put(page: ConversationPage, qtbot: QtBot) -> None:
    page.set_turns([user("u"), answer("b", LONG), answer("a", "", "streaming")])
    idle(qtbot, page.transcript)
    bar = page.transcript.verticalScrollBar()
    bar.setValue(100)
    idle(qtbot, page.transcript)  # what is above gets its true height, and the text stays
    place = bar.value()
    assert abs(place - 100) < 20
    for n in range(30):
        page.stream("a", f"line {n}\n\n")
        qtbot.wait(1)
    idle(qtbot, page.transcript)
    assert bar.value() == place
    assert page.transcript._jump.isVisible()
    page.transcript._jump.click()
    qtbot.waitUntil(lambda: at_end(page.transcript), timeout=30_000)
    qtbot.waitUntil(lambda: not page.transcript._jump.isVisible(), timeout=30_000)


def test_selection_survives_streaming(page: ConversationPage, qtbot: QtBot) -> None:
    page.set_turns([user("u"), answer("a", "", "streaming")])
    page.stream("a", "first words here\n\nsecond")
    idle(qtbot, page.transcript)
    view = page.transcript.view_of("a")
    assert view is not None
    cursor = view.body.textCursor()
    cursor.setPosition(0)
    cursor.setPosition(len("first words"), QTextCursor.MoveMode.KeepAnchor)
    view.body.setTextCursor(cursor)
    for _ in range(20):
        page.stream("a", " more and more")
        qtbot.wait(2)
    idle(qtbot, page.transcript)
    assert view.body.selected_text() == "first words"


def test_final_text_wins_and_footer_is_shown(page: ConversationPage, qtbot: QtBot) -> None:
    page.set_turns([user("u"), answer("a", "", "streaming")])
    page.stream("a", "half")
    footer = FooterView(
        decode_tps=51.84, speculative=False, backend="CPU", stop_reason="stopped by you"
    )
    final = TurnView(
        node_id="a", role="assistant", text="half of it", status="stopped", footer=footer
    )
    page.update_turn(final)
    idle(qtbot, page.transcript)
    view = page.transcript.view_of("a")
    assert view is not None
    assert view.plain_text() == "half of it"
    assert view.footer is not None
    assert view.footer.isVisible()
    assert view.footer.accessibleName() == "51.8 tok/s decode · spec off · CPU · stopped by you"
    assert view._error is not None
    assert view._error.text() == "Stopped by you"


def test_the_cut_stands_above_the_first_turn_that_is_sent(
    page: ConversationPage, qtbot: QtBot
) -> None:
    turns = [user("u"), answer("a"), user("v"), answer("b")]
    page.set_turns(turns)
    idle(qtbot, page.transcript)

    def marked() -> list[str]:
        views = {t.node_id: page.transcript.view_of(t.node_id) for t in turns}
        return [
            key
            for key, view in views.items()
            if view is not None
            and any(x.text() == strings.DROPPED_TURNS for x in view.findChildren(QLabel))
        ]

    assert marked() == []
    page.set_turns([replace(t, dropped=t.node_id in "ua") for t in turns])
    idle(qtbot, page.transcript)
    assert marked() == ["v"]
    page.set_turns(turns)
    idle(qtbot, page.transcript)
    assert marked() == []


def test_thousand_turns_are_windowed(page: ConversationPage, qtbot: QtBot) -> None:
    turns = [user(f"n{i}", f"q{i}") if i % 2 == 0 else answer(f"n{i}") for i in range(1000)]
    page.set_turns(turns)
    idle(qtbot, page.transcript)
    assert page.transcript.view_of("n999") is not None
    assert page.transcript.view_of("n0") is None
    assert len(page.transcript.message_views()) <= WINDOW + 40
    assert at_end(page.transcript)
    assert len(page.turns()) == 1000
    bar = page.transcript.verticalScrollBar()

    def up() -> bool:
        bar.setValue(0)
        return page.transcript.view_of("n860") is not None

    qtbot.waitUntil(up, timeout=60_000)
    assert len(page.transcript.message_views()) <= WINDOW + 40, "what is left behind goes"
    assert page.transcript.view_of("n999") is None


def test_find_reaches_turns_outside_the_window(page: ConversationPage, qtbot: QtBot) -> None:
    turns = [user(f"n{i}", "needle here" if i in (3, 997) else f"q{i}") for i in range(1000)]
    page.set_turns(turns)
    idle(qtbot, page.transcript)
    assert page.highlight("NEEDLE") == 2
    assert page.highlight("NEEDLE", case=True) == 0
    assert page.highlight("needle") == 2
    page.goto(0)
    view = page.transcript.view_of("n3")
    assert view is not None
    assert len(view.body.extraSelections()) == 1
    assert page.highlight("") == 0
    assert view.body.extraSelections() == []


def test_nothing_is_loaded_and_links_are_asked_for(page: ConversationPage, qtbot: QtBot) -> None:
    page.set_turns([answer("a", "![x](http://127.0.0.1:9/p) [ok](https://example.org)")])
    idle(qtbot, page.transcript)
    view = page.transcript.view_of("a")
    assert view is not None
    assert view.body.loadResource(2, QUrl("file:///etc/hostname")).data().strip() == b""
    before = view.plain_text()
    opened: list[str] = []
    page.link_activated.connect(opened.append)
    view.body.anchorClicked.emit(QUrl("https://example.org"))
    dialog = page.window().findChild(AskDialog)
    assert dialog is not None
    assert opened == []
    dialog.buttons["open"].click()
    assert opened == ["https://example.org"]
    assert view.plain_text() == before


@pytest.mark.parametrize("target", ["javascript:alert(1)", "file:///etc/passwd", "x.html", "//h/s"])
def test_other_links_are_refused(page: ConversationPage, target: str) -> None:
    opened: list[str] = []
    page.link_activated.connect(opened.append)
    page._on_link_clicked(target)
    dialog = page.window().findChild(AskDialog)
    assert dialog is not None
    assert "open" not in dialog.buttons
    dialog.reject()
    assert opened == []


def test_edit_quote_copy_and_versions(page: ConversationPage, qtbot: QtBot) -> None:
    versioned = TurnView(
        node_id="a", role="assistant", text="raw **md**", version_index=1, version_count=3
    )
    page.set_turns([user("u", "old text"), versioned])
    idle(qtbot, page.transcript)
    edits: list[tuple[str, str]] = []
    steps: list[tuple[str, int]] = []
    page.edit_submitted.connect(lambda i, t: edits.append((i, t)))
    page.version_selected.connect(lambda i, s: steps.append((i, s)))
    mine, theirs = page.transcript.view_of("u"), page.transcript.view_of("a")
    assert mine is not None
    assert theirs is not None
    page.edit_last()
    field = mine.findChild(QPlainTextEdit)
    assert field is not None
    field.setPlainText("new text")
    assert mine._editor is not None
    mine._editor.send.click()
    assert edits == [("u", "new text")]
    assert theirs._versions.count.text() == "2/3"
    theirs._versions.earlier.click()
    theirs._versions.later.click()
    assert steps == [("a", -1), ("a", 1)]
    theirs.copy_text()
    assert QGuiApplication.clipboard().text() == "raw **md**"
    theirs.quoted.emit("a", "one\ntwo")
    assert page.draft() == "> one\n> two\n\n"


def test_theme_change_repaints_old_messages(page: ConversationPage, qtbot: QtBot) -> None:
    page.set_turns([answer("a", "text\n\n```python\nimport x\n```\n")])
    idle(qtbot, page.transcript)
    theme().apply(mode="dark")
    idle(qtbot, page.transcript)
    view = page.transcript.view_of("a")
    assert view is not None
    color = view.body.document().begin().begin().fragment().charFormat().foreground().color()
    assert color == theme().color("text")
    theme().apply(mode="light")


def test_thoughts_are_apart_and_never_copied(page: ConversationPage, qtbot: QtBot) -> None:
    page.set_turns([user("u"), answer("a", "", "streaming")])
    page.stream("a", "", "let me see")
    idle(qtbot, page.transcript)
    view = page.transcript.view_of("a")
    assert view is not None
    assert view._thought is not None
    assert view._thought.is_open()
    page.stream("a", "answer")
    idle(qtbot, page.transcript)
    assert not view._thought.is_open()
    view.copy_text()
    assert QGuiApplication.clipboard().text() == "answer"
    assert page.turns()[-1].thought == "let me see"


def test_what_is_waited_for_between_two_sends(page: ConversationPage, qtbot: QtBot) -> None:
    asked = TurnView(node_id="a", role="assistant", status="streaming", waiting="deciding")
    page.set_turns([user("u"), asked])
    idle(qtbot, page.transcript)
    view = page.transcript.view_of("a")
    assert view is not None
    assert view._waiting is not None
    assert view._waiting.text() == "Waiting for your decision"
    assert view._waiting.isVisible()
    page.stream("a", "Text")
    assert not view._waiting.isVisible()
    page.update_turn(replace(asked, text="Text"))
    assert view._waiting.isVisible()
    assert view.words.isVisible()
    page.update_turn(replace(asked, text="Text", waiting=""))
    assert not view._waiting.isVisible()


def test_tab_goes_in_the_order_of_what_is_seen(page: ConversationPage, qtbot: QtBot) -> None:
    page.set_turns([user(f"n{i}") if i % 2 == 0 else answer(f"n{i}", LONG) for i in range(30)])
    words = page.transcript
    qtbot.waitUntil(lambda: len(words.message_views()) == 30, timeout=30_000)
    idle(qtbot, words)
    page.activateWindow()
    view = words.view_of("n20")
    assert view is not None
    words.verticalScrollBar().setValue(view.y() - 100)
    idle(qtbot, words)
    view.body.setFocus()
    qtbot.waitUntil(view.body.hasFocus)
    tops: list[int] = []
    for _ in range(30):
        now = QApplication.focusWidget()
        assert now is not None
        if not words.isAncestorOf(now):
            break
        tops.append(now.mapTo(words.widget(), QPoint(0, 0)).y())
        y = now.mapTo(words.viewport(), QPoint(0, 0)).y()
        assert -now.height() < y < words.viewport().height(), "what has the focus is seen"
        qtbot.keyClick(now, Qt.Key.Key_Tab)
    assert len(tops) > 12
    assert tops == sorted(tops)
