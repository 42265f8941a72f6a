"""Writes Markdown blocks into a `QTextDocument` with the theme's type and colours.

The tokens of markdown-it-py are written with a text cursor. Qt's own Markdown import is not
used: inserted piece by piece it drops the first block's format (heading, list, quote), and a
second parser would disagree with the first about block boundaries. HTML stays text, images
become their words and address, so a document never asks for a resource. Main thread only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from PySide6.QtGui import (
    QBrush,
    QFont,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFormat,
    QTextLength,
    QTextList,
    QTextListFormat,
)

from ui.code_highlighter import paint
from ui.format import steady
from ui.markdown_blocks import parser
from ui.markdown_inline import write_inline
from ui.markdown_table import table_rows, write_table
from ui.theme import theme

if TYPE_CHECKING:
    from markdown_it.token import Token

QUOTE = QTextFormat.Property.UserProperty + 1
CODE = QTextFormat.Property.UserProperty + 2
INDENT = 22
CODE_HEAD = 28
"""Height of the strip over a code block, for its language and Copy."""
CODE_PAD = 11
_HEADING_SIZES = {1: 20, 2: 18, 3: 16}
_BOX = re.compile(r"\[([ xX])\] ")


@dataclass(slots=True)
class CodeRegion:
    """A code block in the document: position of its first line, position of its last one."""

    start: int
    last: int
    language: str
    code: str
    indent: int = 0
    done: bool = False


@dataclass(frozen=True, slots=True)
class _Context:
    """Where a block stands: depth of lists, of quotes, and the list it is an item of."""

    depth: int = 0
    quotes: int = 0
    tight: bool = False


@dataclass(frozen=True, slots=True)
class Mark:
    """A state of the writer to come back to."""

    position: int
    fresh: bool
    after_code: bool
    regions: int
    block: QTextBlockFormat
    muted: bool


class MarkdownWriter:
    """Appends to a document; `mark` and `rewind` let the open block be written again."""

    def __init__(self, document: QTextDocument) -> None:
        self.document = document
        self.regions: list[CodeRegion] = []
        self.painters: list[Iterator[None]] = []
        self._cursor = QTextCursor(document)
        self._fresh = True
        self._first = True
        self._after_code = False
        self._item: tuple[QTextList | None, QTextListFormat] | None = None
        self._list_of_item: QTextList | None = None
        self._formats()

    def _formats(self) -> None:
        look = theme()
        self.document.setDefaultFont(look.font(14))
        self.document.setDocumentMargin(0)
        self.document.setIndentWidth(look.px(INDENT))
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
        if self._fresh:
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

    def _format(self, context: _Context, top: int = 0, bottom: int = 8) -> QTextBlockFormat:
        look = theme()
        fmt = QTextBlockFormat()
        fmt.setLineHeight(124, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
        fmt.setTopMargin(0 if self._first else look.px(top) if top else 0)
        fmt.setBottomMargin(look.px(2 if context.tight else bottom))
        fmt.setIndent(context.depth)
        if context.quotes:
            fmt.setProperty(QUOTE, context.quotes)
            fmt.setLeftMargin(look.px(14) * context.quotes)
        return fmt

    # Blocks
    def plain(self, text: str) -> None:
        """Text as it is, one paragraph per line."""
        for line in text.split("\n"):
            self._block(self._format(_Context(), bottom=2))
            self._cursor.insertText(line, self.base)

    def write(self, source: str, final: bool = True) -> None:
        """Writes whole Markdown blocks. `final`: code in them is coloured."""
        tokens = parser().parse(source)
        self._write_tokens(tokens, _Context(), final)

    def _write_tokens(self, tokens: Sequence[Token], context: _Context, final: bool) -> None:
        index = 0
        while index < len(tokens):
            token = tokens[index]
            end = _closing(tokens, index)
            inner = tokens[index + 1 : end]
            kind = token.type
            if kind == "paragraph_open":
                self._paragraph(inner[0], replace(context, tight=context.tight or token.hidden))
            elif kind == "heading_open":
                self._heading(inner[0], int(token.tag[1:]), context)
            elif kind in ("fence", "code_block"):
                self._code_block(token, context, final)
            elif kind == "blockquote_open":
                deeper = replace(context, quotes=context.quotes + 1, tight=False)
                self._write_tokens(inner, deeper, final)
            elif kind in ("bullet_list_open", "ordered_list_open"):
                self._list(token, inner, context, final)
            elif kind == "table_open":
                self._table(inner)
            elif kind == "hr":
                self._rule(context)
            index = max(end, index) + 1

    def _paragraph(self, inline: Token, context: _Context) -> None:
        fmt = self._format(context)
        item, self._item = self._item, None
        children = inline.children or []
        if item is not None and children and (box := _BOX.match(children[0].content)):
            marker = QTextBlockFormat.MarkerType
            fmt.setMarker(marker.Unchecked if box[1] == " " else marker.Checked)
            children[0].content = children[0].content[box.end() :]
        base = self.base
        if context.quotes:
            base = QTextCharFormat(self.base)
            base.setForeground(QBrush(theme().color("muted")))
        self._block(fmt, base)
        if item is not None:
            self._add_item(item)
        write_inline(self._cursor, children, base)

    def _add_item(self, item: tuple[QTextList | None, QTextListFormat]) -> None:
        known, fmt = item
        if known is None:
            self._list_of_item = self._cursor.createList(fmt)
        else:
            known.add(self._cursor.block())

    def _heading(self, inline: Token, level: int, context: _Context) -> None:
        look = theme()
        chars = QTextCharFormat(self.base)
        chars.setFontWeight(QFont.Weight.DemiBold)
        chars.setProperty(
            QTextFormat.Property.FontPixelSize, look.px(_HEADING_SIZES.get(level, 14))
        )
        fmt = self._format(context, top=8, bottom=6)
        fmt.setHeadingLevel(level)
        self._item = None
        self._block(fmt, chars)
        write_inline(self._cursor, inline.children or [], chars)

    def _rule(self, context: _Context) -> None:
        fmt = self._format(context, top=4, bottom=12)
        fmt.setProperty(
            QTextFormat.Property.BlockTrailingHorizontalRulerWidth,
            QTextLength(QTextLength.Type.PercentageLength, 100),
        )
        fmt.setProperty(QTextFormat.Property.BackgroundBrush, QBrush(theme().color("line")))
        self._block(fmt)

    def _list(self, token: Token, inner: Sequence[Token], context: _Context, final: bool) -> None:
        styles = QTextListFormat.Style
        fmt = QTextListFormat()
        fmt.setIndent(context.depth + 1)
        if token.type == "ordered_list_open":
            fmt.setStyle(styles.ListDecimal)
            fmt.setStart(int(token.attrGet("start") or 1))
        else:
            order = (styles.ListDisc, styles.ListCircle, styles.ListSquare)
            fmt.setStyle(order[min(context.depth, 2)])
        made: QTextList | None = None
        index = 0
        deeper = replace(context, depth=context.depth + 1, tight=False)
        while index < len(inner):
            end = _closing(inner, index)
            body = inner[index + 1 : end]
            if not body or body[0].type != "paragraph_open":
                self._block(self._format(replace(deeper, depth=0, tight=True)))
                self._list_of_item = None
                self._add_item((made, fmt))
                made = made or self._list_of_item
                self._write_tokens(body, deeper, final)
            else:
                self._list_of_item = None
                self._item = (made, fmt)
                self._write_item(body, deeper, final)
                made = made or self._list_of_item
            index = end + 1
        self._pad_list(context)

    def _write_item(self, body: Sequence[Token], context: _Context, final: bool) -> None:
        """The first paragraph carries the marker; its indentation comes from the list."""
        end = _closing(body, 0)
        self._paragraph(body[1], replace(context, depth=0, tight=body[0].hidden))
        made = self._list_of_item
        self._write_tokens(body[end + 1 :], context, final)
        self._list_of_item = made

    def _pad_list(self, context: _Context) -> None:
        """The last line of an outermost list keeps a paragraph's distance."""
        if context.depth == 0 and not self._after_code and not self._fresh:
            self._cursor.movePosition(QTextCursor.MoveOperation.End)
            fmt = self._cursor.blockFormat()
            fmt.setBottomMargin(theme().px(8))
            self._cursor.setBlockFormat(fmt)

    def _table(self, inner: Sequence[Token]) -> None:
        rows = table_rows(inner)
        if not rows or not rows[0]:
            return
        self._cursor.movePosition(QTextCursor.MoveOperation.End)
        if self._fresh:
            self._shrink_block()
        write_table(self._cursor, rows, self.base, CODE_PAD + 12 if self._after_code else 2)
        self._cursor.movePosition(QTextCursor.MoveOperation.End)
        self._shrink_block()
        self._after_code = False
        self._fresh, self._first = True, False

    def _shrink_block(self) -> None:
        """Makes the empty block Qt keeps beside a table take no room."""
        fmt = QTextBlockFormat()
        fmt.setLineHeight(1, QTextBlockFormat.LineHeightTypes.FixedHeight.value)
        self._cursor.setBlockFormat(fmt)

    # Code
    def _code_format(self, indent: int, first: bool) -> QTextBlockFormat:
        look = theme()
        fmt = QTextBlockFormat()
        fmt.setProperty(CODE, 1)
        fmt.setLineHeight(look.px(19), QTextBlockFormat.LineHeightTypes.MinimumHeight.value)
        fmt.setLeftMargin(look.px(13))
        fmt.setRightMargin(look.px(13))
        fmt.setIndent(indent)
        if first:
            gap = CODE_PAD + 10 if self._after_code else 0 if self._first else 2
            fmt.setTopMargin(look.px(gap + CODE_HEAD + CODE_PAD))
        return fmt

    def code_start(self, language: str, indent: int = 0) -> None:
        self._item = None
        self._block(self._code_format(indent, True), self.mono)
        at = self._cursor.position()
        self.regions.append(CodeRegion(at, at, language, "", indent))
        self._after_code = True

    def code_lines(self, text: str, first: bool) -> None:
        """Adds lines to the open code block; `first` when it holds none yet."""
        region = self.regions[-1]
        fmt = self._code_format(region.indent, False)
        for number, line in enumerate(text.split("\n")):
            if number or not first:
                self._block(fmt, self.mono)
            self._cursor.insertText(steady(line), self.mono)
            region.last = self._cursor.block().position()
        region.code = text if first else f"{region.code}\n{text}"
        self._after_code = True

    def code_end(self) -> None:
        region = self.regions[-1]
        region.done = True
        language = region.language.split()[0] if region.language.split() else ""
        self.painters.append(paint(self.document, region.start, region.code, language))

    def _code_block(self, token: Token, context: _Context, final: bool) -> None:
        self.code_start(token.info.strip(), context.depth)
        self.code_lines(token.content.rstrip("\n"), first=True)
        if final:
            self.code_end()


def _closing(tokens: Sequence[Token], index: int) -> int:
    """Index of the token that closes the one at `index` (itself when it is not nested)."""
    if tokens[index].nesting != 1:
        return index
    level = tokens[index].level
    for at in range(index + 1, len(tokens)):
        if tokens[at].level == level and tokens[at].nesting == -1:
            return at
    return len(tokens)
