"""A scroll area that follows its end while the reader is there, and stays put otherwise.

Any scroll by the person away from the end ends following; reaching the end, or `Jump to
latest`, starts it again. Main thread only.
"""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QScrollArea

from ui import strings
from ui.controls import button

NEAR = 1500
"""Pixels from an edge at which more content is made."""
END_SLACK = 12


class FollowingScrollArea(QScrollArea):
    """Subclasses fill in the hooks; `_follow` tells whether the end is being followed."""

    def __init__(self) -> None:
        super().__init__()
        self._follow = True
        self._adjusting = False
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
        self._jump = button(strings.JUMP_TO_LATEST, "", self.jump_to_latest)
        self._jump.setObjectName("jump")
        self._jump.setParent(self.viewport())
        self._jump.hide()
        bar = self.verticalScrollBar()
        bar.setEnabled(False)
        bar.valueChanged.connect(self._on_scrolled)
        bar.rangeChanged.connect(self._on_range_changed)

    # Hooks
    def at_last(self) -> bool:
        """Whether the end of the content is the end of everything there is."""
        return True

    def show_last(self) -> None:
        """Makes the last content and settles the layout."""

    def on_moved(self, near_edge: bool) -> None:
        """The person scrolled."""

    def on_width_changed(self) -> None:
        """The width of the viewport changed."""

    def on_resized(self) -> None:
        """The viewport changed its size; before the end is followed."""

    # Following
    def is_following(self) -> bool:
        return self._follow

    def jump_to_latest(self) -> None:
        self._follow = True
        self.show_last()
        self._stick()
        self._update_jump()

    def _stick(self) -> None:
        self._scroll_to(self.verticalScrollBar().maximum())

    def _scroll_to(self, value: int) -> None:
        self._adjusting = True
        self.verticalScrollBar().setValue(value)
        self._adjusting = False

    def _on_scrolled(self, value: int) -> None:
        if not self._adjusting:
            bar = self.verticalScrollBar()
            self._follow = value >= bar.maximum() - END_SLACK and self.at_last()
            self.on_moved(value < NEAR or value > bar.maximum() - NEAR)
        self._update_jump()

    def _on_range_changed(self, low: int, high: int) -> None:
        self.verticalScrollBar().setEnabled(high > low)
        if self._follow:
            self._stick()
        self._update_jump()

    def _update_jump(self) -> None:
        bar = self.verticalScrollBar()
        away = bar.value() < bar.maximum() - END_SLACK or not self.at_last()
        self._jump.setVisible(away and not self._follow)
        if self._jump.isVisible():
            self._jump.raise_()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self.on_width_changed()
        self.on_resized()
        size = self.viewport().size()
        self._jump.adjustSize()
        self._jump.move(
            (size.width() - self._jump.width()) // 2, size.height() - self._jump.height() - 10
        )
        if self._follow:
            self._stick()
