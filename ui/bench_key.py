"""What the colours and thin lines of a picture mean, beside it and in its exports."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from ui.theme import theme

Entries = Sequence[tuple[str, str]]
"""(colour token, words) of each line or bar."""

_GAP = 14
_SWATCH = 10
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter


def key_width(entries: Entries, note: str) -> float:
    metrics = QFontMetricsF(theme().font(12))
    parts = [theme().px(_SWATCH + 6) + metrics.horizontalAdvance(text) for _, text in entries]
    parts += [metrics.horizontalAdvance(note)] if note else []
    return sum(parts) + theme().px(_GAP) * max(0, len(parts) - 1) + 2


def paint_key(painter: QPainter, area: QRectF, entries: Entries, note: str) -> None:
    """Swatches and words in one line, at the right end of `area`."""
    painter.save()
    font = theme().font(12)
    painter.setFont(font)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    metrics, swatch = QFontMetricsF(font), float(theme().px(_SWATCH))
    x, middle = area.right() - key_width(entries, note), area.center().y()

    def words(text: str, x: float) -> float:
        wide = metrics.horizontalAdvance(text)
        painter.setPen(theme().color("muted"))
        painter.drawText(QRectF(x, area.top(), wide + 2, area.height()), _LEFT, text)
        return x + wide + theme().px(_GAP)

    for token, text in entries:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme().color(token))
        corner = QPointF(x, middle - swatch / 2)
        painter.drawRoundedRect(QRectF(corner.x(), corner.y(), swatch, swatch), 3, 3)
        x = words(text, x + theme().px(_SWATCH + 6))
    if note:
        words(note, x)
    painter.restore()


class PictureKey(QWidget):
    """The key of the picture shown; as wide as its words."""

    def __init__(self) -> None:
        super().__init__()
        self._entries: Entries = ()
        self._note = ""
        theme().changed.connect(self.updateGeometry)

    def show_key(self, entries: Entries, note: str) -> None:
        self._entries, self._note = tuple(entries), note
        self.setAccessibleName("; ".join([*(text for _, text in entries), *([note] * bool(note))]))
        self.setVisible(bool(entries or note))
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(round(key_width(self._entries, self._note)) + 2, theme().px(24))

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        paint_key(painter, QRectF(self.rect()), self._entries, self._note)
        painter.end()
