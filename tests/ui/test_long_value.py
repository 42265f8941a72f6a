"""Paths and hashes are shown whole in any width and copied as they are."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from ui.long_value import LongValue, has_long_word

PATH = "/home/someone/models/" + "a-name-without-blanks-" * 8 + ".litertlm"


def test_it_breaks_anywhere_and_is_as_tall_as_its_lines(qtbot: QtBot) -> None:
    page = QWidget()
    value = LongValue(PATH)
    QVBoxLayout(page).addWidget(value)
    qtbot.addWidget(page)
    page.resize(900, 300)
    page.show()
    qtbot.waitExposed(page)
    wide = value.height()
    page.resize(260, 600)
    qtbot.waitUntil(lambda: value.height() > 2 * wide)
    assert value.width() <= 260
    document = value.document()
    assert document.size().height() * value.fontMetrics().lineSpacing() <= value.height()
    lines = document.firstBlock().layout()
    widths = [lines.lineAt(n).naturalTextWidth() for n in range(lines.lineCount())]
    assert max(widths) <= value.viewport().width()
    page.resize(900, 300)
    qtbot.waitUntil(lambda: value.height() == wide)


def test_it_is_copied_without_breaks(qtbot: QtBot) -> None:
    value = LongValue(PATH)
    qtbot.addWidget(value)
    value.resize(120, 20)
    value.show()
    value.setFocus()
    qtbot.keyClick(value, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    qtbot.keyClick(value, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == PATH
    assert has_long_word(PATH)
    assert not has_long_word("12 March 2025, 14:02")
