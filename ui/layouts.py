"""Two layouts Qt lacks: a centred reading column and a row that flows onto more lines.

`itemAt` of Qt's own layouts is never called in this program: PySide6 (6.10.3 and 6.11.3) keeps the
item it returns as a child of the layout, does not learn when Qt deletes that item together with its
widget, and dies when it later deletes some other object that got the item's address. Items made in
Python, as here, tell when they are deleted.
"""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtWidgets import QHBoxLayout, QLayout, QLayoutItem, QSizePolicy, QWidget, QWidgetItem

from ui.theme import COLUMN


class FlowLayout(QLayout):
    """Places items left to right and starts a new line when the width is used up.

    `push_from` >= 0 moves the items from that index on to the right edge of their line.
    """

    def __init__(self, parent: QWidget | None = None, gap: int = 8, line_gap: int = 4) -> None:
        super().__init__(parent)
        self._items: list[QLayoutItem] = []
        self._gap = gap
        self._line_gap = line_gap
        self._heights: dict[int, int] = {}
        self._placed: QRect | None = None
        self.push_from = -1
        self.setContentsMargins(0, 0, 0, 0)

    def addWidget(self, widget: QWidget) -> None:
        self.addChildWidget(widget)
        self.addItem(QWidgetItem(widget))

    def widgets(self) -> list[QWidget]:
        """What it holds, in order."""
        return [w for item in self._items if (w := item.widget()) is not None]

    def addItem(self, item: QLayoutItem) -> None:
        self._items.append(item)
        self.invalidate()

    def insert_widget(self, index: int, widget: QWidget) -> None:
        """Adds `widget` before the item at `index`; what is pushed right stays so."""
        self.addWidget(widget)
        self._items.insert(index, self._items.pop())
        if 0 <= index <= self.push_from:
            self.push_from += 1
        self.invalidate()

    def count(self) -> int:
        return len(self._items)

    def itemAt(self, index: int) -> QLayoutItem | None:
        return self._items[index] if 0 <= index < len(self._items) else None

    def takeAt(self, index: int) -> QLayoutItem | None:
        self.invalidate()
        return self._items.pop(index) if 0 <= index < len(self._items) else None

    def expandingDirections(self) -> Qt.Orientation:
        return Qt.Orientation(0)

    def hasHeightForWidth(self) -> bool:
        return True

    def invalidate(self) -> None:
        self._heights.clear()
        self._placed = None
        super().invalidate()

    def heightForWidth(self, width: int) -> int:
        """Kept until something changes: the layouts around ask again and again."""
        height = self._heights.get(width)
        if height is None:
            height = self._heights[width] = self._arrange(QRect(0, 0, width, 0), test=True)
        return height

    def sizeHint(self) -> QSize:
        shown = [i.sizeHint() for i in self._items if not i.isEmpty()]
        width = sum(s.width() for s in shown) + self._gap * max(0, len(shown) - 1)
        return QSize(width, max((s.height() for s in shown), default=0))

    def minimumSize(self) -> QSize:
        shown = [i.minimumSize() for i in self._items if not i.isEmpty()]
        return QSize(
            max((s.width() for s in shown), default=0), max((s.height() for s in shown), default=0)
        )

    def setGeometry(self, rect: QRect) -> None:
        """Places the items, unless they stand there already: the layouts around place it
        forty times a message."""
        super().setGeometry(rect)
        if rect != self._placed:
            self._placed = QRect(rect)
            self._arrange(rect, test=False)

    def _lines(self, width: int) -> list[list[tuple[int, QLayoutItem]]]:
        lines: list[list[tuple[int, QLayoutItem]]] = [[]]
        used = 0
        for index, item in enumerate(self._items):
            if item.isEmpty():
                continue
            need = item.sizeHint().width()
            if lines[-1] and used + need > width:
                lines.append([])
                used = 0
            lines[-1].append((index, item))
            used += need + self._gap
        return lines

    def _arrange(self, rect: QRect, test: bool) -> int:
        y = rect.y()
        for line in self._lines(rect.width()):
            height = max((i.sizeHint().height() for _, i in line), default=0)
            if not test:
                self._place(line, rect, y, height)
            y += height + (self._line_gap if line else 0)
        return max(0, y - rect.y() - self._line_gap)

    def _place(self, line: list[tuple[int, QLayoutItem]], rect: QRect, y: int, height: int) -> None:
        right = [i for n, i in line if 0 <= self.push_from <= n]
        tail = sum(i.sizeHint().width() + self._gap for i in right) - (self._gap if right else 0)
        x = rect.x()
        pushed = False
        for index, item in line:
            if 0 <= self.push_from <= index and not pushed:
                pushed = True
                x = max(x, rect.right() + 1 - tail)
            size = item.sizeHint()
            width = min(size.width(), rect.width())
            top = y + (height - size.height()) // 2
            item.setGeometry(QRect(QPoint(x, top), QSize(width, size.height())))
            x += width + self._gap


class Column(QWidget):
    """Holds one widget in a centred column at most `width` px wide, with side margins."""

    def __init__(self, content: QWidget, width: int = COLUMN, margin: int = 16) -> None:
        super().__init__()
        self._content = content
        self._width = width
        self._margin = margin
        content.setParent(self)
        self.setSizePolicy(content.sizePolicy().horizontalPolicy(), QSizePolicy.Policy.Preferred)
        row = QHBoxLayout(self)
        row.setContentsMargins(margin, 0, margin, 0)
        row.addStretch(1)
        content.setMaximumWidth(width)
        row.addWidget(content, 1000)
        row.addStretch(1)
