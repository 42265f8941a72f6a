"""One selection over all the documents of a text: drawn with the mouse, taken whole, copied.

Qt selects within one document; here the others between the pressed one and the one under the
pointer are selected too. Main thread only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint

if TYPE_CHECKING:
    from ui.answer_parts import Part
    from ui.message_body import MessageBody
    from ui.parted_text import PartedText


class PartSelection:
    """Knows the part a selection began in and the one it has come to."""

    def __init__(self, owner: PartedText) -> None:
        self._owner = owner
        self._from: Part | None = None
        self._to: Part | None = None

    def watch(self, body: MessageBody) -> None:
        """Follows what is done in a new widget."""
        body.selecting.connect(lambda place: self._on_selecting(body, place))
        body.selection_left.connect(self.clear)
        body.whole_selection = self.text
        body.select_everything = self.select_all

    def clear(self) -> None:
        """Nothing is selected any more."""
        for part in self._span():
            if part.body is not None:
                part.body.unselect()
        self._from = self._to = None

    def touches(self, part: Part) -> bool:
        """True when a part is in the selection and must keep its widget."""
        if part is self._from or part is self._to:
            return True
        return part.body is not None and part.body.textCursor().hasSelection()

    def _span(self) -> list[Part]:
        """The parts of a selection over several, from top to bottom."""
        parts = self._owner.parts
        if self._from not in parts or self._to not in parts or self._from is self._to:
            return []
        first, last = sorted((parts.index(self._from), parts.index(self._to)))
        return parts[first : last + 1]

    def text(self) -> str:
        """What is selected, without markup."""
        span = self._span()
        if not span:
            bodies = (part.body for part in self._owner.parts if part.body is not None)
            return next((text for body in bodies if (text := body.selected_text())), "")
        ends = (span[0], span[-1])
        return "\n".join(
            part.body.selected_text() if part in ends and part.body is not None else part.shown()
            for part in span
        )

    def select_all(self) -> None:
        self._owner.cut_all()
        self._from, self._to = self._owner.parts[0], self._owner.parts[-1]
        for part in (self._from, self._to):
            self._owner.draw_part(part)
        for part in self._owner.parts:
            if part.body is not None:
                part.body.select(0, -1)

    def show_in(self, part: Part) -> None:
        """Selects what of a part that was just made is in the selection."""
        if part in self._span()[1:-1] and part.body is not None:
            part.body.select(0, -1)

    def select_to(self, place: QPoint) -> None:
        """Moves the loose end of the selection to a global place."""
        if self._from is not None and self._from.body is not None:
            self._draw(self._from, self._from.body, place)

    def _on_selecting(self, body: MessageBody, place: QPoint | None) -> None:
        begun = self._owner.part_of(body)
        if place is not None and begun is not None:
            self._draw(begun, body, place)
        self._owner.selecting.emit(self, place)

    def _draw(self, begun: Part, body: MessageBody, place: QPoint) -> None:
        old = self._span()
        self._from, self._to = begun, self._under(place)
        span = self._span()
        for part in old:
            if part not in span and part.body is not None:
                part.body.unselect()
        down = bool(span) and span[0] is begun
        if not span:
            body.select(body.textCursor().anchor(), body.position_at(place))
        for part in span:
            if part is begun:
                body.select(body.textCursor().anchor(), -1 if down else 0)
            elif part is self._to:
                end = self._owner.draw_part(part)
                end.select(0 if down else -1, end.position_at(place))
            elif part.body is not None:
                part.body.select(0, -1)

    def _under(self, place: QPoint) -> Part:
        parts = self._owner.parts
        y = self._owner.mapFromGlobal(place).y()
        return next((part for part in parts if y < part.bottom), parts[-1])
