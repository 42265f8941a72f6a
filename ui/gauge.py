"""Context use and speed under the composer: a thin bar and one line of figures."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from ui.controls import label, restyle
from ui.frame_clock import GAUGE_MS, FrameClock
from ui.theme import theme
from ui.views import GaugeView

GAP = 10
"""Pixels between the bar and the figures."""
LEAST = 60
"""The narrowest the figures get."""


class ContextBar(QWidget):
    """Share of the context in use; red above the limit. Decoration: the words tell it too."""

    def __init__(self) -> None:
        super().__init__()
        self._share = 0.0
        self._red = False
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setFixedSize(120, 4)

    def set_share(self, share: float, red: bool) -> None:
        if (share, red) != (self._share, self._red):
            self._share, self._red = min(1.0, max(0.0, share)), red
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        area = QRectF(self.rect())
        painter.setBrush(theme().color("line"))
        painter.drawRoundedRect(area, 2, 2)
        if self._share > 0:
            area.setWidth(max(4.0, area.width() * self._share))
            painter.setBrush(theme().color("bad" if self._red else "accent"))
            painter.drawRoundedRect(area, 2, 2)


class Gauge(QWidget):
    """Shows a `GaugeView`, redrawn at most twenty times a second; the last value always lands.

    Places its two parts itself: with a layout, every new figure would lay out the whole
    conversation again, although the line hardly ever needs another height.
    """

    def __init__(self) -> None:
        super().__init__()
        self._view = GaugeView()
        self._compact = False
        self._clock = FrameClock(self, GAUGE_MS)
        self._clock.tick.connect(self._draw)
        self._bar = ContextBar()
        self._bar.setParent(self)
        self._text = label("", "small", wrap=True)
        self._text.setParent(self)
        self._bar.hide()
        policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self._height = 0
        self._heights: dict[int, int] = {}

    def view(self) -> GaugeView:
        return self._view

    def text(self) -> str:
        """The figures on screen (up to one frame behind `view`)."""
        return self._text.text()

    def set_view(self, view: GaugeView) -> None:
        self._view = view
        self._clock.request()

    def set_compact(self, on: bool) -> None:
        """Figures alone, in a small window."""
        self._compact = on
        self._clock.request()

    def _draw(self) -> None:
        view = self._view
        known = view.used is not None and bool(view.total)
        self._bar.setVisible(known and not self._compact)
        if known:
            self._bar.set_share((view.used or 0) / (view.total or 1), view.nearly_full)
        words = view.text()
        if words != self._text.text():
            self._text.setText(words)
            self._heights.clear()
        restyle(self._text, kind="small-bad" if view.nearly_full else "small")
        self._place()

    # Size
    def _left(self) -> int:
        return self._bar.width() + GAP if not self._bar.isHidden() else 0

    def heightForWidth(self, width: int) -> int:
        for_words = max(LEAST, width - self._left())
        if for_words not in self._heights:
            self._heights[for_words] = self._text.heightForWidth(for_words)
        return max(self._bar.height(), self._heights[for_words])

    def sizeHint(self) -> QSize:
        wide = self._left() + self._text.sizeHint().width()
        return QSize(wide, self.heightForWidth(self.width()))

    def minimumSizeHint(self) -> QSize:
        return QSize(self._left() + LEAST, self.heightForWidth(self.width()))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place()

    def event(self, event: QEvent) -> bool:
        done = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest:  # the words have another font
            self._heights.clear()
            self._place()
        return done

    def _place(self) -> None:
        left, height = self._left(), self.heightForWidth(self.width())
        self._bar.move(0, (self.height() - self._bar.height()) // 2)
        self._text.setGeometry(left, 0, max(0, self.width() - left), self.height())
        if height != self._height:
            self._height = height
            self.updateGeometry()
