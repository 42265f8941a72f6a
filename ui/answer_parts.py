"""A long text as parts: each a document of its own, drawn only where somebody looks.

A part keeps its text and its height; its widget comes and goes. Main thread only.
"""

from __future__ import annotations

from PySide6.QtGui import QTextDocument

from ui.format import clean_text
from ui.markdown_source import PartSource
from ui.markdown_stream import MarkdownStream
from ui.message_body import MessageBody
from ui.theme import theme

SAMPLE = 16 * 1024
"""Characters of a text by which the height of all of it is judged."""
LETTER = 6.6
"""About the width of a letter, in px before scaling."""
LINE, CODE_LINE, ROW, GAP = 21, 19, 34, 8
"""About the heights of a line, a line of code, a row of a table and a gap, unscaled."""


class Part:
    """`source` for Markdown, `plain` for a person's words; `height` in px, measured at
    `width` (0: estimated)."""

    def __init__(self, source: PartSource | None = None, plain: str = "") -> None:
        self._source = source
        self.plain = plain
        self.body: MessageBody | None = None
        self.drawn = False
        """Its widget shows all of its text."""
        self.top = 0
        self.height = 0
        self.width = 0

    @property
    def source(self) -> PartSource | None:
        if self.body is not None and self.body.stream is not None:
            return self.body.stream.source
        return self._source

    @property
    def bottom(self) -> int:
        return self.top + self.height

    @property
    def text(self) -> str:
        """Its Markdown or plain text, with control characters made harmless."""
        source = self.source
        return self.plain if source is None else source.text

    def make(self, name: str) -> MessageBody:
        """Its widget, empty at first."""
        source = self._source
        if source is not None:
            source = source.again()
        self.body = body = MessageBody(name, source is not None, source)
        if source is None:
            body.set_plain(self.plain)
        self.drawn = False
        return body

    def adopt(self, body: MessageBody) -> None:
        """Takes a widget that showed something else."""
        if self._source is None:
            body.set_plain(self.plain)
        else:
            body.restart(self._source)
        self.body, self.drawn = body, self._source is None

    def drop(self) -> MessageBody | None:
        """Gives up its widget; text and height stay."""
        body = self.body
        self._source, self.body, self.drawn = self.source, None, False
        return body

    def estimate(self, width: int) -> int:
        """About how tall it will be, in px."""
        source, text = self.source, self.text
        code = source is not None and source.lead.fence is not None
        height = estimate(text[:SAMPLE], width, source is not None, code)
        return height * len(text) // SAMPLE if len(text) > SAMPLE else height

    def shown(self) -> str:
        """The text without markup, whether it is drawn or not."""
        if self.body is not None and self.drawn:
            return self.body.toPlainText()
        source = self.source
        if source is None:
            return self.plain
        document = QTextDocument()
        MarkdownStream(document, source.again()).run()
        return document.toPlainText()

    def codes(self) -> list[str]:
        """Its top-level code blocks; the first is the one it begins in the middle of ("")."""
        source = self.source
        if source is None:
            return [""]
        copy = source.again()
        copy.limit = 0
        blocks: list[list[str]] = [[]]
        while (piece := copy.next()) is not None:
            if piece.kind == "code_start":
                blocks.append([])
            elif piece.kind == "code_lines":
                if blocks[-1] and not piece.lead.glued:
                    blocks[-1].append("\n")
                blocks[-1].append(piece.text)
        return ["".join(block) for block in blocks]


def estimate(text: str, width: int, markdown: bool, code: bool) -> int:
    """About how tall `text` is when drawn `width` px wide; `code`: it begins in a block."""
    look = theme()
    letters = max(10, int(width / (LETTER * look.scale)))
    height = 0
    for line in text.split("\n"):
        if line.startswith("```"):
            code, height = not code, height + ROW
        elif code and markdown:
            height += CODE_LINE
        elif not line:
            height += GAP if markdown else LINE
        elif markdown and line[0] == "|":
            height += ROW
        else:
            height += LINE * (1 + len(line) // letters)
    return max(look.px(19), int(height * look.scale))


def pieces_of(text: str, size: int) -> list[str]:
    """Pieces of about `size` characters, cut at line ends (which are dropped there)."""
    text = clean_text(text)
    pieces: list[str] = []
    at = 0
    while len(text) - at > 2 * size:
        end = text.find("\n", at + size, at + 2 * size)
        cut = end if end >= 0 else at + size
        pieces.append(text[at:cut])
        at = cut + (end >= 0)
    return [*pieces, text[at:]]
