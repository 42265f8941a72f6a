"""The input box: keys, input methods, files, what is sent."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QMimeData, Qt, QUrl
from PySide6.QtGui import QInputMethodEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from engine.types import SpecMode
from ui.composer import Composer
from ui.views import ComposerView, SpecChoice


@pytest.fixture
def box(qtbot: QtBot) -> Composer:
    made = Composer()
    qtbot.addWidget(made)
    made.resize(720, 120)
    made.show()
    made.edit.setFocus()
    return made


def sent_by(box: Composer) -> list[str]:
    out: list[str] = []
    box.message_sent.connect(out.append)
    return out


def test_enter_sends_and_shift_enter_breaks_the_line(box: Composer, qtbot: QtBot) -> None:
    sent = sent_by(box)
    qtbot.keyClicks(box.edit, "one")
    qtbot.keyClick(box.edit, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    qtbot.keyClicks(box.edit, "two")
    qtbot.keyClick(box.edit, Qt.Key.Key_Enter, Qt.KeyboardModifier.KeypadModifier)
    assert sent == ["one\ntwo"]
    assert box.text() == "one\ntwo"


def test_swapped_keys(box: Composer, qtbot: QtBot) -> None:
    sent = sent_by(box)
    box.set_enter_sends(False)
    qtbot.keyClicks(box.edit, "a")
    qtbot.keyClick(box.edit, Qt.Key.Key_Return)
    assert sent == []
    assert box.text() == "a\n"
    qtbot.keyClick(box.edit, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert sent == ["a\n"]


def test_enter_while_composing_never_sends(box: Composer, qtbot: QtBot) -> None:
    sent = sent_by(box)
    QApplication.sendEvent(box.edit, QInputMethodEvent("にほ", []))
    qtbot.keyClick(box.edit, Qt.Key.Key_Return)
    assert sent == []
    commit = QInputMethodEvent()
    commit.setCommitString("日本")
    QApplication.sendEvent(box.edit, commit)
    assert sent == []
    qtbot.keyClick(box.edit, Qt.Key.Key_Return)
    assert sent == ["日本"]


def test_busy_keeps_text_focus_and_stops_with_escape(box: Composer, qtbot: QtBot) -> None:
    sent = sent_by(box)
    stops: list[bool] = []
    box.stop_requested.connect(lambda: stops.append(True))
    box.set_view(ComposerView(state="decoding"))
    qtbot.keyClicks(box.edit, "next")
    qtbot.keyClick(box.edit, Qt.Key.Key_Return)
    assert sent == []
    assert box.text() == "next"
    assert box.edit.isEnabled()
    assert box.stop.isVisible()
    assert not box.send.isVisible()
    qtbot.keyClick(box.edit, Qt.Key.Key_Escape)
    qtbot.mouseClick(box.stop, Qt.MouseButton.LeftButton)
    assert stops == [True, True]


def test_empty_text_is_not_sent(box: Composer, qtbot: QtBot) -> None:
    sent = sent_by(box)
    qtbot.keyClicks(box.edit, "  ")
    qtbot.keyClick(box.edit, Qt.Key.Key_Return)
    assert sent == []


def test_pasted_controls_are_shown_as_they_are_sent(box: Composer, qtbot: QtBot) -> None:
    sent = sent_by(box)
    data = QMimeData()
    data.setText("a\x00b\r\nc")
    box.edit.insertFromMimeData(data)
    qtbot.keyClick(box.edit, Qt.Key.Key_Return)
    assert sent == [box.text()]
    assert box.text() == "a\ufffdb\nc"


def test_files_become_a_signal(box: Composer) -> None:
    got: list[list[str]] = []
    box.files_dropped.connect(got.append)
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile("/tmp/a.png")])
    box.edit.insertFromMimeData(data)
    assert got == [["/tmp/a.png"]]
    assert box.text() == ""


def test_speculative_picker_only_with_a_drafter(box: Composer) -> None:
    assert not box.spec.isVisible()
    texts = {SpecMode.ON: "83.1 tok/s here"}
    box.set_view(ComposerView(spec=SpecChoice(available=True, mode=SpecMode.AUTO, texts=texts)))
    assert box.spec.isVisible()
    assert box.spec.text() == "Speculative: Auto ▾"
    chosen: list[str] = []
    box.spec_changed.connect(chosen.append)
    actions = box.spec.menu().actions()
    assert "83.1 tok/s here" in actions[1].text()
    assert "not measured yet" in actions[0].text()
    actions[1].trigger()
    assert chosen == ["on"]


def test_draft_signal_and_growth(box: Composer, qtbot: QtBot) -> None:
    drafts: list[str] = []
    box.draft_changed.connect(drafts.append)
    low = box.edit.height()
    box.set_text("1\n2\n3\n4")
    assert drafts[-1] == "1\n2\n3\n4"
    assert box.edit.height() > low
