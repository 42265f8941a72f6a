"""Turns below each other on the reading column, drawn where the reader looks.

On each frame the turns are told what is seen of them, and for some milliseconds what is
missing there is drawn, nearest to the screen first. What is being read stays where it is.
Main thread only. `TurnWindow` decides which turns exist.
"""

from __future__ import annotations

import time

from PySide6.QtCore import QEvent, QPoint, Qt, QTimer
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from ui import strings
from ui.answer_parts import Part
from ui.controls import label
from ui.frame_clock import BUDGET_S, FrameClock
from ui.message_view import MessageView
from ui.parted_text import PartedText
from ui.scroll_follower import NEAR, FollowingScrollArea
from ui.tab_chain import order_stops
from ui.theme import COLUMN
from ui.views import TurnView

FAR = 2 * NEAR
"""Pixels off the screen from which on a turn may be dropped."""
SOON_MS, MOVING_MS = 4, 12
"""Pauses between two frames of work that is left over, at rest and while the reader moves."""
OPENING_S = 0.05
"""What drawing a conversation that opens may take before it is shown."""
ORDER_MS = 250
"""Rest after drawing until the way of the Tab key is put in order."""
OUT_OF_SIGHT = -(1 << 40)
MARGIN = 16
SCROLLBAR = 12
"""Width of the scroll bar in the style sheet; kept free on the left too, so that the column
stands exactly over the composer."""


class DrawnTurns(FollowingScrollArea):
    """`_views` holds the widgets by node id, `_first` to `_last` are their turns."""

    def __init__(self) -> None:
        super().__init__()
        self.setProperty("kind", "panel")
        self.setAccessibleName("Conversation")
        self.setWidgetResizable(True)
        self.setMinimumHeight(40)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._turns: list[TurnView] = []
        self._views: dict[str, MessageView] = {}
        self._first = 0
        self._last = 0
        self._dirty: dict[str, None] = {}
        self._near: set[str] = set()
        self._moved_at = 0.0
        self._clock = FrameClock(self)
        self._clock.tick.connect(self._on_tick)
        self._ordering = QTimer(self)
        self._ordering.setSingleShot(True)
        self._ordering.setInterval(ORDER_MS)
        self._ordering.timeout.connect(self._order)
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

    def make_more(self) -> bool:
        """Makes a turn near an edge that is close; False when none is."""
        return False

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

    def _drop_view(self, view: MessageView) -> None:
        self._near.discard(view.view.node_id)
        self._column.removeWidget(view)
        view.hide()
        view.deleteLater()

    def _settle(self) -> None:
        self._column.activate()
        layout = self._page.layout()
        if layout is not None:
            layout.activate()
        height = max(self._page.sizeHint().height(), self.viewport().height())
        if self._page.height() != height:
            self._page.resize(self.viewport().width(), height)
        QGuiApplication.sendPostedEvents(self, QEvent.Type.LayoutRequest.value)

    # Rendering
    def _want_render(self, node_id: str, now: bool = False, every: int = 0) -> None:
        self._dirty[node_id] = None
        self._clock.request(now=now, every=every)

    def _on_tick(self) -> None:
        streaming = bool(self._turns) and self._turns[-1].status == "streaming"
        until = time.perf_counter() + BUDGET_S
        self._look()
        kept = self._kept_place() if self._dirty and not self._follow else None
        drawn = self._draw(until)
        if self._follow:
            self._settle()
            self._stick()
        elif kept is not None:
            self._keep_place(*kept)
        if drawn:
            self._look()
        late = time.perf_counter() > until
        if late or self._dirty or self.make_more():
            moving = time.monotonic() - self._moved_at < 0.1
            self._clock.request(0 if streaming else MOVING_MS if moving else SOON_MS)
        elif drawn:
            self._ordering.start()

    def _look(self) -> None:
        """Tells every turn what is seen of it."""
        base = self._page.y() + self._holder.y()
        height = self.viewport().height()
        for node_id, view in self._views.items():
            above = base + view.y()
            near = above < height + FAR and above + view.height() > -FAR
            if near:
                self._near.add(node_id)
                if view.look(-above, height - above):
                    self._dirty[node_id] = None
            elif node_id in self._near:
                self._near.discard(node_id)
                view.look(OUT_OF_SIGHT, OUT_OF_SIGHT)

    def _draw(self, until: float) -> bool:
        """Draws what is wanted until then, what is nearest to the screen first."""
        if not self._dirty:
            return False
        middle = self.viewport().height() // 2 - self._page.y() - self._holder.y()

        def distance(node_id: str) -> int:
            view = self._views.get(node_id)
            return max(0, view.y() - middle, middle - view.y() - view.height()) if view else 0

        for node_id in sorted(self._dirty, key=distance):
            view = self._views.get(node_id)
            if view is None or not self._render_view(view, until - time.perf_counter()):
                self._dirty.pop(node_id, None)
            if time.perf_counter() > until:
                break
        return True

    def _kept_place(self) -> tuple[PartedText, Part, int] | None:
        """The first text on screen and where it stands, to be found again."""
        for view in self.message_views():
            if view.mapTo(self.viewport(), QPoint(0, view.height())).y() > 0:
                above = view.words.mapTo(self.viewport(), QPoint(0, 0)).y()
                for part in view.words.parts:
                    if above + part.bottom > 0:
                        return view.words, part, above + part.top
        return None

    def _keep_place(self, words: PartedText, part: Part, y: int) -> None:
        self._settle()
        bar = self.verticalScrollBar()
        moved = words.mapTo(self.viewport(), QPoint(0, part.top)).y() - y
        if bar.value() + moved > bar.maximum() and self.make_more():
            moved = words.mapTo(self.viewport(), QPoint(0, part.top)).y() - y
        if moved:
            self._scroll_to(bar.value() + moved)

    def _render_view(self, view: MessageView, budget_s: float) -> bool:
        more = view.render_step(max(0.001, budget_s))
        if not more:
            self.rendered(view)
        return more

    def _render_now(self) -> None:
        """Draws what is seen before it is shown, as far as that is quick."""
        until = time.perf_counter() + OPENING_S
        for view in self._views.values():
            self._fit(view)
        while time.perf_counter() < until:
            self._settle()
            if self._follow:
                self._stick()
            self._look()
            if not self._draw(until):
                break
        self._settle()

    def _fit(self, view: MessageView) -> None:
        width = min(COLUMN, max(200, self.viewport().width() - 2 * MARGIN - SCROLLBAR))
        view.resize(width, view.height())
        view.fit()
        view.settle()

    # Keys
    def focusNextPrevChild(self, forward: bool) -> bool:
        """Makes what Tab is to come to."""
        now = QApplication.focusWidget()
        if now is None or not now.isVisible():
            # What had the focus was hidden: to scroll now would lose the reader's place.
            return QWidget.focusNextPrevChild(self, forward)
        for view in self._views.values():
            if view.isAncestorOf(now):
                view.words.draw_around(now)
        self._order()
        return super().focusNextPrevChild(forward)

    def _order(self) -> None:
        order_stops(self._page, self._holder)
