"""The window of turns that exist as widgets, made and dropped as the reader moves.

Only about fifty turns exist as widgets (each takes 0.3 MB); others are made when the reader
comes near, one a frame. Main thread only. `Transcript` adds what the rest of the program sees.
"""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtGui import QGuiApplication

from ui import strings
from ui.controls import announce
from ui.drag_scroller import DragScroller
from ui.drawn_turns import FAR, OUT_OF_SIGHT, DrawnTurns
from ui.message_view import MessageView
from ui.scroll_follower import NEAR

WINDOW = 48
SLACK = 16
"""So many turns more than `WINDOW` are there before some are dropped."""
FIRST = 12
"""Turns built at once when a conversation opens; the rest of the window follows on frames."""


class TurnWindow(DrawnTurns):
    """Keeps `_views` for the turns from `_first` to `_last`."""

    regenerate_requested = Signal(str)
    edit_submitted = Signal(str, str)
    continue_requested = Signal(str)
    version_selected = Signal(str, int)
    turn_deleted = Signal(str)
    quoted = Signal(str, str)
    copied = Signal(str)
    link_clicked = Signal(str)
    attachment_opened = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self._index: dict[str, int] = {}
        self._drag = DragScroller(self)

    # The window of widgets
    def _reindex(self) -> None:
        self._index = {t.node_id: i for i, t in enumerate(self._turns)}

    def _make_view(self, at: int) -> MessageView:
        turn = self._turns[at]
        divider = at > 0 and self._turns[at - 1].dropped and not turn.dropped
        view = MessageView(turn, divider)
        view.action_requested.connect(self._on_action)
        view.edit_submitted.connect(self.edit_submitted)
        view.quoted.connect(self.quoted)
        view.copied.connect(self.copy_text)
        view.link_clicked.connect(self.link_clicked)
        view.attachment_opened.connect(self.attachment_opened)
        view.render_requested.connect(lambda: self._want_render(turn.node_id))
        view.selecting.connect(self._drag.follow)
        view.setMinimumWidth(40)
        view.look(OUT_OF_SIGHT, OUT_OF_SIGHT)
        self._views[turn.node_id] = view
        self._column.insertWidget(max(0, at - self._first), view)
        view.show()  # the layout would do it on the next turn of the loop and count it as empty
        self._dirty[turn.node_id] = None
        return view

    def _drop_view(self, view: MessageView) -> None:
        self._drag.forget(view.selections())
        super()._drop_view(view)

    def _extend_down(self, count: int) -> None:
        for at in range(self._last, min(len(self._turns), self._last + count)):
            self._last = at + 1
            view = self._make_view(at)
            self._fit(view)
        if not self._follow:
            self._settle()
        self._trim_top()
        self._clock.request()

    def _extend_up(self, count: int) -> None:
        """Builds earlier turns and keeps what is on screen where it is."""
        new = max(0, self._first - count)
        if new == self._first:
            return
        before = self._page.height() - self.verticalScrollBar().value()
        for at in range(self._first - 1, new - 1, -1):
            self._first = at
            view = self._make_view(at)
            self._fit(view)
        self._hold(before)

    def _hold(self, from_bottom: int) -> None:
        """Restores the distance to the bottom after something above changed."""
        self._settle()
        if not self._follow:
            self._scroll_to(self._page.height() - from_bottom)

    def _trim_top(self) -> None:
        """Drops widgets far above once the window is too large; what is on screen stays."""
        spare = self._last - self._first - WINDOW
        if spare <= SLACK:
            return
        bar, first = self.verticalScrollBar(), self._first
        kept = None if self._follow else self._kept_place()
        while spare > 0:
            view = self._views.get(self._turns[self._first].node_id)
            if view is not None:
                if view.editing or view.y() + view.height() > bar.value() - FAR:
                    break
                self._drop_view(self._views.pop(view.view.node_id))
            self._first += 1
            spare -= 1
        if first != self._first and kept is not None:
            self._keep_place(*kept)

    def _trim_bottom(self) -> None:
        limit = self.verticalScrollBar().value() + self.viewport().height() + FAR
        while self._last - self._first > WINDOW + SLACK:
            turn = self._turns[self._last - 1]
            view = self._views.get(turn.node_id)
            if turn.status == "streaming" or (
                view is not None and (view.editing or view.y() < limit)
            ):
                return
            if view is not None:
                self._drop_view(self._views.pop(turn.node_id))
            self._last -= 1

    def make_more(self) -> bool:
        """One turn at a time."""
        if not self.awake():
            return False
        bar = self.verticalScrollBar()
        if self._first > 0 and bar.value() < NEAR:
            self._extend_up(1)
            self._trim_bottom()
        elif self._last < len(self._turns) and bar.value() > bar.maximum() - NEAR:
            self._extend_down(1)
        elif self._first > max(0, self._last - WINDOW) and self._follow:
            self._extend_up(1)
        else:
            return False
        return True

    def show_window_at(self, at: int) -> None:
        """Moves the window of widgets so that turn `at` is in it."""
        if self._first <= at < self._last:
            return
        for view in self._views.values():
            self._drop_view(view)
        self._views.clear()
        self._dirty.clear()
        self._first = max(0, at - FIRST)
        self._last = self._first
        self._extend_down(2 * FIRST)
        self._render_now()
        self._settle()

    # Actions of turns
    def _on_action(self, action: str, node_id: str) -> None:
        if action == "regenerate":
            self.regenerate_requested.emit(node_id)
        elif action == "continue":
            self.continue_requested.emit(node_id)
        elif action == "delete":
            self.turn_deleted.emit(node_id)
        elif action in ("later", "earlier"):
            self.version_selected.emit(node_id, 1 if action == "later" else -1)

    def copy_text(self, text: str) -> None:
        """Puts plain text on the clipboard."""
        QGuiApplication.clipboard().setText(text)
        announce(self, strings.COPIED)
        self.copied.emit(text)
