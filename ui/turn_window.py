"""The window of turns that exist as widgets, on the reading column, rendered on frames.

Only about fifty turns exist as widgets (each takes 0.3 MB); others are made when the reader
comes near, one a frame, and text is rendered within a time budget. Main thread only.
`Transcript` adds what the rest of the program sees.
"""

from __future__ import annotations

import time

from PySide6.QtCore import QEvent, QPoint, Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QHBoxLayout, QLabel, QVBoxLayout, QWidget

from ui import strings
from ui.controls import announce, label
from ui.drag_scroller import DragScroller
from ui.frame_clock import BACKLOG_BUDGET_S, BUDGET_S, FrameClock
from ui.message_view import MessageView
from ui.scroll_follower import NEAR, FollowingScrollArea
from ui.theme import COLUMN
from ui.views import TurnView

WINDOW = 48
SLACK = 16
"""So many turns more than `WINDOW` are there before some are dropped."""
FAR = 2 * NEAR
"""Pixels off the screen from which on a turn may be dropped."""
FIRST = 12
"""Turns built at once when a conversation opens; the rest of the window follows on frames."""
MARGIN = 16
SCROLLBAR = 12
"""Width of the scroll bar in the style sheet; kept free on the left too, so that the column
stands exactly over the composer."""


class TurnWindow(FollowingScrollArea):
    """Keeps `_views` for the turns from `_first` to `_last`. Hooks: `rendered`, `awake`."""

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
        self.setProperty("kind", "panel")
        self.setAccessibleName("Conversation")
        self.setWidgetResizable(True)
        self.setMinimumHeight(40)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._turns: list[TurnView] = []
        self._index: dict[str, int] = {}
        self._views: dict[str, MessageView] = {}
        self._first = 0
        self._last = 0
        self._drag = DragScroller(self)
        self._dirty: dict[str, None] = {}
        self._clock = FrameClock(self)
        self._clock.tick.connect(self._on_tick)
        self._build()

    def _build(self) -> None:
        self._page = QWidget()
        self._page.setProperty("kind", "panel")
        self._holder = QWidget()
        self._holder.setMaximumWidth(COLUMN)
        self._column = QVBoxLayout(self._holder)
        self._column.setContentsMargins(0, 20, 0, 8)
        self._column.setSpacing(0)
        self._column.addStretch(1)
        row = QHBoxLayout(self._page)
        row.setContentsMargins(MARGIN + SCROLLBAR, 0, MARGIN, 0)
        row.addStretch(1)
        row.addWidget(self._holder, 1000)
        row.addStretch(1)
        self.setWidget(self._page)
        self._empty = QWidget(self.viewport())
        box = QVBoxLayout(self._empty)
        self._empty_title: QLabel = label(strings.EMPTY_CHAT_TITLE, "title", wrap=True)
        self._empty_text: QLabel = label(strings.EMPTY_CHAT_TEXT, "muted", wrap=True)
        for words in (self._empty_title, self._empty_text):
            words.setAlignment(Qt.AlignmentFlag.AlignHCenter)
            box.addWidget(words)

    # Hooks
    def rendered(self, view: MessageView) -> None:
        """A turn was rendered whole."""

    def awake(self) -> bool:
        """False while nothing is to be made, whatever is scrolled to."""
        return True

    def before_frame(self) -> None:
        """A frame begins."""

    def view_of(self, node_id: str) -> MessageView | None:
        """The widget of a turn, None while it is outside the window."""
        return self._views.get(node_id)

    def made(self) -> int:
        """How many turns are widgets now."""
        return len(self._views)

    def message_views(self) -> list[MessageView]:
        """Widgets of the window from top to bottom."""
        ids = (t.node_id for t in self._turns[self._first : self._last])
        return [self._views[i] for i in ids if i in self._views]

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
        self._views[turn.node_id] = view
        self._column.insertWidget(max(0, at - self._first), view)
        view.show()  # the layout would do it on the next turn of the loop and count it as empty
        self._dirty[turn.node_id] = None
        return view

    def _drop_view(self, view: MessageView) -> None:
        self._column.removeWidget(view)
        view.hide()
        view.deleteLater()

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
            self._render_view(view, BUDGET_S)
        self._hold(before)

    def _hold(self, from_bottom: int) -> None:
        """Restores the distance to the bottom after something above changed."""
        self._settle()
        if not self._follow:
            self._scroll_to(self._page.height() - from_bottom)

    def _settle(self) -> None:
        self._column.activate()
        layout = self._page.layout()
        if layout is not None:
            layout.activate()
        height = max(self._page.sizeHint().height(), self.viewport().height())
        if self._page.height() != height:
            self._page.resize(self.viewport().width(), height)
        QGuiApplication.sendPostedEvents(self, QEvent.Type.LayoutRequest.value)

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

    def _on_edges(self) -> bool:
        """Makes a turn near the edge that is close, one at a time; False when none is."""
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

    # Rendering
    def _want_render(self, node_id: str, now: bool = False) -> None:
        self._dirty[node_id] = None
        self._clock.request(now=now)

    def _on_tick(self) -> None:
        streaming = bool(self._turns) and self._turns[-1].status == "streaming"
        until = time.perf_counter() + (BUDGET_S if streaming else BACKLOG_BUDGET_S)
        self.before_frame()
        kept = self._kept_place() if self._dirty and not self._follow else None
        for node_id in list(self._dirty):
            view = self._views.get(node_id)
            if view is None or not self._render_view(view, until - time.perf_counter()):
                self._dirty.pop(node_id, None)
            if time.perf_counter() > until:
                break
        if self._follow:
            self._settle()
            self._stick()
        elif kept is not None:
            self._keep_place(*kept)
        late = time.perf_counter() > until
        if late or self._dirty or self._on_edges():
            self._clock.request(soon=not streaming)

    def _kept_place(self) -> tuple[QWidget, int] | None:
        """The first text on screen and where it stands, to be found again."""
        for view in self.message_views():
            if view.mapTo(self.viewport(), QPoint(0, view.height())).y() > 0:
                for part in view.words.parts:
                    y = part.mapTo(self.viewport(), QPoint(0, 0)).y()
                    if y + part.height() > 0:
                        return part, y
        return None

    def _keep_place(self, widget: QWidget, y: int) -> None:
        self._settle()
        moved = widget.mapTo(self.viewport(), QPoint(0, 0)).y() - y
        if moved:
            self._scroll_to(self.verticalScrollBar().value() + moved)

    def _render_view(self, view: MessageView, budget_s: float) -> bool:
        more = view.render_step(max(0.001, budget_s))
        if not more:
            self.rendered(view)
        return more

    def _render_now(self) -> None:
        """Renders what is visible at once, within a tenth of a second."""
        until = time.perf_counter() + 0.1
        for node_id in reversed(list(self._dirty)):
            view = self._views[node_id]
            self._fit(view)
            if not self._render_view(view, until - time.perf_counter()):
                self._dirty.pop(node_id, None)
            if time.perf_counter() > until:
                break

    def _fit(self, view: MessageView) -> None:
        width = min(COLUMN, max(200, self.viewport().width() - 2 * MARGIN - SCROLLBAR))
        view.resize(width, view.height())
        view.fit()
        view.settle()

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
