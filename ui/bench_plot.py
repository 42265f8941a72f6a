"""Pictures of the Benchmark tab, drawn with pyqtgraph in the colours of the theme.

Import this only when the tab opens: pyqtgraph brings numpy. Main thread only. Pictures do
not react to the mouse (they are read, not explored), so scrolling goes to the page.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyqtgraph as pg
from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QImage, QPainter, QPen
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import QVBoxLayout, QWidget

from ui import bench_strings as words
from ui.bench_views import BarRow, Picture
from ui.theme import theme

ROW_HEIGHT = 30
EXPORT_SCALE = 2


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


class Plot(QWidget):
    """One picture at a time: bars per class or lines. `save` writes PNG or SVG."""

    def __init__(self) -> None:
        super().__init__()
        self._bars: tuple[BarRow, ...] = ()
        self._picture: Picture | None = None
        self._view = pg.PlotWidget()
        self._view.setMenuEnabled(False)
        self._view.setMouseEnabled(x=False, y=False)
        self._view.hideButtons()
        self._view.setFrameStyle(0)
        self._view.viewport().setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents, True)
        self._view.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents, True)
        self._view.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        body = QVBoxLayout(self)
        body.setContentsMargins(0, 0, 0, 0)
        body.addWidget(self._view)
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
            self._view.render(painter)
            painter.end()
            return
        image = self.image()
        if not image.save(path, b"PNG"):
            raise OSError(f"cannot write {path}")

    def image(self) -> QImage:
        """What is shown at twice its size, on the panel's colour."""
        size = self._view.size() * EXPORT_SCALE
        image = QImage(size, QImage.Format.Format_RGB32)
        image.setDevicePixelRatio(EXPORT_SCALE)
        image.fill(theme().color("panel"))
        painter = QPainter(image)
        self._view.render(painter)
        painter.end()
        return image

    # Drawing

    def _draw(self) -> None:
        view, item = self._view, self._view.getPlotItem()
        view.setBackground(theme().color("panel"))
        item.clear()
        if item.legend is not None:
            item.legend.scene().removeItem(item.legend)
            item.legend = None
        for name in ("left", "bottom", "right"):
            axis = item.getAxis(name)
            axis.setTicks(None)
            axis.setLabel("")
            axis.setStyle(tickLength=-4, tickFont=theme().font(12))
            axis.setPen(QPen(theme().color("line"), 1))
            axis.setTextPen(theme().color("muted"))
        item.showAxis("right", False)
        item.showGrid(x=False, y=False)
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
                    x=[w[1] for w in whiskers],
                    y=[w[0] for w in whiskers],
                    left=[w[2] for w in whiskers],
                    right=[w[2] for w in whiskers],
                    beam=0.14,
                    pen=QPen(theme().color("text"), 0),
                )
            )
        names, values = item.getAxis("left"), item.getAxis("right")
        names.setTicks([[(i, r.label) for i, r in enumerate(rows)]])
        values.setTicks([[(i, r.text) for i, r in enumerate(rows)]])
        for axis in (names, values):
            axis.setPen(QPen(Qt.PenStyle.NoPen))
            axis.setStyle(tickLength=0, tickFont=theme().font(13))
            axis.setTextPen(theme().color("text"))
        item.showAxis("right", True)
        item.showAxis("bottom", False)
        item.getViewBox().invertY(True)
        longest = max((v + s for _, v, s in whiskers), default=0.0)
        longest = max(longest, *(length for _, length, _ in bars), 1.0) if bars else 1.0
        item.setRange(xRange=(0, longest * 1.04), yRange=(-0.5, len(rows) - 0.5), padding=0)
        self.setFixedHeight(theme().px(ROW_HEIGHT) * len(rows) + 10)

    def _draw_lines(self, picture: Picture) -> None:
        item = self._view.getPlotItem()
        item.showAxis("bottom", True)
        item.getViewBox().invertY(False)
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
                        x=list(line.x),
                        y=list(line.y),
                        top=[h - y for h, y in zip(line.high, line.y, strict=True)],
                        bottom=[y - v for v, y in zip(line.low, line.y, strict=True)],
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
                symbol="o" if few else None,
                symbolSize=6,
                symbolBrush=color,
                symbolPen=QPen(Qt.PenStyle.NoPen),
            )
        item.enableAutoRange()

    def _describe(self) -> None:
        if self._picture is not None:
            self.setAccessibleName(self._picture.title)
            return
        self.setAccessibleName(words.TITLE)
        self.setAccessibleDescription("; ".join(f"{r.label}: {r.text}" for r in self._bars))

    def sizeHint(self) -> QSize:
        return QSize(640, theme().px(ROW_HEIGHT) * max(1, len(self._bars)) + 10)
