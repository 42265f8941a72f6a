"""A text as parts below each other, of which only those near the reader are drawn.

`look` says what is seen; `render_step` cuts and draws within a time budget, what is seen
first. Parts out of sight keep their height (an estimate until they were drawn once) and lose
their widget when they are far away. Without a `look` everything is taken to be seen. Main
thread only.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from PySide6.QtCore import QCoreApplication, QEvent, QSize, Signal
from PySide6.QtGui import QContextMenuEvent, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from ui.answer_parts import Part
from ui.markdown_source import PartSource
from ui.message_body import MessageBody
from ui.part_selection import PartSelection
from ui.theme import COLUMN, theme

PART = 6 * 1024
"""Characters of a document after which the text goes on in another one."""
AHEAD = 900
"""Pixels above and below the screen within which parts are drawn."""
FAR = 6000
"""Pixels from the screen beyond which parts do not keep their widget."""
TALLEST = 15_000_000
"""Pixels; Qt has no taller widgets."""
EVERYTHING = (-(1 << 40), 1 << 40)


class PartedText(QWidget):
    """Subclasses say what the parts hold."""

    link_clicked = Signal(str)
    menu_requested = Signal(QContextMenuEvent, str)
    """The event and the address under the pointer ("" without one)."""
    code_copied = Signal(str)
    height_changed = Signal()
    selecting = Signal(object, object)
    """(selection, global place) while one is drawn with the mouse; place None: it ended."""

    def __init__(self, name: str, size: int) -> None:
        super().__init__()
        self._name = name
        self._size = size
        self._caret = False
        self._scale = theme().scale
        self._width = 0
        self._seen = EVERYTHING
        self._placing = False
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.parts: list[Part] = []
        self.selection = PartSelection(self)

    def copy_code(self, part: Part, index: int) -> None:
        """Copy was pressed over a code block of a part."""

    def follow_code(self, part: Part, index: int, px: int) -> None:
        """A code block of a part was moved sideways."""

    # Parts
    def start_over(self, parts: list[Part]) -> None:
        """Other parts; the first widget goes on, so that nothing flickers."""
        self.selection.clear()
        kept = self.parts[0].drop() if self.parts else None
        for part in self.parts[1:]:
            self.drop(part)
        self.parts = parts
        width = self._width or COLUMN
        for part in parts:
            part.height = part.estimate(width)
        if kept is not None and not self._is_long(parts[0]):
            parts[0].adopt(kept)
        elif kept is not None:
            _end(kept)
        self._place()

    def _is_long(self, part: Part) -> bool:
        """True for a text that must be cut before it is drawn: the last, when it is long."""
        source = part.source
        return source is not None and part.body is None and source.left > 2 * self._size

    def body_of(self, part: Part) -> MessageBody:
        """The widget of a part, made when it has none."""
        if part.body is not None:
            return part.body
        body = part.make(self._name)
        body.setParent(self)
        body.link_clicked.connect(self.link_clicked)
        body.menu_requested.connect(lambda e: self.menu_requested.emit(e, body.anchorAt(e.pos())))
        body.code_clicked.connect(lambda index: self._on_code(body, self.copy_code, index))
        body.code_scrolled.connect(
            lambda index, px: self._on_code(body, self.follow_code, index, px)
        )
        body.height_changed.connect(lambda: self._on_height(body))
        self.selection.watch(body)
        body.hold_height(part.height)
        body.resize(self._width or self.width(), part.height)
        body.move(0, part.top)
        body.set_caret(self._caret and part is self.parts[-1])
        body.show()
        self.selection.show_in(part)
        return body

    def part_of(self, body: MessageBody) -> Part | None:
        """The part a widget shows; None for one that is on its way out."""
        return next((part for part in self.parts if part.body is body), None)

    def _on_code(self, body: MessageBody, do: Callable[..., None], *args: int) -> None:
        part = self.part_of(body)
        if part is not None:
            do(part, *args)

    def drop(self, part: Part, at_once: bool = False) -> None:
        """Gives up the widget of a part. `at_once`: also for Qt, which would restyle it."""
        body = part.drop()
        if body is not None:
            _end(body)
            if at_once:
                QCoreApplication.sendPostedEvents(body, QEvent.Type.DeferredDelete.value)

    # What is seen
    def look(self, top: int, bottom: int) -> bool:
        """What is seen, in this widget's px; True when there is something to be drawn."""
        self._seen = (top, bottom)
        for part in self.parts:
            body = part.body
            if body is None:
                continue
            if part.bottom < top - FAR or part.top > bottom + FAR:
                if self._may_drop(part, body):
                    self.drop(part)
            else:
                body.tools.look(top - part.top, bottom - part.top)
        return self._is_long(self.parts[-1]) or bool(self._undone())

    def _may_drop(self, part: Part, body: MessageBody) -> bool:
        growing = part is self.parts[-1] and part.source is not None and not part.source.final
        return not growing and not body.hasFocus() and not self.selection.touches(part)

    def _is_near(self, part: Part, ahead: int) -> bool:
        return part.bottom >= self._seen[0] - ahead and part.top <= self._seen[1] + ahead

    def _undone(self) -> list[Part]:
        """What is near and not drawn as it should be; what is seen comes first."""
        found = [
            part
            for part in self.parts
            if not (part.drawn and part.width == self._width)
            and self._is_near(part, AHEAD)
            and not self._is_long(part)
        ]
        found.sort(key=lambda part: not self._is_near(part, 0))
        return found

    # Cutting and drawing
    def render_step(self, budget_s: float) -> bool:
        """Cuts and draws for about `budget_s`; True while there is more."""
        self._check_width()
        begin = time.perf_counter()
        undone = self._undone()
        if self._is_long(self.parts[-1]):
            self._cut(begin + (budget_s / 2 if undone else budget_s))
            undone = self._undone()
        self._placing = True
        for part in undone:
            self._draw(part, begin + budget_s)
            if time.perf_counter() > begin + budget_s:
                break
        self._placing = False
        self._place()
        return self._is_long(self.parts[-1]) or bool(self._undone())

    def draw_part(self, part: Part) -> MessageBody:
        """Draws one part whole, now; what it takes is bounded by the size of a part."""
        body = self.body_of(part)
        while not part.drawn and not self._is_long(part):
            self._draw(part, time.perf_counter() + 1.0)
        self._place()
        return body

    def draw_around(self, inside: QWidget) -> None:
        """Draws the parts before and after the one `inside` is in, for the Tab key."""
        for at, part in enumerate(self.parts):
            body = part.body
            if body is not None and (body is inside or body.isAncestorOf(inside)):
                for near in self.parts[max(0, at - 1) : at + 2]:
                    self.draw_part(near)
                return

    def cut_all(self) -> None:
        """Cuts what is left, now: about half a second for a megabyte."""
        while self._is_long(self.parts[-1]):
            self._cut(time.perf_counter() + 1.0)
        self._place()

    def _cut(self, until: float) -> None:
        while self._is_long(last := self.parts[-1]) and time.perf_counter() < until:
            source = last.source
            if source is not None:
                source.skip(until)
                if source.full:
                    self._go_on(last)

    def _go_on(self, part: Part) -> None:
        """The last part is full: the rest of its text is for a new one."""
        body, source = part.body, part.source
        if source is None:
            return
        rest = body.hand_over() if body is not None else source.hand_over()
        width = self._width or COLUMN
        if body is None:
            part.height = part.estimate(width)
        else:
            body.set_caret(False)
        made = Part(PartSource(self._size, rest))
        made.top, made.height = part.bottom, made.estimate(width)
        self.parts.append(made)

    def _draw(self, part: Part, until: float) -> None:
        body = self.body_of(part)
        if part.width != self._width and self._width:
            body.resize(self._width, body.height())
        more = body.render_step(max(0.001, until - time.perf_counter()))
        if body.stream is not None and body.stream.full:
            self._go_on(part)
            more = body.render_step(max(0.001, until - time.perf_counter()))
        part.drawn = not more
        part.width, part.height = self._width, body.height()

    def set_caret(self, on: bool) -> None:
        """A block after the last character while the answer grows."""
        self._caret = on
        body = self.parts[-1].body
        if body is not None:
            body.set_caret(on)

    # A new look
    def before_restyle(self, top: int, bottom: int) -> None:
        """Gives up what a theme change would only slow down; `top` and `bottom` are what is
        seen, in this widget's px."""
        for part in self.parts:
            if part.body is not None:
                if part.bottom < top or part.top > bottom:
                    self.drop(part, at_once=True)
                else:
                    part.body.blank()

    def restyle(self) -> None:
        """After a theme change; drawn by `render_step`."""
        by, self._scale = theme().scale / self._scale, theme().scale
        for part in self.parts:
            part.height = round(part.height * by)
            if part.body is not None:
                part.body.hold_height(part.height)
                part.body.again()
                part.drawn = False
        self._place()
        self._check_width()

    # Size
    def minimumSizeHint(self) -> QSize:
        return QSize(40, 10)

    def set_text_width(self, width: int) -> None:
        if width != self._width:
            self.setFixedWidth(width)
            self._check_width()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._check_width()

    def _check_width(self) -> None:
        """What is seen is laid out for a new width at once, the rest when it is near."""
        old, width = self._width, self.width()
        if width == old or theme().restyling:
            return
        self._width = width
        self._placing = True
        for part in self.parts:
            if part.body is not None and self._is_near(part, 0):
                part.body.resize(width, part.body.height())
                part.width, part.height = width, part.body.height()
            elif old:
                part.height = round(part.height * old / width)
            else:
                part.height = part.estimate(width)
        self._placing = False
        self._place()

    def _on_height(self, body: MessageBody) -> None:
        part = self.part_of(body)
        if part is not None:
            part.height = body.height()
            self._place()

    def _place(self) -> None:
        """Puts the parts below each other."""
        if self._placing:
            return
        y = 0
        for part in self.parts:
            part.top = y
            if part.body is not None and part.body.y() != y:
                part.body.move(0, y)
            y += part.height
        y = min(y, TALLEST)
        if y != self.height() or self.minimumHeight() != y:
            self.setFixedHeight(y)
            self.height_changed.emit()


def _end(body: MessageBody) -> None:
    body.hide()
    body.deleteLater()
