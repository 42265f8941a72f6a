"""Writes a Markdown table as a text table with thin lines. Main thread only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import (
    QBrush,
    QFont,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextFormat,
    QTextFrameFormat,
    QTextLength,
    QTextTableFormat,
)

from ui.markdown_inline import write_inline
from ui.theme import theme

if TYPE_CHECKING:
    from markdown_it.token import Token


@dataclass(frozen=True, slots=True)
class Cell:
    """Its inline token, the alignment as the parser's style text, and whether it is a head."""

    inline: Token
    align: str
    head: bool


def table_rows(tokens: Sequence[Token]) -> list[list[Cell]]:
    """The cells between `table_open` and `table_close`, row by row."""
    rows: list[list[Cell]] = []
    align, head = "", False
    for token in tokens:
        if token.type == "tr_open":
            rows.append([])
        elif token.type in ("th_open", "td_open"):
            align, head = str(token.attrGet("style") or ""), token.type == "th_open"
        elif token.type == "inline":
            rows[-1].append(Cell(token, align, head))
    return rows


def write_table(
    cursor: QTextCursor,
    rows: list[list[Cell]],
    base: QTextCharFormat,
    top: int,
    bottom: int = 10,
    shares: Sequence[int] = (),
) -> None:
    """Inserts the table at `cursor`; `top` and `bottom` are the distances around it in
    unscaled px. `shares`: the widths of its columns in proportion, over the whole column of
    text; without them each is as wide as what is in it."""
    if not rows:
        return
    look = theme()
    fmt = QTextTableFormat()
    fmt.setBorder(1)
    fmt.setBorderStyle(QTextFrameFormat.BorderStyle.BorderStyle_Solid)
    fmt.setBorderBrush(QBrush(look.color("line")))
    fmt.setBorderCollapse(True)
    fmt.setCellPadding(look.px(6))
    fmt.setCellSpacing(0)
    fmt.setTopMargin(look.px(top) if top > 0 else top)
    fmt.setBottomMargin(look.px(bottom) if bottom else 0)
    fmt.setHeaderRowCount(1 if rows[0] and rows[0][0].head else 0)
    width = len(rows[0])
    if len(shares) == width:
        kind, whole = QTextLength.Type.PercentageLength, sum(shares)
        fmt.setWidth(QTextLength(kind, 100))
        fmt.setColumnWidthConstraints([QTextLength(kind, 100 * s / whole) for s in shares])
    table = cursor.insertTable(len(rows), width, fmt)
    for y, row in enumerate(rows):
        for x, cell in enumerate(row[:width]):
            _write_cell(table.cellAt(y, x).firstCursorPosition(), cell, base)


def _write_cell(cursor: QTextCursor, cell: Cell, base: QTextCharFormat) -> None:
    fmt = QTextBlockFormat()
    if "right" in cell.align:
        fmt.setAlignment(Qt.AlignmentFlag.AlignRight)
    elif "center" in cell.align:
        fmt.setAlignment(Qt.AlignmentFlag.AlignHCenter)
    cursor.setBlockFormat(fmt)
    chars = QTextCharFormat(base)
    chars.setProperty(QTextFormat.Property.FontPixelSize, theme().px(13))
    if cell.head:
        chars.setFontWeight(QFont.Weight.DemiBold)
    write_inline(cursor, cell.inline.children or [], chars)
