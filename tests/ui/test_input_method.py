"""While an input method composes, Enter sends nothing and Escape stops nothing, in any field."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt, SignalInstance
from PySide6.QtGui import QInputMethodEvent
from PySide6.QtWidgets import QApplication, QLineEdit, QPlainTextEdit, QWidget
from pytestqt.qtbot import QtBot

from ui.add_model_dialog import AddModelDialog
from ui.command_palette import Command, CommandPalette
from ui.composer import Composer
from ui.conversation_page import ConversationPage
from ui.find_bar import FindBar
from ui.tool_ask import AskPage
from ui.tool_structured import StructuredPage
from ui.turn_editor import TurnEditor
from ui.views import ComposerView

KEYS = [
    (Qt.Key.Key_Return, Qt.KeyboardModifier.NoModifier),
    (Qt.Key.Key_Enter, Qt.KeyboardModifier.KeypadModifier),
    (Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier),
    (Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier),
    (Qt.Key.Key_Escape, Qt.KeyboardModifier.NoModifier),
    (Qt.Key.Key_Up, Qt.KeyboardModifier.NoModifier),
]

Made = tuple[QWidget, QWidget, list[SignalInstance]]


def composer() -> Made:
    made = Composer()
    made.set_view(ComposerView(can_send=True))
    edit = made.edit
    return made, edit, [made.message_sent, edit.submitted, edit.escaped, edit.edit_last_requested]


def page_that_answers() -> Made:
    page = ConversationPage("k")
    page.composer.set_view(ComposerView(state="decoding"))
    return page, page.composer.edit, [page.stop_requested, page.composer.stop_requested]


def editor() -> Made:
    made = TurnEditor("an earlier message")
    return made, made.field, [made.submitted, made.cancelled]


def ask() -> Made:
    made = AskPage()
    return made, made.input, [made.asked, made.input.returnPressed]


def structured() -> Made:
    made = StructuredPage()
    return made, made.input, [made.sent, made.input.returnPressed]


def find() -> Made:
    made = FindBar()
    return made, made.field, [made.next_requested, made.previous_requested, made.closed]


def palette() -> Made:
    made = CommandPalette(None, [Command("a", "日本", lambda: None)])
    return made, made.field, [made.chosen, made.finished]


def add_model() -> Made:
    made = AddModelDialog(None)
    return made, made.field, [made.field.returnPressed, made.finished]


@pytest.mark.parametrize(
    "make", [composer, page_that_answers, editor, ask, structured, find, palette, add_model]
)
def test_the_keys_are_the_input_methods(qtbot: QtBot, make: Callable[[], Made]) -> None:
    made, field, signals = make()
    qtbot.addWidget(made)
    made.show()
    heard: list[str] = []
    for signal in signals:
        signal.connect(lambda *_: heard.append("a signal"))
    field.setFocus()
    assert isinstance(field, QLineEdit | QPlainTextEdit)
    before = field.text() if isinstance(field, QLineEdit) else field.toPlainText()
    QApplication.sendEvent(field, QInputMethodEvent("にほ", []))
    for key, modifiers in KEYS:
        qtbot.keyClick(field, key, modifiers)
    assert heard == []
    assert made.isVisible()
    done = QInputMethodEvent("", [])
    done.setCommitString("日本")
    QApplication.sendEvent(field, done)
    after = field.text() if isinstance(field, QLineEdit) else field.toPlainText()
    assert sorted(after) == sorted(before + "日本"), "what was composed is there once"
    assert heard == []
    qtbot.keyClick(field, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert heard or isinstance(made, ConversationPage), "afterwards Enter is Enter"


def test_send_takes_what_is_committed_and_nothing_half(qtbot: QtBot) -> None:
    """There is no input method here that could commit when it is told to."""
    made = Composer()
    made.set_view(ComposerView(can_send=True))
    qtbot.addWidget(made)
    made.show()
    sent: list[str] = []
    made.message_sent.connect(sent.append)
    made.edit.setFocus()
    QApplication.sendEvent(made.edit, QInputMethodEvent("にほ", []))
    qtbot.mouseClick(made.send, Qt.MouseButton.LeftButton)
    assert sent == []
    made.edit.setFocus()
    made.edit.setPlainText("日本")
    QApplication.sendEvent(made.edit, QInputMethodEvent("ご", []))
    qtbot.mouseClick(made.send, Qt.MouseButton.LeftButton)
    assert sent == ["日本"]
