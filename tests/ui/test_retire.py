"""Closed dialogs and dropped pages: Python's side outlives Qt's, and then goes."""

from __future__ import annotations

import gc
import weakref

from PySide6.QtCore import QObject, Qt
from PySide6.QtWidgets import QDialog, QHBoxLayout, QLabel, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from ui.retire import leaving, retire, retire_when_finished


def fill(widget: QWidget) -> weakref.ref[QObject]:
    """A layout in a layout, as the settings rows have; a reference to the inner one."""
    outer = QVBoxLayout(widget)
    inner = QHBoxLayout()
    outer.addLayout(inner)
    inner.addWidget(QLabel("words"))
    return weakref.ref(inner)


def test_a_retired_widget_is_held_until_qt_deleted_it(qtbot: QtBot) -> None:
    widget = QWidget()
    inner = fill(widget)
    gone: list[bool] = []
    widget.destroyed.connect(lambda: gone.append(inner() is not None))
    retire(widget)
    del widget
    gc.collect()
    assert leaving() == 1
    qtbot.waitUntil(lambda: leaving() == 0)
    assert gone == [True], "the inner layout's wrapper was there while Qt deleted"
    gc.collect()
    assert inner() is None


def test_a_dialog_that_deletes_itself_is_held_when_it_closes(qtbot: QtBot) -> None:
    dialog = QDialog()
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    fill(dialog)
    retire_when_finished(dialog)
    dialog.show()
    assert leaving() == 0
    dialog.close()
    assert leaving() == 1
    del dialog
    qtbot.waitUntil(lambda: leaving() == 0)


def test_a_dialog_that_stays_is_not_held(qtbot: QtBot) -> None:
    dialog = QDialog()
    qtbot.addWidget(dialog)
    retire_when_finished(dialog)
    dialog.show()
    dialog.close()
    assert leaving() == 0
