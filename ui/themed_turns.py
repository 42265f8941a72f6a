"""A window of turns out of sight, and under a new theme.

A conversation out of sight can `rest`: it drops its widgets and builds them again when it is
shown. A theme change asks for that, since restyling costs about a second per thousand
widgets; of what is seen, only what is on screen is made again at once. Main thread only.
"""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, QEvent, QPoint
from PySide6.QtGui import QShowEvent

from ui.message_view import MessageView
from ui.theme import theme
from ui.turn_window import TurnWindow

LEFT_S = 0.1
"""What finding the reader's place again may spend on the turn that was on screen."""
AHEAD = 900
"""Pixels above and below the screen within which a new look is given to what is there."""


class ThemedTurns(TurnWindow):
    """Follows `theme()`; `restored` is for the owner to show its turns again."""

    def __init__(self) -> None:
        super().__init__()
        self._left_at: int | None = None
        self._left_by = 0
        self._resting = False
        theme().changing.connect(self._on_theme_changing)
        theme().changed.connect(self._on_theme_changed)

    def show_again(self) -> None:
        """Shows all turns anew, at the end."""

    def awake(self) -> bool:
        return self._left_at is None or bool(self._views)

    def before_frame(self) -> None:
        self._wake()

    def rest(self) -> bool:
        """Drops the widgets while nobody sees them, and makes none until then; False when
        they are needed. The reader finds the same place again."""
        used = any(v.view.status == "streaming" or v.editing for v in self._views.values())
        if used or self.isVisible():
            return False
        if self._left_at is None or self._views:
            self._leave()
        return True

    def _leave(self) -> None:
        self._left_at = self._first if self._follow else self._top_turn()
        left = self.message_views()[self._left_at - self._first :][:1]
        self._left_by = self.verticalScrollBar().value() - left[0].y() if left else 0
        for view in self._views.values():
            self._drop_view(view)
        self._views.clear()
        self._dirty.clear()
        self._first = self._last = 0

    def _on_theme_changing(self) -> None:
        views = list(self._views.values())
        if views and self.rest():
            for view in views:
                QCoreApplication.sendPostedEvents(view, QEvent.Type.DeferredDelete.value)
            return
        for view, top in self._tops():
            view.before_restyle(top, top + self.viewport().height())

    def _on_theme_changed(self) -> None:
        for view in self._views.values():
            view.restyle()
        self._resting = True
        self._clock.request()

    def _tops(self) -> list[tuple[MessageView, int]]:
        """Each turn with the y of the screen's top in it."""
        return [
            (view, -view.mapTo(self.viewport(), QPoint(0, 0)).y()) for view in self._views.values()
        ]

    def _wake(self) -> None:
        """Makes again what a theme change emptied, once it is nearly seen."""
        if self._resting:
            height = self.viewport().height()
            for view, top in self._tops():
                view.wake(top - AHEAD, top + height + AHEAD)

    def _top_turn(self) -> int:
        """Position of the first turn on screen."""
        top = self.verticalScrollBar().value()
        ends = (
            view.mapTo(self._page, QPoint(0, view.height())).y() for view in self.message_views()
        )
        return self._first + next((n for n, y in enumerate(ends) if y > top), 0)

    def _make_again(self) -> None:
        """Builds what `rest` took away; the reader finds the place again."""
        at, self._left_at = self._left_at, None
        if at is None or self._views or not self._turns:
            return
        if self._follow:
            self.show_again()
            return
        self._last = -1
        self.show_window_at(min(at, len(self._turns) - 1))
        view = self._views.get(self._turns[min(at, len(self._turns) - 1)].node_id)
        if view is not None:
            self._render_view(view, LEFT_S)
            QCoreApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest.value)
            self._settle()
            self._scroll_to(view.y() + self._left_by)
        self._clock.request()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._make_again()
