"""A window of turns out of sight, and under a new theme.

A conversation out of sight can `rest`: it drops its widgets and builds them again when it is
shown. A theme change asks for that, since restyling costs about a second per thousand
widgets; of what is seen, only what is on screen is made again at once. Main thread only.
"""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, QEvent, QPoint
from PySide6.QtGui import QShowEvent

from ui.answer_parts import Part
from ui.parted_text import PartedText
from ui.theme import theme
from ui.turn_window import TurnWindow

AHEAD = 300
"""Pixels above and below the screen within which turns keep their widgets."""


class ThemedTurns(TurnWindow):
    """Follows `theme()`; `restored` is for the owner to show its turns again."""

    def __init__(self) -> None:
        super().__init__()
        self._left_at: int | None = None
        self._left_part = (0, 0)
        self._read_at: tuple[PartedText, Part, int] | None = None
        theme().changing.connect(self._on_theme_changing)
        theme().changed.connect(self._on_theme_changed)

    def show_again(self) -> None:
        """Shows all turns anew, at the end."""

    def awake(self) -> bool:
        return self._left_at is None or bool(self._views)

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
        if (place := self._kept_place()) is not None:
            words, part, y = place
            self._left_part = (words.parts.index(part), y)
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
        self._narrow()
        for view in self._views.values():
            top = -view.mapTo(self.viewport(), QPoint(0, 0)).y()
            view.before_restyle(top, top + self.viewport().height())
        self._read_at = None if self._follow else self._kept_place()

    def _on_theme_changed(self) -> None:
        kept, self._read_at = self._read_at, None
        for view in self._views.values():
            view.restyle()
        self._find_place(kept)
        self._clock.request()

    def _narrow(self) -> None:
        """Gives up the turns that are not seen; they are made again when the reader comes."""
        kept = None if self._follow else self._kept_place()
        self._find_place(kept)
        height = self.viewport().height()
        base = self._page.y() + self._holder.y()
        needed = []
        for at in range(self._first, self._last):
            view = self._views.get(self._turns[at].node_id)
            if view is not None:
                y = base + view.y()
                seen = y + view.height() > -AHEAD and y < height + AHEAD
                if seen or view.view.status == "streaming" or view.editing:
                    needed.append(at)
        if not needed:
            return
        for at in (*range(self._first, needed[0]), *range(needed[-1] + 1, self._last)):
            view = self._views.pop(self._turns[at].node_id, None)
            if view is not None:
                self._drop_view(view)
                QCoreApplication.sendPostedEvents(view, QEvent.Type.DeferredDelete.value)
        self._first, self._last = needed[0], needed[-1] + 1
        self._find_place(kept)

    def _find_place(self, kept: tuple[PartedText, Part, int] | None) -> None:
        """Goes to the end, or to where the reader was."""
        if kept is not None:
            self._keep_place(*kept)
        else:
            self._settle()
            self._stick()

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
            words, (at_part, y) = view.words, self._left_part
            words.cut_all()
            part = words.parts[min(at_part, len(words.parts) - 1)]
            words.draw_part(part)
            view.fit()
            QCoreApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest.value)
            self._keep_place(words, part, y)
        self._clock.request()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._make_again()
