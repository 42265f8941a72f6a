"""Writes Markdown blocks into a `QTextDocument` with the theme's type and colours.

The tokens of markdown-it-py are written with a text cursor. Qt's own Markdown import is not
used: inserted piece by piece it drops the first block's format (heading, list, quote), and a
second parser would disagree with the first about block boundaries. HTML stays text, images
become their words and address, so a document never asks for a resource. Main thread only.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
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

from ui.markdown_cuts import NO_LEAD, PARAGRAPH, Lead, column_shares
from ui.markdown_inline import write_inline
from ui.markdown_parser import parser
from ui.markdown_table import table_rows, write_table
from ui.markdown_writer import CODE_PAD, BlockWriter, Context
from ui.theme import theme

if TYPE_CHECKING:
    from markdown_it.token import Token

SEAM = -3
"""Distance (unscaled px) at which the borders of two pieces of a table fall on each other."""
_HEADING_SIZES = {1: 20, 2: 18, 3: 16}
_BOX = re.compile(r"\[([ xX])\] ")
_GAP = re.compile(r"^>[ \t]*\n\Z", re.MULTILINE)


class MarkdownWriter(BlockWriter):
    """Writes tokens of the parser."""

    def __init__(self, document: QTextDocument, wrap_code: bool = False) -> None:
        super().__init__(document, wrap_code)
        self._item: tuple[QTextList | None, QTextListFormat] | None = None
        self._list_of_item: QTextList | None = None
        self._lead_in = NO_LEAD
        self._joined = False

    # Blocks
    def plain(self, text: str) -> None:
        """Text as it is, one paragraph per line."""
        for line in text.split("\n"):
            self._block(self._format(Context(), bottom=2))
            self._cursor.insertText(line, self.base)

    def more(self, text: str) -> None:
        """Words at the end of the paragraph that was written last."""
        self._cursor.movePosition(QTextCursor.MoveOperation.End)
        self._cursor.insertText(text, self.base)

    def write(
        self, source: str, final: bool = True, lead: Lead = NO_LEAD, joined: bool = False
    ) -> None:
        """Writes whole Markdown blocks. `final`: code in them is coloured. `lead`: what the
        first is the middle of. `joined`: the last goes on in what is written next."""
        tokens = parser().parse(lead.prefix + source)
        if lead.paragraph:
            _drop_prefix(tokens)
        elif lead.number and tokens:
            tokens[0].attrSet("start", lead.number)
        self._lead_in, self._joined = lead, joined
        self._write_tokens(tokens, Context(), final)
        self._lead_in, self._joined = NO_LEAD, False
        last = tokens[-1].type if tokens else ""
        if joined and last in ("paragraph_close", "blockquote_close") and not _GAP.search(source):
            self._end_margin(0)

    def _write_tokens(self, tokens: Sequence[Token], context: Context, final: bool) -> None:
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

    def _paragraph(self, inline: Token, context: Context) -> None:
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

    def _heading(self, inline: Token, level: int, context: Context) -> None:
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

    def _rule(self, context: Context) -> None:
        fmt = self._format(context, top=4, bottom=12)
        fmt.setProperty(
            QTextFormat.Property.BlockTrailingHorizontalRulerWidth,
            QTextLength(QTextLength.Type.PercentageLength, 100),
        )
        fmt.setProperty(QTextFormat.Property.BackgroundBrush, QBrush(theme().color("line")))
        self._block(fmt)

    def _list(self, token: Token, inner: Sequence[Token], context: Context, final: bool) -> None:
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
        if token.type == "ordered_list_open":
            count = sum(t.type == "list_item_open" and t.level == token.level + 1 for t in inner)
            digits = len(str(fmt.start() + count - 1))
            if digits > 2:  # the usual indentation is for two
                deeper = replace(deeper, pad=context.pad + theme().px(9 * digits - 13))
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

    def _write_item(self, body: Sequence[Token], context: Context, final: bool) -> None:
        """The first paragraph carries the marker; its indentation comes from the list."""
        end = _closing(body, 0)
        self._paragraph(body[1], replace(context, depth=0, tight=body[0].hidden))
        made = self._list_of_item
        self._write_tokens(body[end + 1 :], context, final)
        self._list_of_item = made

    def _pad_list(self, context: Context) -> None:
        """The last line of an outermost list keeps a paragraph's distance."""
        if context.depth == 0 and not (self._after_code or self._fresh or self._joined):
            self._end_margin(theme().px(8))

    def _end_margin(self, margin: int) -> None:
        """Sets the distance below the last block."""
        self._cursor.movePosition(QTextCursor.MoveOperation.End)
        fmt = self._cursor.blockFormat()
        fmt.setBottomMargin(margin)
        self._cursor.setBlockFormat(fmt)

    def _table(self, inner: Sequence[Token]) -> None:
        lead, self._lead_in = self._lead_in, NO_LEAD
        rows = table_rows(inner)
        if not rows or not rows[0]:
            return
        shares = lead.shares
        if self._joined and not lead.head:
            shares = column_shares([[cell.inline.content for cell in row] for row in rows])
        if lead.head:
            del rows[0]
        self._cursor.movePosition(QTextCursor.MoveOperation.End)
        if self._fresh:
            self._shrink_block()
        top = CODE_PAD + 12 if self._after_code else SEAM if lead.head else 2
        write_table(self._cursor, rows, self.base, top, 0 if self._joined else 10, shares)
        self._cursor.movePosition(QTextCursor.MoveOperation.End)
        self._shrink_block()
        self._after_code = False
        self._fresh, self._first = True, False

    def _shrink_block(self) -> None:
        """Makes the empty block Qt keeps beside a table take no room."""
        fmt = QTextBlockFormat()
        fmt.setLineHeight(1, QTextBlockFormat.LineHeightTypes.FixedHeight.value)
        self._cursor.setBlockFormat(fmt)

    def _code_block(self, token: Token, context: Context, final: bool) -> None:
        self._item = None
        self.code_start(token.info.strip(), context.depth)
        self.code_lines(token.content.rstrip("\n"), first=True)
        if final:
            self.code_end()


def _drop_prefix(tokens: Sequence[Token]) -> None:
    """Takes away what was put before the rest of a paragraph."""
    for token in tokens:
        if token.type == "inline" and token.children:
            first = token.children[0]
            first.content = first.content.removeprefix(PARAGRAPH)
            return


def _closing(tokens: Sequence[Token], index: int) -> int:
    """Index of the token that closes the one at `index` (itself when it is not nested)."""
    if tokens[index].nesting != 1:
        return index
    level = tokens[index].level
    for at in range(index + 1, len(tokens)):
        if tokens[at].level == level and tokens[at].nesting == -1:
            return at
    return len(tokens)
