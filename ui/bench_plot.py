"""Pictures of the Benchmark tab, drawn with pyqtgraph in the colours of the theme.

Import this only when the tab opens: pyqtgraph brings numpy. Main thread only. Pictures do
not react to the mouse (they are read, not explored), so scrolling goes to the page.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QFontMetricsF, QImage, QPainter, QPen
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import QStackedWidget, QVBoxLayout, QWidget

from ui import bench_strings as words
from ui.bench_views import BarRow, Picture
from ui.theme import theme

ROW_HEIGHT = 30
EXPORT_SCALE = 2
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


class Plot(QWidget):
    """One picture at a time: bars per class or lines. `save` writes PNG or SVG."""

    def __init__(self) -> None:
        super().__init__()
        self._bars: tuple[BarRow, ...] = ()
        self._picture: Picture | None = None
        axes = {name: WordAxis(name) for name in ("left", "right")}
        self._bar_view = _still(pg.PlotWidget(axisItems=axes))
        self._line_view = _still(pg.PlotWidget())
        self._view = self._bar_view
        self._pages = QStackedWidget()
        self._pages.addWidget(self._bar_view)
        self._pages.addWidget(self._line_view)
        body = QVBoxLayout(self)
        body.setContentsMargins(0, 0, 0, 0)
        body.addWidget(self._pages)
        theme().changed.connect(self._draw)

    def show_bars(self, rows: Sequence[BarRow]) -> None:
        """Off above on for each class, deviations as thin lines."""
        self._bars, self._picture = tuple(rows), None
        self._draw()

    def show_picture(self, picture: Picture) -> None:
        self._bars, self._picture = (), picture
        self._draw()

    def save(self, path: str) -> None:
        """Writes what is shown; the suffix chooses SVG or PNG. Raises OSError."""
        size = self._view.size()
        if path.lower().endswith(".svg"):
            made = QSvgGenerator()
            made.setFileName(path)
            made.setSize(size)
            made.setViewBox(QRectF(0, 0, size.width(), size.height()))
            made.setTitle("Tandem")
            painter = QPainter(made)
            if not painter.isActive():
                raise OSError(f"cannot write {path}")
            painter.fillRect(QRectF(0, 0, size.width(), size.height()), theme().color("panel"))
            self._paint(painter)
            painter.end()
            return
        # The format comes from the suffix: stub and binding disagree on the format's type.
        path = path if path.lower().endswith(".png") else f"{path}.png"
        if not self.image().save(path):
            raise OSError(f"cannot write {path}")

    def image(self) -> QImage:
        """What is shown at twice its size, on the panel's colour."""
        size = self._view.size() * EXPORT_SCALE
        image = QImage(size, QImage.Format.Format_RGB32)
        image.setDevicePixelRatio(EXPORT_SCALE)
        image.fill(theme().color("panel"))
        painter = QPainter(image)
        self._paint(painter)
        painter.end()
        return image

    def _paint(self, painter: QPainter) -> None:
        """The target must be said: by default it is the device in physical pixels."""
        area = self._view.viewport().rect()
        self._view.render(painter, QRectF(area), area)

    # Drawing

    def _draw(self) -> None:
        self._view = self._bar_view if self._picture is None else self._line_view
        self._pages.setCurrentWidget(self._view)
        item = self._view.getPlotItem()
        self._view.setBackground(theme().color("panel"))
        item.clear()
        if self._picture is not None:
            self._draw_lines(self._picture)
        elif self._bars:
            self._draw_bars()
        self._describe()

    def _draw_bars(self) -> None:
        item = self._view.getPlotItem()
        rows = self._bars
        bars: list[tuple[float, float, str]] = []
        whiskers: list[tuple[float, float, float]] = []
        for index, row in enumerate(rows):
            for shift, value, std, token in (
                (-0.2, row.off, row.off_std, "bar"),
                (0.2, row.on, row.on_std, "accent"),
            ):
                if value is not None:
                    bars.append((index + shift, value, token))
                    if std:
                        whiskers.append((index + shift, value, std))
        item.addItem(RoundBars(bars, 0.3))
        if whiskers:
            item.addItem(
                pg.ErrorBarItem(
                    x=np.array([w[1] for w in whiskers]),
                    y=np.array([w[0] for w in whiskers]),
                    left=np.array([w[2] for w in whiskers]),
                    right=np.array([w[2] for w in whiskers]),
                    beam=0.14,
                    pen=QPen(theme().color("text"), 0),
                )
            )
        names, values = item.getAxis("left"), item.getAxis("right")
        names.setTicks([[(i, r.label) for i, r in enumerate(rows)]])
        values.setTicks([[(i, r.text) for i, r in enumerate(rows)]])
        metrics = QFontMetricsF(theme().font(13, 600))
        names.setWidth(max(metrics.horizontalAdvance(r.label) for r in rows) + 16)
        values.setWidth(max(metrics.horizontalAdvance(r.text) for r in rows) + 16)
        item.showAxis("right", True)
        item.showAxis("bottom", False)
        item.getViewBox().invertY(True)
        longest = max((v + s for _, v, s in whiskers), default=0.0)
        longest = max(longest, *(length for _, length, _ in bars), 1.0) if bars else 1.0
        item.setRange(xRange=(0, longest * 1.04), yRange=(-0.5, len(rows) - 0.5), padding=0)
        self.setFixedHeight(theme().px(ROW_HEIGHT) * len(rows) + 10)

    def _draw_lines(self, picture: Picture) -> None:
        item = self._view.getPlotItem()
        if item.legend is not None:
            item.legend.scene().removeItem(item.legend)
            item.legend = None
        for name in ("left", "bottom"):
            axis = item.getAxis(name)
            axis.setTicks(None)
            axis.setStyle(tickLength=-4, tickFont=theme().font(12))
            axis.setPen(QPen(theme().color("line"), 1))
            axis.setTextPen(theme().color("muted"))
        self.setFixedHeight(theme().px(240))
        item.getAxis("bottom").setLabel(picture.x_label, color=theme().tokens.muted)
        item.getAxis("left").setLabel(picture.y_label, color=theme().tokens.muted)
        if picture.ticks:
            item.getAxis("bottom").setTicks([list(picture.ticks)])
        item.showGrid(x=False, y=True, alpha=0.15)
        if len(picture.lines) > 1:
            item.addLegend(
                offset=(-10, 10), labelTextColor=theme().color("text"), labelTextSize="9pt"
            )
        if picture.level is not None:
            pen = QPen(theme().color("muted"), 0, Qt.PenStyle.DashLine)
            item.addItem(pg.InfiniteLine(picture.level, angle=0, pen=pen))
        for line in picture.lines:
            color = theme().color(line.color)
            if line.low and line.high:
                pen = QPen(color, 0)
                item.addItem(
                    pg.ErrorBarItem(
                        x=np.array(line.x),
                        y=np.array(line.y),
                        top=np.subtract(line.high, line.y),
                        bottom=np.subtract(line.y, line.low),
                        beam=0.0,
                        pen=pen,
                    )
                )
            pen = QPen(color, 2)
            pen.setCosmetic(True)
            few = len(line.x) <= 40
            item.plot(
                list(line.x),
                list(line.y),
                pen=pen,
                name=line.label,
                antialias=True,
                symbol="o" if few else None,
                symbolSize=6,
                symbolBrush=color,
                symbolPen=QPen(Qt.PenStyle.NoPen),
            )
        item.enableAutoRange()
        if picture.level is None:
            item.setYRange(0, 1.3 * max((max(line.y) for line in picture.lines), default=1.0))

    def _describe(self) -> None:
        if self._picture is not None:
            self.setAccessibleName(self._picture.title)
            return
        self.setAccessibleName(words.TITLE)
        self.setAccessibleDescription("; ".join(f"{r.label}: {r.text}" for r in self._bars))

    def sizeHint(self) -> QSize:
        return QSize(640, theme().px(ROW_HEIGHT) * max(1, len(self._bars)) + 10)


def _still(view: pg.PlotWidget) -> pg.PlotWidget:
    """A plot without mouse, menu, buttons, frame or focus."""
    view.setMenuEnabled(False)
    view.setMouseEnabled(x=False, y=False)
    view.hideButtons()
    view.setFrameStyle(0)
    view.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents, True)
    view.viewport().setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents, True)
    view.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    return view
