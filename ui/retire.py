"""Widgets on their way out: Python keeps its side of them until Qt has deleted them.

PySide6 6.11 lets the wrappers of a widget's children go at the start of its destructor, before
Qt deletes the children themselves; a child layout then looked up a wrapper that was gone and
the process died (two soaks of 7 and 23 minutes, each in the deletion of a dialog). With every
wrapper held until after the destruction there is nothing to be gone. Main thread only.
"""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QObject, Qt, QTimer
from PySide6.QtWidgets import QDialog, QWidget

_leaving: dict[int, list[QObject]] = {}


def retire(widget: QWidget) -> None:
    """`deleteLater` for a widget with widgets or layouts in it."""
    _hold(widget)
    widget.deleteLater()


def retire_when_finished(dialog: QDialog) -> None:
    """For a dialog that is deleted when it closes."""
    dialog.finished.connect(partial(_on_finished, dialog))


def leaving() -> int:
    """How many widgets are held; tests see to it that none stays."""
    return len(_leaving)


def _on_finished(dialog: QDialog, _result: int) -> None:
    if dialog.testAttribute(Qt.WidgetAttribute.WA_DeleteOnClose):
        _hold(dialog)


def _hold(widget: QWidget) -> None:
    key = id(widget)
    if key not in _leaving:
        _leaving[key] = [widget, *widget.findChildren(QObject)]
        widget.destroyed.connect(partial(_on_destroyed, key))


def _on_destroyed(key: int, _widget: QObject | None = None) -> None:
    QTimer.singleShot(0, partial(_leaving.pop, key, None))
