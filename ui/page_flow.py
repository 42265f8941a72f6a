"""Lays documents one after another on the pages of a printer or a PDF.

A page ends between two lines or two rows of a table, and not right after a heading. Lengths
are pixels at 96 dpi, scaled to the device; drawn is what would be on the screen in light
colours. Main thread only.
"""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import (
    QAbstractTextDocumentLayout,
    QColor,
    QPagedPaintDevice,
    QPainter,
    QPalette,
    QTextBlock,
    QTextDocument,
    QTextFrame,
    QTextTable,
)

from ui.code_surface import paint_quotes, paint_region, region_rect
from ui.markdown_writer import CodeRegion
from ui.theme import theme

DPI = 96
FOOT = 30
"""Pixels at the lower edge of a page for its number."""


class PageFlow:
    """`add` draws a document; `end` finishes the last page. The device must not be in use.

    Of the pages only those the device was asked for are drawn (`pageRanges`)."""

    def __init__(self, device: QPagedPaintDevice) -> None:
        self._device = device
        self._painter = QPainter(device)
        self._scale = device.logicalDpiX() / DPI
        self.width = device.width() / self._scale
        self._height = device.height() / self._scale - FOOT
        self._y = 0.0
        self._page = 1
        self._ranges = device.pageRanges()
        self._drawn = 0
        self._on_sheet = False

    @property
    def fine(self) -> bool:
        """False when the device cannot be drawn on."""
        return self._painter.isActive() and self.width > 50 and self._height > 50

    def space(self, height: float) -> None:
        """Keeps some distance, but not at the top of a page."""
        if self._y:
            self._y += height

    def add(self, document: QTextDocument, regions: list[CodeRegion]) -> None:
        """Draws `document`, already as wide as the page, over as many pages as it takes."""
        height = document.size().height()
        if regions and regions[-1].last >= document.lastBlock().position():
            height = max(height, region_rect(document, regions[-1], int(self.width)).bottom() + 1)
        ends = [end for end in line_ends(document) if end < height - 1] + [height]
        begin = 0.0
        while begin < height - 0.5:
            room = self._height - self._y
            fitting = [end for end in ends if begin < end <= begin + room]
            if not fitting and self._y > 0:
                self._next_page()
                continue
            end = fitting[-1] if fitting else begin + room  # a line taller than a page is cut
            self._draw(document, regions, begin, min(end, height))
            self._y += end - begin
            begin = end

    def end(self) -> bool:
        """Ends the last page; False when the device did not take it."""
        if not self._painter.isActive():
            return False
        self._number()
        return self._painter.end()

    def again(self) -> None:
        """Begins a further copy on a new page."""
        self._next_page()
        self._page = 1

    def _next_page(self) -> None:
        self._number()
        self._page, self._y, self._on_sheet = self._page + 1, 0.0, False

    def _is_wanted(self) -> bool:
        """Whether this page is to be drawn; gives it its sheet when it is the first time."""
        if not self._ranges.isEmpty() and not self._ranges.contains(self._page):
            return False
        if not self._on_sheet:
            if self._drawn:
                self._device.newPage()
            self._drawn += 1
            self._on_sheet = True
        return True

    def _number(self) -> None:
        if not self._is_wanted():
            return
        painter = self._painter
        painter.save()
        painter.scale(self._scale, self._scale)
        painter.setFont(theme().font(11))
        painter.setPen(theme().color("muted"))
        box = QRectF(0, self._height, self.width, FOOT)
        flags = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignBottom
        painter.drawText(box, int(flags), str(self._page))
        painter.restore()

    def _draw(
        self, document: QTextDocument, regions: list[CodeRegion], begin: float, end: float
    ) -> None:
        if not self._is_wanted():
            return
        painter = self._painter
        clip = QRectF(0, begin, self.width, end - begin)
        painter.save()
        painter.scale(self._scale, self._scale)
        painter.translate(0, self._y - begin)
        painter.setClipRect(clip)
        for region in regions:
            area = region_rect(document, region, int(self.width))
            if area.intersects(clip):
                paint_region(painter, area, region)
        paint_quotes(painter, document, 0, document.characterCount())
        context = QAbstractTextDocumentLayout.PaintContext()
        context.clip = clip
        palette = QPalette()
        palette.setColor(QPalette.ColorRole.Text, QColor(theme().tokens.text))
        context.palette = palette
        document.documentLayout().draw(painter, context)
        painter.restore()


def line_ends(document: QTextDocument) -> list[float]:
    """Where a page may end in `document`, from top to bottom."""
    out: list[float] = []
    _ends_in(document, document.rootFrame(), out)
    return sorted(out)


def _ends_in(document: QTextDocument, frame: QTextFrame, out: list[float]) -> None:
    place = frame.begin()
    while not place.atEnd():
        block, inner = place.currentBlock(), place.currentFrame()
        if block.isValid():
            out += _block_ends(document, block)
        elif isinstance(inner, QTextTable):
            out += _row_ends(document, inner)
        else:
            _ends_in(document, inner, out)
        place += 1


def _block_ends(document: QTextDocument, block: QTextBlock) -> list[float]:
    area = document.documentLayout().blockBoundingRect(block)
    if block.blockFormat().headingLevel() or not block.text():
        return []
    lines = block.layout()
    ends = []
    for at in range(lines.lineCount() - 1):
        line = lines.lineAt(at)
        ends.append(area.top() + line.y() + line.height())
    return [*ends, area.bottom()]


def _row_ends(document: QTextDocument, table: QTextTable) -> list[float]:
    layout = document.documentLayout()
    gap = table.format().cellPadding() + table.format().border()
    ends = []
    for row in range(table.rows()):
        cells = [table.cellAt(row, column) for column in range(table.columns())]
        last = [cell.lastCursorPosition().block() for cell in cells]
        ends.append(max(layout.blockBoundingRect(block).bottom() for block in last) + gap)
    return ends[1:] if len(ends) > 1 else ends  # a head is not left alone
