"""Bars and axes of the picture by class, painted in the colours of the theme. Main thread."""

from __future__ import annotations

from collections.abc import Sequence

import pyqtgraph as pg
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPainter

from ui.theme import theme

LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
TextSpec = tuple[QRectF, int, str]


class RoundBars(pg.GraphicsObject):  # type: ignore[misc]
    """Horizontal bars from 0 with slightly round corners; lengths in data units."""

    def __init__(self, bars: Sequence[tuple[float, float, str]], height: float) -> None:
        super().__init__()
        self._bars = bars
        self._height = height

    def boundingRect(self) -> QRectF:
        if not self._bars:
            return QRectF()
        longest = max(length for _, length, _ in self._bars)
        ys = [y for y, _, _ in self._bars]
        half = self._height / 2
        return QRectF(0, min(ys) - half, longest, max(ys) - min(ys) + 2 * half)

    def paint(self, painter: QPainter, *_: object) -> None:
        wide, tall = self.pixelVectors()
        rx = 3 * (wide.length() if wide is not None else 0)
        ry = 3 * (tall.length() if tall is not None else 0)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for y, length, token in self._bars:
            painter.setBrush(theme().color(token))
            rect = QRectF(0, y - self._height / 2, length, self._height)
            painter.drawRoundedRect(rect, min(rx, length / 2), ry)

    def viewTransformChanged(self) -> None:
        self.update()


class WordAxis(pg.AxisItem):  # type: ignore[misc]
    """An axis without a line: names at its left edge, or values at its right edge with the
    part after the arrow in bold."""

    def drawPicture(
        self, painter: QPainter, _axis: object, _ticks: object, texts: Sequence[TextSpec]
    ) -> None:
        area = self.boundingRect()
        plain, bold = theme().font(13), theme().font(13, 600)
        painter.setPen(theme().color("text"))
        for rect, _flags, text in texts:
            high = theme().px(24)
            row = QRectF(area.left(), rect.center().y() - high / 2, area.width(), high)
            if self.orientation == "left":
                painter.setFont(plain)
                painter.drawText(row, LEFT, text)
                continue
            before, arrow, after = text.partition("→ ")
            value, _, unit = after.partition(" ")
            right = row.right() - 2
            for part, font in ((f" {unit}", plain), (value, bold), (before + arrow, plain)):
                painter.setFont(font)
                right -= painter.fontMetrics().horizontalAdvance(part)
                painter.drawText(QRectF(right, row.top(), area.width(), row.height()), LEFT, part)
