"""A scrolling page that is exactly as tall as its wrapped texts need at its width.

Qt asks a page for one size hint whatever its width; with wrapping labels that is too tall in a
wide window and too short in a narrow one.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QLayout,
    QLayoutItem,
    QScrollArea,
    QSizePolicy,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
    QWidgetItem,
)

DIRECT = Qt.FindChildOption.FindDirectChildrenOnly


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

    def heightForWidth(self, width: int) -> int:
        """The scroll area makes the page at least this tall."""
        margins = self.body.contentsMargins()
        wide = max(width, 60) - margins.left() - margins.right()
        shown = [tall for item in self._parts() if (tall := _least(item, wide))]
        gaps = self.body.spacing() * max(0, len(shown) - 1)
        return sum(shown) + gaps + margins.top() + margins.bottom()

    def _parts(self) -> list[QLayoutItem]:
        """What `body` holds, in items of our own: `QLayout.itemAt` is not safe (see `layouts`)."""
        widgets = self.findChildren(QWidget, options=DIRECT)
        inside = [QWidgetItem(w) for w in widgets if self.body.indexOf(w) >= 0]
        return [*inside, *self.body.findChildren(QLayout, options=DIRECT)]

    def _needed(self) -> int:
        return self.heightForWidth(self.width())


def _least(item: QLayoutItem, wide: int) -> int:
    """The smallest height of a part. Of a stack only the page in front counts, and that at its
    smallest: Qt asks for all its pages at their best."""
    if item.isEmpty():
        return 0
    widget = item.widget()
    if isinstance(widget, QStackedWidget):
        page = widget.currentWidget()
        layout = page.layout() if page is not None else None
        if layout is None:
            return page.minimumSizeHint().height() if page is not None else 0
        if layout.hasHeightForWidth():
            return layout.totalMinimumHeightForWidth(wide)
        return layout.totalMinimumSize().height()
    if item.hasHeightForWidth():
        return item.minimumHeightForWidth(wide)
    return item.minimumSize().height()


class PageArea(QScrollArea):
    """Scrolls a `TallPage` up and down only."""

    def __init__(self) -> None:
        super().__init__()
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # it follows the control that has the focus
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
