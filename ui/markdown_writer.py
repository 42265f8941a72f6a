"""Writes paragraphs and lines of code at the end of a document, and takes them back again.

What Markdown means is told by `markdown_render`; here are the formats, the margins and the
marks to come back to. Main thread only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from PySide6.QtGui import (
    QBrush,
    QFontMetricsF,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFormat,
)

from ui.code_highlighter import paint
from ui.format import steady
from ui.theme import theme

QUOTE = QTextFormat.Property.UserProperty + 1
CODE = QTextFormat.Property.UserProperty + 2
INDENT = 22
CODE_HEAD = 28
"""Height of the strip over a code block, for its language and Copy."""
CODE_PAD = 11
TAB = 4
"""Letters of code from one tab stop to the next."""


@dataclass(slots=True)
class CodeRegion:
    """A code block in the document: position of its first line, position of its last one.

    `above` and `below`: it goes on in the document before or after. `cut`: a line of it
    stands on several lines.
    """

    start: int
    last: int
    language: str
    code: str
    indent: int = 0
    done: bool = False
    above: bool = False
    below: bool = False
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Context:
    """Where a block stands: depth of lists, of quotes, in a list without gaps, and px to the
    right for numbers with many digits."""

    depth: int = 0
    quotes: int = 0
    tight: bool = False
    pad: int = 0


@dataclass(frozen=True, slots=True)
class Mark:
    """A state of the writer to come back to."""

    position: int
    fresh: bool
    after_code: bool
    regions: int
    block: QTextBlockFormat
    muted: bool


class BlockWriter:
    """Appends to a document; `mark` and `rewind` let the open block be written again."""

    def __init__(self, document: QTextDocument, wrap_code: bool = False) -> None:
        self.document = document
        self._wrap_code = wrap_code
        self.regions: list[CodeRegion] = []
        self.painters: list[Iterator[None]] = []
        self.quoted = False
        """Whether a quote was ever written."""
        self._cursor = QTextCursor(document)
        self._fresh = True
        self._first = True
        self._after_code = False
        self._formats()

    def _formats(self) -> None:
        look = theme()
        self.document.setDefaultFont(look.font(14))
        self.document.setDocumentMargin(0)
        self.document.setIndentWidth(look.px(INDENT))
        option = self.document.defaultTextOption()
        letter = QFontMetricsF(look.font(13, mono=True)).horizontalAdvance(" ")
        option.setTabStopDistance(TAB * letter)
        self.document.setDefaultTextOption(option)
        self.base = QTextCharFormat()
        self.base.setForeground(QBrush(look.color("text")))
        self.mono = QTextCharFormat(self.base)
        self.mono.setFontFamilies([look.mono_family])
        self.mono.setFontFixedPitch(True)
        self.mono.setProperty(QTextFormat.Property.FontPixelSize, look.px(13))

    # Position handling
    @property
    def ends_with_code(self) -> bool:
        return self._after_code

    def begin(self) -> None:
        self._cursor.beginEditBlock()

    def end(self) -> None:
        self._cursor.endEditBlock()

    def mark(self) -> Mark:
        self._cursor.movePosition(QTextCursor.MoveOperation.End)
        return Mark(
            self._cursor.position(),
            self._fresh,
            self._after_code,
            len(self.regions),
            self._cursor.blockFormat(),
            self._first,
        )

    def rewind(self, mark: Mark) -> None:
        """Removes everything written since `mark`."""
        cursor = self._cursor
        cursor.movePosition(QTextCursor.MoveOperation.End)
        if cursor.position() > mark.position:
            cursor.setPosition(mark.position, QTextCursor.MoveMode.KeepAnchor)
            cursor.removeSelectedText()
        cursor.setBlockFormat(mark.block)
        self._fresh, self._after_code, self._first = mark.fresh, mark.after_code, mark.muted
        del self.regions[mark.regions :]

    def _block(self, fmt: QTextBlockFormat, chars: QTextCharFormat | None = None) -> None:
        """Starts a block at the end of the document."""
        cursor = self._cursor
        cursor.movePosition(QTextCursor.MoveOperation.End)
        chars = chars or self.base
        if self._after_code and not fmt.hasProperty(CODE):
            fmt.setTopMargin(fmt.topMargin() + theme().px(CODE_PAD + 10))
            self._after_code = False
        if self._first:
            self._lead(CODE_HEAD + CODE_PAD if fmt.hasProperty(CODE) else 0)
        # Qt leaves out the distance between a table and the block right after it.
        after_table = fmt.topMargin() > 0 and self._cursor.block().previous().isValid()
        if self._fresh and not after_table:
            cursor.setBlockFormat(fmt)
            cursor.setBlockCharFormat(chars)
            cursor.setCharFormat(chars)
        else:
            cursor.insertBlock(fmt, chars)
        self._fresh = False
        self._first = False

    def _lead(self, room: int) -> None:
        """Room above the first block; Qt leaves that block's own top margin out."""
        root = self.document.rootFrame()
        fmt = root.frameFormat()
        wanted = theme().px(room) if room else 0
        if fmt.topMargin() != wanted:
            fmt.setTopMargin(wanted)
            root.setFrameFormat(fmt)

    def _format(self, context: Context, top: int = 0, bottom: int = 8) -> QTextBlockFormat:
        look = theme()
        fmt = QTextBlockFormat()
        fmt.setLineHeight(124, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
        fmt.setTopMargin(0 if self._first else look.px(top) if top else 0)
        fmt.setBottomMargin(look.px(2 if context.tight else bottom))
        fmt.setIndent(context.depth)
        fmt.setLeftMargin(look.px(14) * context.quotes + context.pad)
        if context.quotes:
            fmt.setProperty(QUOTE, context.quotes)
            self.quoted = True
        return fmt

    # Code
    def _code_format(self, indent: int, head: bool) -> QTextBlockFormat:
        look = theme()
        fmt = QTextBlockFormat()
        fmt.setProperty(CODE, 1)
        fmt.setLineHeight(look.px(19), QTextBlockFormat.LineHeightTypes.MinimumHeight.value)
        fmt.setLeftMargin(look.px(13))
        fmt.setRightMargin(look.px(13))
        fmt.setIndent(indent)
        fmt.setNonBreakableLines(not self._wrap_code)
        if head:
            gap = CODE_PAD + 10 if self._after_code else 0 if self._first else 6
            fmt.setTopMargin(look.px(gap + CODE_HEAD + CODE_PAD))
        return fmt

    def code_start(self, language: str, indent: int = 0, goes_on: bool = False) -> None:
        """Begins a code block; `goes_on`: it began in the document before."""
        self._block(self._code_format(indent, not goes_on), self.mono)
        at = self._cursor.position()
        self.regions.append(CodeRegion(at, at, language, "", indent, above=goes_on))
        if goes_on:
            self._lead(0)
        self._after_code = True

    def code_lines(self, text: str, first: bool, glued: bool = False) -> None:
        """Adds lines to the open code block; `first` when it holds none yet, `glued` when
        they begin in the middle of a line."""
        region = self.regions[-1]
        fmt = self._code_format(region.indent, False)
        for number, line in enumerate(text.split("\n")):
            if glued and not number and not line:
                continue
            if number or not first:
                self._block(fmt, self.mono)
            self._cursor.insertText(steady(line), self.mono)
            region.last = self._cursor.block().position()
        join = "" if glued or first else "\n"
        region.code = f"{region.code}{join}{text}"
        region.cut = region.cut or glued
        self._after_code = True

    def code_end(self, goes_on: bool = False) -> None:
        """Ends the code block; `goes_on`: only in this document."""
        region = self.regions[-1]
        region.done, region.below = True, goes_on
        words = region.language.split()
        if words and not region.cut:
            self.painters.append(paint(self.document, region.start, region.code, words[0]))
