"""The text of one turn, in as many documents as keep each of them quick to edit.

Most turns are one document. A long one goes on in further ones, below each other; a document
that is finished is never touched again. After a theme change only what is seen is made
again; the rest keeps its height and waits for `wake`. Main thread only.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from PySide6.QtCore import QPoint, QSize, Signal
from PySide6.QtGui import QContextMenuEvent, QTextCursor
from PySide6.QtWidgets import QSizePolicy, QVBoxLayout, QWidget

from ui.markdown_render import CodeRegion
from ui.markdown_stream import Handover
from ui.message_body import MessageBody
from ui.theme import theme

PART = 24 * 1024
"""Characters of a document after which the text goes on in another one."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A place found: the document it is in, and where."""

    part: MessageBody
    cursor: QTextCursor


class AnswerText(QWidget):
    """`markdown=False` shows plain text (a person's message)."""

    link_clicked = Signal(str)
    menu_requested = Signal(QContextMenuEvent, str)
    """The event and the address under the pointer ("" without one)."""
    code_copied = Signal(str)
    height_changed = Signal()
    selecting = Signal(object, object)
    """(document, global place) while a selection is drawn with the mouse; place None: ended."""

    def __init__(self, name: str, markdown: bool = True, part: int = PART) -> None:
        super().__init__()
        self._name = name
        self._markdown = markdown
        self._part = part
        self._raw: list[str] = []
        self._pending: list[MessageBody] = []
        self._caret = False
        self._scale = theme().scale
        self._width = 0
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(0)
        self.parts: list[MessageBody] = []
        self._add(None)

    def _add(self, before: Handover | None) -> MessageBody:
        made = MessageBody(self._name, self._markdown, self._part, before)
        made.link_clicked.connect(self.link_clicked)
        made.menu_requested.connect(lambda e: self.menu_requested.emit(e, made.anchorAt(e.pos())))
        made.code_clicked.connect(lambda index: self.code_copied.emit(self._code(made, index)))
        made.height_changed.connect(self.height_changed)
        made.selecting.connect(lambda place: self.selecting.emit(made, place))
        if self._width:
            made.setFixedWidth(self._width)
        if self.parts:
            made.resize(self.parts[-1].size())
            self.parts[-1].set_caret(False)
        self.parts.append(made)
        self._column.addWidget(made)
        self._pending.append(made)
        return made

    def _keep_first(self) -> None:
        for spare in self.parts[1:]:
            self._column.removeWidget(spare)
            spare.hide()
            spare.deleteLater()
        del self.parts[1:]
        self._pending = [self.parts[0]]

    # Content
    @property
    def raw(self) -> str:
        """The text exactly as it was given."""
        if len(self._raw) > 1:
            self._raw = ["".join(self._raw)]
        return self._raw[0] if self._raw else ""

    def has_text(self) -> bool:
        return any(self._raw)

    def set_plain(self, text: str) -> None:
        self._raw = [text]
        self._keep_first()
        pieces = _cut(text, self._part)
        self.parts[0].set_plain(pieces[0])
        for piece in pieces[1:]:
            self._add(None).set_plain(piece)

    def set_markdown(self, text: str, final: bool = True) -> None:
        """Starts over with `text`; the caller goes on with `render_step`."""
        self._raw = [text]
        self._keep_first()
        self.parts[0].set_markdown(text, final)
        self.parts[0].set_caret(self._caret)

    def append(self, text: str) -> None:
        """More Markdown; drawn by `render_step`."""
        self._raw.append(text)
        last = self.parts[-1]
        if last.stream is not None:
            last.stream.append(text)
            self._want(last)

    def finish(self) -> None:
        """No more text will come."""
        last = self.parts[-1]
        if last.stream is not None:
            last.stream.finish()
            self._want(last)

    def _want(self, part: MessageBody) -> None:
        if part not in self._pending:
            self._pending.append(part)

    def render_step(self, budget_s: float) -> bool:
        """Renders what has come for about `budget_s`; True while there is more."""
        until = time.perf_counter() + budget_s
        waits = []
        while self._pending:
            part = self._pending.pop(0)
            more = not part.stale and part.render_step(max(0.001, until - time.perf_counter()))
            if (rest := part.hand_over()) is not None:
                self._want(part)
                self._add(rest).set_caret(self._caret)
            elif more:
                waits.append(part)
            if time.perf_counter() > until:
                break
        self._pending = waits + self._pending
        return bool(self._pending)

    def set_caret(self, on: bool) -> None:
        """A block after the last character while the answer grows."""
        self._caret = on
        self.parts[-1].set_caret(on)

    def _code(self, part: MessageBody, index: int) -> str:
        """The whole code block, also when it goes on in other documents."""
        at = self.parts.index(part)
        own = self._regions(at)
        if index >= len(own):
            return ""
        pieces = [own[index].code]
        up, first = at, index
        while first == 0 and self._begins_in_code(up):
            up -= 1
            above = self._regions(up)
            pieces.insert(0, above[-1].code)
            first = len(above) - 1
        down, last = at, index == len(own) - 1
        while last and down + 1 < len(self.parts) and self._begins_in_code(down + 1):
            down += 1
            below = self._regions(down)
            pieces.append(below[0].code)
            last = len(below) == 1
        return "\n".join(pieces)

    def _regions(self, at: int) -> list[CodeRegion]:
        stream = self.parts[at].stream
        return stream.regions if stream is not None else []

    def _begins_in_code(self, at: int) -> bool:
        stream = self.parts[at].stream
        return stream is not None and stream.begins_in_code

    # A new look
    def before_restyle(self, top: int, bottom: int) -> None:
        """Empties what a theme change would only slow down; `top` and `bottom` are what is
        seen, in this widget's px."""
        for part in self.parts:
            if part.y() + part.height() < top or part.y() > bottom:
                part.rest()
            elif len(part.raw) > PART // 2:
                part.blank()

    def restyle(self) -> None:
        """After a theme change; what is out of sight waits for `wake`."""
        by, self._scale = theme().scale / self._scale, theme().scale
        for part in self.parts:
            part.scale(by)
            if not part.stale:
                part.wake()
                self._want(part)

    def wake(self, top: int, bottom: int) -> bool:
        """Makes again what was emptied between `top` and `bottom`; True when there was any."""
        found = False
        for part in self.parts:
            if part.stale and part.y() + part.height() >= top and part.y() <= bottom:
                part.wake()
                self._want(part)
                found = True
        return found

    def resting(self) -> bool:
        """True while some of it waits for `wake`."""
        return any(part.stale for part in self.parts)

    # Size
    def ideal_width(self) -> int:
        """Width the text would take on unbroken lines, in px."""
        return max(part.ideal_width() for part in self.parts)

    def set_text_width(self, width: int) -> None:
        if width != self._width:
            self._width = width
            self.setFixedWidth(width)
            for part in self.parts:
                part.setFixedWidth(width)

    def minimumSizeHint(self) -> QSize:
        return QSize(40, 10)

    def settle(self) -> None:
        """Passes a new height on to the layout around at once."""
        self._column.activate()

    # Reading
    def toPlainText(self) -> str:
        return "\n".join(part.toPlainText() for part in self.parts)

    def beginning(self, size: int) -> str:
        """The first `size` characters of what is shown."""
        return self.parts[0].toPlainText()[:size]

    def selected_text(self) -> str:
        return next((t for part in self.parts if (t := part.selected_text())), "")

    def find_all(self, term: str, case: bool) -> list[Hit]:
        """All places of `term` in what is shown."""
        return [Hit(part, c) for part in self.parts for c in part.find_all(term, case)]

    def mark_hits(self, hits: list[Hit], current: int = -1) -> None:
        """Shows hits with a background; `current` is the index of the strong one, -1 none."""
        strong = hits[current] if 0 <= current < len(hits) else None
        for part in self.parts:
            own = [hit for hit in hits if hit.part is part]
            part.mark_hits([h.cursor for h in own], own.index(strong) if strong in own else -1)

    def y_of(self, hit: Hit) -> int:
        """Where a hit begins, in this widget's px."""
        return hit.part.mapTo(self, QPoint(0, hit.part.cursorRect(hit.cursor).top())).y()


def _cut(text: str, size: int) -> list[str]:
    """Pieces of about `size` characters, cut at line ends (which are dropped there)."""
    pieces: list[str] = []
    while len(text) > 2 * size:
        at = text.find("\n", size)
        if at < 0 or at > 2 * size:
            at = size - 1
            pieces.append(text[:size])
        else:
            pieces.append(text[:at])
        text = text[at + 1 :]
    return [*pieces, text]
