"""Scrolls while a selection is drawn past the edge of what is seen. Main thread only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from PySide6.QtCore import QObject, QPoint, QTimer
from PySide6.QtWidgets import QScrollArea

STEP_MS = 30
FASTEST = 60
"""Pixels of one step at most; the further the pointer is outside, the larger the step."""


class Selection(Protocol):
    """What is being selected."""

    def select_to(self, place: QPoint) -> None:
        """Moves its loose end to a global place."""


class DragScroller(QObject):
    """`follow(text, place)` on every move of the pointer; place None ends it."""

    def __init__(self, area: QScrollArea) -> None:
        super().__init__(area)
        self._area = area
        self._text: Selection | None = None
        self._place = QPoint()
        self._timer = QTimer(self)
        self._timer.setInterval(STEP_MS)
        self._timer.timeout.connect(self._on_step)

    def follow(self, text: Selection, place: QPoint | None) -> None:
        self._text = text if place is not None else None
        if place is None or not self._outside(place):
            self._timer.stop()
            return
        self._place = place
        if not self._timer.isActive():
            self._timer.start()

    def forget(self, texts: Sequence[Selection]) -> None:
        """Ends when what is selected in goes away."""
        if any(text is self._text for text in texts):
            self._text = None
            self._timer.stop()

    def _outside(self, place: QPoint) -> int:
        """Pixels above (negative) or below the area; 0 inside."""
        y = self._area.viewport().mapFromGlobal(place).y()
        return min(0, y) or max(0, y - self._area.viewport().height())

    def _on_step(self) -> None:
        past = self._outside(self._place)
        if self._text is None or not past:
            self._timer.stop()
            return
        bar = self._area.verticalScrollBar()
        bar.setValue(bar.value() + max(-FASTEST, min(FASTEST, past)))
        self._text.select_to(self._place)
