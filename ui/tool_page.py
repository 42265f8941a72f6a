"""A scrolling page that is exactly as tall as its wrapped texts need at its width.

Qt asks a page for one size hint whatever its width; with wrapping labels that is too tall in a
wide window and too short in a narrow one.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QScrollArea, QSizePolicy, QVBoxLayout, QWidget


class TallPage(QWidget):
    """Lays out `body` from top to bottom; its minimum height follows its width."""

    def __init__(self) -> None:
        super().__init__()
        self.body = QVBoxLayout(self)
        policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def minimumSizeHint(self) -> QSize:
        return QSize(self.body.minimumSize().width(), self._needed())

    def sizeHint(self) -> QSize:
        return QSize(self.body.sizeHint().width(), self._needed())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self.updateGeometry()

    def event(self, event: QEvent) -> bool:
        done = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest:
            self.updateGeometry()
        return done

    def _needed(self) -> int:
        if self.body.hasHeightForWidth():
            return self.body.totalHeightForWidth(max(self.width(), 60))
        return self.body.totalMinimumSize().height()


class SnugPage(TallPage):
    """A page that fills its view and scrolls only when even its smallest form does not fit."""

    def _needed(self) -> int:
        if self.body.hasHeightForWidth():
            return self.body.totalMinimumHeightForWidth(max(self.width(), 60))
        return self.body.totalMinimumSize().height()


class PageArea(QScrollArea):
    """Scrolls a `TallPage` up and down only."""

    def __init__(self) -> None:
        super().__init__()
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # it follows the control that has the focus
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
