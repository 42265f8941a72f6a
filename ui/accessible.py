"""What our own widgets are for a screen reader: a turn is an item of a list, not a frame.

Qt gives every plain widget the role of a frame. `install` is called once, before the first
window; Qt then asks for each widget that assistive technology looks at, never otherwise.
Main thread only.
"""

from __future__ import annotations

from PySide6.QtCore import QObject
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import QAccessibleWidget, QWidget

_Role = QAccessible.Role

ROLES = {
    "PySide6.QtWidgets.QScrollArea": _Role.Grouping,
    "ui.transcript.Transcript": _Role.List,
    "ui.message_view.MessageView": _Role.ListItem,
    "ui.tool_log.ToolLog": _Role.List,
    "ui.tool_log.LogEntry": _Role.ListItem,
    "ui.tool_log.ConsentCard": _Role.AlertMessage,
    "ui.notice_bar._Words": _Role.Grouping,
    "ui.notice_bar.NoticeBar": _Role.AlertMessage,
    "ui.model_picker.ModelCard": _Role.Button,
    "ui.model_card.ModelCard": _Role.ListItem,
    "ui.controls.ChoiceRow": _Role.Grouping,
    "ui.gauge.Gauge": _Role.StaticText,
    "ui.gauge.ContextBar": _Role.ProgressBar,
    "ui.turn_parts.Footer": _Role.Grouping,
    "ui.turn_parts.VersionSwitch": _Role.Grouping,
    "ui.tool_list.ToolRow": _Role.Grouping,
    "ui.bench_plot.Plot": _Role.Chart,
    "ui.composer.Composer": _Role.Grouping,
    "ui.status_header.StatusHeader": _Role.Grouping,
}
"""By module and class; what is not named here keeps Qt's own role."""

_installed = False


def install() -> None:
    """Makes Qt ask here first. Idempotent."""
    global _installed
    if not _installed:
        _installed = True
        QAccessible.installFactory(_make)


def _make(_class_name: str, target: QObject) -> QAccessibleWidget | None:
    if not isinstance(target, QWidget):
        return None
    kind = type(target)
    role = ROLES.get(f"{kind.__module__}.{kind.__qualname__}")
    return None if role is None else QAccessibleWidget(target, role)
