"""How large a dialog opens: as wide as its words want, never larger than the screen."""

from __future__ import annotations

from PySide6.QtCore import QSize
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from ui.theme import theme

FRAME = QSize(16, 44)
"""Kept free for the frame and the title of a window."""


def room(dialog: QWidget) -> QSize:
    """The most a dialog can take on its screen."""
    screen = dialog.screen() or QGuiApplication.primaryScreen()
    return screen.availableGeometry().size() - FRAME


def open_at(dialog: QWidget, width: int, height: int = 0, least: tuple[int, int] = (0, 0)) -> None:
    """Sizes in px before scaling. Without `height` the dialog is as tall as its layout wants;
    `least` are the smallest width and height a person can drag it to."""
    most = room(dialog)
    wide = min(theme().px(width), most.width())
    layout = dialog.layout()
    if height:
        tall = theme().px(height)
    elif layout is not None and layout.hasHeightForWidth():
        tall = layout.heightForWidth(wide)
    else:
        tall = dialog.sizeHint().height()
    if least[0]:
        dialog.setMinimumWidth(min(theme().px(least[0]), most.width()))
    if least[1]:
        dialog.setMinimumHeight(min(theme().px(least[1]), most.height()))
    dialog.resize(wide, min(tall, most.height()))
