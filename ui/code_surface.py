"""What is painted around the text of a message: surfaces of code blocks and bars of quotes.

They take no part in selecting and copying. Main thread only.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QPen, QTextDocument

from ui.format import plain
from ui.markdown_writer import CODE_HEAD, CODE_PAD, QUOTE, CodeRegion
from ui.theme import theme

RADIUS = 8
BEYOND = 40
"""Pixels a surface is painted past the edge where it goes on, so that no corner shows."""


def regions_between(regions: Sequence[CodeRegion], top: int, end: int) -> Sequence[CodeRegion]:
    """Code blocks that may be seen between two positions, one more on either side."""
    low = bisect_left(regions, top, key=lambda r: r.last)
    high = bisect_right(regions, end, key=lambda r: r.start)
    return regions[max(0, low - 1) : high + 1]


def region_rect(document: QTextDocument, region: CodeRegion, width: int) -> QRectF:
    """The surface of a code block in a document shown `width` px wide."""
    layout = document.documentLayout()
    look = theme()
    first = layout.blockBoundingRect(document.findBlock(region.start))
    last = layout.blockBoundingRect(document.findBlock(region.last))
    left = look.px(22) * region.indent
    top = first.top() - (0 if region.above else look.px(CODE_HEAD + CODE_PAD))
    bottom = last.bottom() + (0 if region.below else look.px(CODE_PAD))
    return QRectF(left + 0.5, top + 0.5, width - left - 1, bottom - top - 1)


def content_width(document: QTextDocument, region: CodeRegion) -> int:
    """How wide the longest line of a code block is with its margins, in px."""
    widest = 0.0
    block = document.findBlock(region.start)
    while block.isValid() and block.position() <= region.last:
        layout = block.layout()
        if layout.lineCount():
            widest = max(widest, layout.lineAt(0).naturalTextWidth())
        block = block.next()
    look = theme()
    return int(widest) + 1 + look.px(22) * region.indent + 2 * look.px(13)


def paint_region(painter: QPainter, area: QRectF, region: CodeRegion) -> None:
    """Where it goes on in another document, the surface has no edge."""
    look = theme()
    painter.save()
    over = area
    if region.above or region.below:
        top, bottom = BEYOND * region.above, BEYOND * region.below
        over = area.adjusted(0, -top, 0, bottom)
        painter.setClipRect(area.adjusted(-1, -1, 1, 1), Qt.ClipOperation.IntersectClip)
    painter.setPen(QPen(look.color("line"), 1))
    painter.setBrush(look.color("code"))
    painter.drawRoundedRect(over, RADIUS, RADIUS)
    if not region.above:
        _paint_head(painter, area, region.language)
    painter.restore()


def _paint_head(painter: QPainter, area: QRectF, language: str) -> None:
    look = theme()
    head = area.top() + look.px(CODE_HEAD) - 1
    painter.drawLine(QPointF(area.left(), head), QPointF(area.right(), head))
    painter.setFont(look.font(12))
    painter.setPen(look.color("muted"))
    box = area.adjusted(look.px(12), 0, -look.px(70), 0)
    box.setHeight(look.px(CODE_HEAD))
    words = plain(language, 60).split()
    painter.drawText(box, Qt.AlignmentFlag.AlignVCenter, words[0][:40] if words else "code")


def paint_quotes(painter: QPainter, document: QTextDocument, top: int, end: int) -> None:
    layout = document.documentLayout()
    look = theme()
    block = document.findBlock(top)
    while block.isValid() and block.position() <= end:
        level = block.blockFormat().property(QUOTE)
        if level:
            area = layout.blockBoundingRect(block)
            for step in range(int(level)):
                bar = QRectF(look.px(14) * step, area.top(), 3, area.height())
                painter.fillRect(bar, look.color("line"))
        block = block.next()
