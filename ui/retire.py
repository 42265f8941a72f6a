"""Widgets on their way out: Python keeps its side of them until Qt has deleted them.

PySide6 6.11.3 now and then dies when Qt deletes a widget: the destructor of a child (a layout, a
timer) releases a wrapper that is gone already (soaks of 7 to 23 minutes, traces in their deletion
of dialogs and pages). Holding every wrapper until after the destruction takes one way to that
away, not the cause, which is not found yet. Main thread only.
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
