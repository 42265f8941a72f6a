"""Context use and speed under the composer: a thin bar and one line of figures."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QWidget

from ui.controls import label, restyle
from ui.frame_clock import GAUGE_MS, FrameClock
from ui.theme import theme
from ui.views import GaugeView


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
    """Shows a `GaugeView`; live ones are redrawn ten times a second, final ones at once."""

    def __init__(self) -> None:
        super().__init__()
        self._view = GaugeView()
        self._compact = False
        self._clock = FrameClock(self, GAUGE_MS)
        self._clock.tick.connect(self._draw)
        self._bar = ContextBar()
        self._text = label("", "small", wrap=True)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(10)
        row.addWidget(self._bar, 0, Qt.AlignmentFlag.AlignVCenter)
        row.addWidget(self._text, 1)
        self._bar.hide()

    def view(self) -> GaugeView:
        return self._view

    def text(self) -> str:
        """The figures on screen (up to one frame behind `view`)."""
        return self._text.text()

    def set_view(self, view: GaugeView) -> None:
        self._view = view
        self._clock.request(now=not view.live)

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
        self._text.setText(view.text())
        restyle(self._text, kind="small-bad" if view.nearly_full else "small")
