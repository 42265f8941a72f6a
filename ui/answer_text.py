"""The text of one turn: Markdown that grows, or a person's words. Main thread only.

How it is drawn part by part is told by `parted_text`; here it is filled, read, searched and
copied from.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from PySide6.QtCore import QPoint
from PySide6.QtGui import QFontMetrics, QTextCursor

from ui.answer_parts import Part, pieces_of
from ui.markdown_source import PartSource
from ui.message_body import MessageBody
from ui.parted_text import PART, PartedText
from ui.theme import theme


@dataclass(frozen=True, slots=True)
class Hit:
    """A place found: the document it is in, and where."""

    body: MessageBody
    cursor: QTextCursor


class AnswerText(PartedText):
    """`markdown=False` shows plain text (a person's message)."""

    def __init__(self, name: str, markdown: bool = True, part: int = PART) -> None:
        super().__init__(name, part)
        self._raw: list[str] = []
        self.start_over([Part(PartSource(part)) if markdown else Part()])

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
        self.start_over([Part(plain=piece) for piece in pieces_of(text, self._size)])

    def set_markdown(self, text: str, final: bool = True) -> None:
        """Starts over with `text`; the caller goes on with `render_step`."""
        self._raw = [text]
        source = PartSource(self._size)
        source.append(text)
        if final:
            source.finish()
        self.start_over([Part(source)])
        self.set_caret(self._caret)

    def append(self, text: str) -> None:
        """More Markdown; drawn by `render_step`."""
        self._raw.append(text)
        last = self.parts[-1]
        if last.source is not None:
            last.source.append(text)
            last.drawn = False

    def finish(self) -> None:
        """No more text will come."""
        last = self.parts[-1]
        if last.body is not None and last.body.stream is not None:
            last.body.stream.finish()
        elif last.source is not None:
            last.source.finish()
        last.drawn = False

    # Size
    def ideal_width(self) -> int:
        """Width the text would take on unbroken lines, in px."""
        first = self.parts[0]
        if first.body is not None and len(self.parts) == 1:
            return first.body.ideal_width()
        metrics = QFontMetrics(theme().font(14))
        lines = first.text.split("\n")
        return max(metrics.horizontalAdvance(line.replace("\t", " " * 12)) for line in lines) + 2

    # Reading
    def toPlainText(self) -> str:
        """What is shown, and what would be where nothing is drawn yet."""
        self.cut_all()
        return "\n".join(part.shown() for part in self.parts)

    def beginning(self, size: int) -> str:
        """The first `size` characters of what is shown; Markdown until it is drawn."""
        first = self.parts[0]
        if first.body is not None and first.drawn:
            return first.body.toPlainText()[:size]
        return first.text[:size]

    def selected_text(self) -> str:
        return self.selection.text()

    # Finding
    def find_all(self, term: str, case: bool) -> list[Hit]:
        """All places of `term` in what is drawn."""
        bodies = [part.body for part in self.parts if part.body is not None]
        return [Hit(body, cursor) for body in bodies for cursor in body.find_all(term, case)]

    def find_nth(self, nth: int, term: str, case: bool) -> Hit | None:
        """The place number `nth`, counted in the raw text; draws the part it is in."""
        self.cut_all()
        pattern = re.compile(re.escape(term), 0 if case else re.IGNORECASE)
        for part in self.parts:
            count = sum(1 for _ in pattern.finditer(part.text))
            if nth >= count:
                nth -= count
                continue
            body = self.draw_part(part)
            found = body.find_all(term, case)
            return Hit(body, found[min(nth, len(found) - 1)]) if found else None
        return None

    def mark_hits(self, hits: list[Hit], current: Hit | None = None) -> None:
        """Shows hits with a background, the `current` one with a strong one."""
        for part in self.parts:
            body = part.body
            if body is not None:
                own = [hit.cursor for hit in hits if hit.body is body]
                strong = -1
                if current is not None and current.body is body:
                    place = current.cursor.position()
                    strong = next((n for n, c in enumerate(own) if c.position() == place), -1)
                body.mark_hits(own, strong)

    def y_of(self, hit: Hit) -> int:
        """Where a hit begins, in this widget's px; code is scrolled so that it is seen."""
        hit.body.reveal(hit.cursor)
        return hit.body.mapTo(self, QPoint(0, hit.body.cursorRect(hit.cursor).top())).y()

    # Copying
    def copy_code(self, part: Part, index: int) -> None:
        """The whole code block, also when it goes on in other parts."""
        self.cut_all()
        stream = part.body.stream if part.body is not None else None
        regions = stream.regions if stream is not None else []
        if index >= len(regions):
            return
        code = regions[index].code
        at = self.parts.index(part)
        up, above = at, regions[index].above
        while above and up > 0:
            glue = _glue(self.parts[up])
            up -= 1
            blocks = self.parts[up].codes()
            code = blocks[-1] + glue + code
            above = len(blocks) == 1
        down, below = at, regions[index].below
        while below and down + 1 < len(self.parts):
            down += 1
            blocks = self.parts[down].codes()
            code += _glue(self.parts[down]) + blocks[0]
            below = len(blocks) == 1 and self._begins_in_code(down + 1)
        self.code_copied.emit(code)

    def follow_code(self, part: Part, index: int, px: int) -> None:
        """A code block over several parts moves sideways as one."""
        at = self.parts.index(part)
        stream = part.body.stream if part.body is not None else None
        regions = stream.regions if stream is not None else []
        below = self.parts[at + 1].body if at + 1 < len(self.parts) else None
        if regions[index].below and below is not None:
            below.tools.follow(0, px)
        above = self.parts[at - 1].body if at > 0 else None
        if regions[index].above and above is not None and above.stream is not None:
            above.tools.follow(len(above.stream.regions) - 1, px)

    def _begins_in_code(self, at: int) -> bool:
        source = self.parts[at].source if at < len(self.parts) else None
        return source is not None and source.lead.fence is not None


def _glue(part: Part) -> str:
    """What stands between a part that begins in code and the code before it."""
    return "" if part.source is not None and part.source.lead.glued else "\n"
