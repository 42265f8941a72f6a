"""The conversation on its reading column, windowed, following the end while it grows.

The view follows the end only while the reader is there; otherwise it stays put and offers
`Jump to latest`. Main thread only.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from PySide6.QtCore import QPoint, QTimer

from ui.code_highlighter import warm_up
from ui.drawn_turns import MOVING_MS
from ui.frame_clock import STREAM_MS
from ui.message_view import MessageView
from ui.theme import COLUMN
from ui.themed_turns import ThemedTurns
from ui.transcript_find import TranscriptFind
from ui.turn_window import FIRST, WINDOW
from ui.views import TurnView

__all__ = ["FIRST", "WINDOW", "Transcript"]

WARM_MS = 100


class Transcript(ThemedTurns):
    """`set_turns`, `append_turn`, `update_turn`, `remove_turn`, `stream`; see the page."""

    def __init__(self) -> None:
        super().__init__()
        self._find = TranscriptFind(self)
        self._warming = warm_up()
        self._warm = QTimer(self)
        self._warm.timeout.connect(self._on_warm)
        self._warm.start(WARM_MS)

    def _on_warm(self) -> None:
        """Goes on with `warm_up` while the model loads: the first answer must not wait for it."""
        if next(self._warming, self) is self:
            self._warm.stop()

    # Turns
    def set_turns(self, turns: Sequence[TurnView]) -> None:
        """Replaces everything and goes to the end."""
        if self._left_at is not None and not self._views and not self.isVisible():
            self._turns, self._left_at, self._follow = list(turns), 0, True
            self._reindex()
            self._refresh_empty()
            return
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
        begins = not view.has_words()
        view.stream(text, thought)
        self._want_render(node_id, now=begins, every=STREAM_MS)

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

    def _refresh_busy(self) -> None:
        busy = any(t.status == "streaming" for t in self._turns[-2:])
        for view in self._views.values():
            view.set_busy(busy)

    def _refresh_empty(self) -> None:
        shown = not self._turns
        self._empty.setVisible(shown)
        self._place_empty()

    # Hooks of the base
    def at_last(self) -> bool:
        return self._last == len(self._turns)

    def show_last(self) -> None:
        if not self.at_last():
            self.show_window_at(len(self._turns) - 1)
        self._settle()

    def on_moved(self, near_edge: bool) -> None:
        self._moved_at = time.monotonic()
        self._clock.request(soon=MOVING_MS if near_edge else 0)

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

    def rendered(self, view: MessageView) -> None:
        self._find.mark(view)

    def show_again(self) -> None:
        self.set_turns(self._turns)

    # Finding
    def highlight(self, term: str, case: bool = False) -> int:
        """Marks all hits in the raw text of every turn; returns how many there are."""
        return self._find.search(term, case)

    def goto(self, index: int) -> None:
        """Brings hit `index` into view and marks it as the current one."""
        self._find.goto(index)

    def reveal(self, view: MessageView, place: Callable[[], int]) -> None:
        """Scrolls so that y `place()` in the text of `view` is seen."""
        self._follow = False
        self._settle()
        y = view.words.mapTo(self._page, QPoint(0, place())).y()
        self._scroll_to(max(0, y - self.viewport().height() // 3))
        self._update_jump()
