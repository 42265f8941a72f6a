"""The way of the Tab key where widgets are not made in the order in which they are seen.

Qt goes in the order of making; turns, texts and their buttons are made as the reader comes
near. Main thread only. `QWidget.nextInFocusChain` is never asked: PySide6 6.11 takes what it
returns for a child, whose wrapper dies with the widget that was asked.
"""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QWidget


def order_stops(page: QWidget, before: QWidget) -> None:
    """Lets Tab go through `page` from top to bottom, beginning right after `before`; a text
    comes before its buttons."""
    found = []
    for child in page.findChildren(QWidget):
        if child.focusPolicy() & Qt.FocusPolicy.TabFocus and child.isVisibleTo(page):
            place = child.mapTo(page, QPoint(0, 0))
            found.append((place.y(), -child.height(), place.x(), child))
    found.sort(key=lambda stop: stop[:3])
    for *_, child in found:
        QWidget.setTabOrder(before, child)
        before = child
