"""The conversation on its reading column, windowed, following the end while it grows.

Only about a hundred turns exist as widgets; others are made when the reader comes near. Text
is rendered on frames with a time budget. The view follows the end only while the reader is
there; otherwise it stays put and offers `Jump to latest`. Main thread only.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from PySide6.QtCore import QCoreApplication, QEvent, QPoint, Qt, QTimer, Signal
from PySide6.QtGui import QGuiApplication, QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QVBoxLayout, QWidget

from ui import strings
from ui.code_highlighter import warm_up
from ui.controls import announce, label
from ui.drag_scroller import DragScroller
from ui.frame_clock import BACKLOG_BUDGET_S, BUDGET_S, FrameClock
from ui.message_view import MessageView
from ui.scroll_follower import NEAR, FollowingScrollArea
from ui.theme import COLUMN, theme
from ui.transcript_find import TranscriptFind
from ui.views import TurnView

WINDOW = 100
AHEAD = 900
"""Pixels above and below the screen within which a new look is given to what is there."""
FIRST = 12
"""Turns built at once when a conversation opens; the rest of the window follows on frames."""
MARGIN = 16
SCROLLBAR = 12
"""Width of the scroll bar in the style sheet; kept free on the left too, so that the column
stands exactly over the composer."""


class Transcript(FollowingScrollArea):
    """`set_turns`, `append_turn`, `update_turn`, `remove_turn`, `stream`; see the page."""

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
        self._left_at: int | None = None
        self._resting = False
        self._drag = DragScroller(self)
        self._find = TranscriptFind(self)
        self._dirty: dict[str, None] = {}
        self._clock = FrameClock(self)
        self._clock.tick.connect(self._on_tick)
        self._build()
        theme().changing.connect(self._on_theme_changing)
        theme().changed.connect(self._on_theme_changed)
        self._warm = QTimer(self)
        self._warm.setSingleShot(True)
        self._warm.timeout.connect(warm_up)
        self._warm.start(1500)

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

    # Turns
    def set_turns(self, turns: Sequence[TurnView]) -> None:
        """Replaces everything and goes to the end."""
        self._left_at = None
        self.setUpdatesEnabled(False)
        for view in self._views.values():
            self._drop_view(view)
        self._views.clear()
        self._dirty.clear()
        self._turns = list(turns)
        self._reindex()
        self._last = len(self._turns)
        self._first = max(0, self._last - FIRST)
        for at in range(self._first, self._last):
            self._make_view(at)
        self._follow = True
        self._refresh_empty()
        self._render_now()
        self.setUpdatesEnabled(True)
        self.jump_to_latest()
        self._clock.request()

    def turns(self) -> tuple[TurnView, ...]:
        """All turns, streamed text included."""
        return tuple(self._current(t) for t in self._turns)

    def turn(self, node_id: str) -> TurnView | None:
        at = self._index.get(node_id)
        return None if at is None else self._current(self._turns[at])

    def _current(self, turn: TurnView) -> TurnView:
        view = self._views.get(turn.node_id)
        if turn.status != "streaming" or view is None:
            return turn
        return replace(turn, text=view.raw_text(), thought=view.raw_thought())

    def append_turn(self, turn: TurnView) -> None:
        if turn.node_id in self._index:
            self.update_turn(turn)
            return
        self._make_again()
        at_end = self._last == len(self._turns)
        self._turns.append(turn)
        self._index[turn.node_id] = len(self._turns) - 1
        if turn.role == "user":
            self._follow = True
        if at_end or turn.role == "user" or turn.status == "streaming":
            self._extend_down(len(self._turns) - self._last)
        self._refresh_empty()
        self._refresh_busy()

    def update_turn(self, turn: TurnView) -> None:
        at = self._index.get(turn.node_id)
        if at is None:
            return
        self._turns[at] = turn
        view = self._views.get(turn.node_id)
        if view is not None:
            view.set_view(turn)
            self._want_render(turn.node_id)
        self._refresh_busy()

    def remove_turn(self, node_id: str) -> None:
        at = self._index.get(node_id)
        if at is None:
            return
        del self._turns[at]
        view = self._views.pop(node_id, None)
        if view is not None:
            self._drop_view(view)
        self._first -= at < self._first
        self._last -= at < self._last
        self._reindex()
        self._refresh_empty()

    def stream(self, node_id: str, text: str, thought: str = "") -> None:
        view = self._views.get(node_id)
        if view is None:
            at = self._index.get(node_id)
            if at is not None:
                turn = self._turns[at]
                self._turns[at] = replace(
                    turn, text=turn.text + text, thought=turn.thought + thought
                )
            return
        view.stream(text, thought)
        self._want_render(node_id)

    def set_empty(self, title: str, text: str) -> None:
        self._empty_title.setText(title)
        self._empty_text.setText(text)
        self._refresh_empty()

    def edit_last(self) -> None:
        for turn in reversed(self._turns):
            if turn.role == "user" and turn.node_id in self._views:
                self._views[turn.node_id].start_edit()
                self.ensureWidgetVisible(self._views[turn.node_id])
                return

    def copy_text(self, text: str) -> None:
        """Puts plain text on the clipboard."""
        QGuiApplication.clipboard().setText(text)
        announce(self, strings.COPIED)
        self.copied.emit(text)

    def view_of(self, node_id: str) -> MessageView | None:
        """The widget of a turn, None while it is outside the window."""
        return self._views.get(node_id)

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
        """Drops widgets far above once the window is too large and the reader is below."""
        if self._last - self._first <= WINDOW + 40 or not self._follow:
            return
        while self._last - self._first > WINDOW:
            view = self._views.pop(self._turns[self._first].node_id, None)
            if view is not None:
                self._drop_view(view)
            self._first += 1

    def _trim_bottom(self) -> None:
        while self._last - self._first > WINDOW + 40:
            turn = self._turns[self._last - 1]
            if turn.status == "streaming":
                return
            view = self._views.pop(turn.node_id, None)
            if view is not None:
                self._drop_view(view)
            self._last -= 1

    def _on_edges(self) -> bool:
        """Makes a turn near the edge that is close, one at a time; False when none is."""
        if self._left_at is not None and not self._views:
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

    # Rendering
    def _want_render(self, node_id: str) -> None:
        self._dirty[node_id] = None
        self._clock.request()

    def _on_tick(self) -> None:
        streaming = bool(self._turns) and self._turns[-1].status == "streaming"
        until = time.perf_counter() + (BUDGET_S if streaming else BACKLOG_BUDGET_S)
        self._wake()
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
        made = time.perf_counter() < until and not self._dirty and self._on_edges()
        if self._dirty or made:
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
            self._find.mark(view)
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

    def _refresh_busy(self) -> None:
        busy = any(t.status == "streaming" for t in self._turns[-2:])
        for view in self._views.values():
            view.set_busy(busy)

    def _refresh_empty(self) -> None:
        shown = not self._turns
        self._empty.setVisible(shown)
        self._place_empty()

    def _on_theme_changing(self) -> None:
        """Out of sight nothing is restyled, which costs a second per thousand widgets: the
        turns are made again when the conversation is shown."""
        resting = not any(v.view.status == "streaming" or v.editing for v in self._views.values())
        if self._views and not self.isVisible() and resting:
            self._left_at = self._first if self._follow else self._top_turn()
            for view in self._views.values():
                self._drop_view(view)
                QCoreApplication.sendPostedEvents(view, QEvent.Type.DeferredDelete.value)
            self._views.clear()
            self._dirty.clear()
            self._first = self._last = 0
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
        """Builds what `_on_theme_changing` took away; the reader finds the place again."""
        at, self._left_at = self._left_at, None
        if at is None or self._views or not self._turns:
            return
        if self._follow:
            self.set_turns(self._turns)
            return
        self._last = -1
        self.show_window_at(min(at, len(self._turns) - 1))
        view = self._views.get(self._turns[min(at, len(self._turns) - 1)].node_id)
        if view is not None:
            self._scroll_to(view.mapTo(self._page, QPoint(0, 0)).y())
        self._clock.request()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._make_again()

    # Hooks of the base
    def at_last(self) -> bool:
        return self._last == len(self._turns)

    def show_last(self) -> None:
        if not self.at_last():
            self.show_window_at(len(self._turns) - 1)
        self._settle()

    def on_moved(self, near_edge: bool) -> None:
        self._clock.request(soon=near_edge)

    def on_width_changed(self) -> None:
        for view in self._views.values():
            self._fit(view)
        self._settle()

    def on_resized(self) -> None:
        self._place_empty()
        if self._follow:
            self._settle()

    def _place_empty(self) -> None:
        size = self.viewport().size()
        self._empty.resize(min(COLUMN, size.width()), self._empty.sizeHint().height())
        self._empty.move(
            (size.width() - self._empty.width()) // 2,
            max(0, int(size.height() * 0.42) - self._empty.height() // 2),
        )

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

    # Finding
    def highlight(self, term: str, case: bool = False) -> int:
        """Marks all hits in the raw text of every turn; returns how many there are."""
        return self._find.search(term, case)

    def goto(self, index: int) -> None:
        """Brings hit `index` into view and marks it as the current one."""
        self._find.goto(index)

    def reveal(self, view: MessageView, place: Callable[[], int]) -> None:
        """Renders `view` whole, then scrolls so that y `place()` in its text is seen."""
        self._follow = False
        view.wake(0, view.height())
        while self._render_view(view, 0.1):
            pass
        self._settle()
        y = view.words.mapTo(self._page, QPoint(0, place())).y()
        self._scroll_to(max(0, y - self.viewport().height() // 3))
        self._update_jump()

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
