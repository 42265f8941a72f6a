"""Pictures of the Benchmark tab, drawn with pyqtgraph in the colours of the theme.

Import this only for a picture to show: pyqtgraph brings numpy, together 40 MB and half a
second. Main thread only. Pictures do not react to the mouse (they are read, not explored), so
scrolling goes to the page.
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
from ui.bench_bars import LEFT, RoundBars, WordAxis
from ui.bench_key import Entries, paint_key
from ui.bench_views import BarRow, Picture
from ui.theme import theme

ROW_HEIGHT = 30
EXPORT_SCALE = 2
HEADING = 56
EDGE = 16


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

    def save(self, path: str, heading: str = "") -> None:
        """Writes what is shown, with `heading` and the key above it, so that it can stand alone;
        the suffix chooses SVG or PNG. Raises OSError."""
        size = self._export_size()
        if path.lower().endswith(".svg"):
            made = QSvgGenerator()
            made.setFileName(path)
            # pyqtgraph keeps axes as recordings that are scaled by the resolution.
            made.setResolution(self.logicalDpiX())
            made.setSize(size)
            made.setViewBox(QRectF(0, 0, size.width(), size.height()))
            made.setTitle(heading or "Tandem")
            painter = QPainter(made)
            if not painter.isActive():
                raise OSError(f"cannot write {path}")
            self._paint(painter, heading)
            painter.end()
            return
        # The format comes from the suffix: stub and binding disagree on the format's type.
        path = path if path.lower().endswith(".png") else f"{path}.png"
        if not self.image(heading).save(path):
            raise OSError(f"cannot write {path}")

    def image(self, heading: str = "") -> QImage:
        """The export at twice its size, on the panel's colour."""
        image = QImage(self._export_size() * EXPORT_SCALE, QImage.Format.Format_RGB32)
        image.setDevicePixelRatio(EXPORT_SCALE)
        painter = QPainter(image)
        self._paint(painter, heading)
        painter.end()
        return image

    def _export_size(self) -> QSize:
        edge, shown = theme().px(EDGE), self._view.rect()
        return QSize(shown.width() + 2 * edge, shown.height() + theme().px(HEADING) + edge)

    def _paint(self, painter: QPainter, heading: str) -> None:
        """Heading, key and picture. The target must be said: by default it is the device in
        physical pixels."""
        size, edge, top = self._export_size(), theme().px(EDGE), theme().px(HEADING)
        painter.save()
        painter.fillRect(QRectF(0, 0, size.width(), size.height()), theme().color("panel"))
        line = QRectF(edge, edge / 2, size.width() - 2 * edge, (top - edge / 2) / 2)
        painter.setFont(theme().font(13, 600))
        painter.setPen(theme().color("text"))
        painter.drawText(line, LEFT, heading)
        line.translate(0, line.height())
        painter.setFont(theme().font(12))
        painter.setPen(theme().color("muted"))
        painter.drawText(line, LEFT, self.accessibleName())
        paint_key(painter, line, *self.key())
        painter.restore()
        area = self._view.viewport().rect()
        target = QRectF(edge, top, area.width(), area.height())
        self._view.render(painter, target, area)

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

    def key(self) -> tuple[Entries, str]:
        """What the colours mean, and the thin lines."""
        picture = self._picture
        if picture is None:
            whiskers = any(row.off_std or row.on_std for row in self._bars)
            entries = (("bar", words.OFF_LEG), ("accent", words.ON_LEG)) if self._bars else ()
            return entries, words.DEVIATIONS if whiskers else ""
        lines = tuple((line.color, line.label) for line in picture.lines)
        return (lines if len(lines) > 1 else ()), picture.note

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
        item.showGrid(x=False, y=True, alpha=0.3)
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
                        beam=0.012 * (max(line.x) - min(line.x)),
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
                antialias=True,
                useCache=False,  # cached dots are pixels, also in an SVG
                symbol="o" if few else None,
                symbolSize=6,
                symbolBrush=color,
                symbolPen=QPen(Qt.PenStyle.NoPen),
            )
        self._set_ranges(picture)

    def _set_ranges(self, picture: Picture) -> None:
        """Room at both ends for names and dots; the level is always seen, and an interval that
        goes far beyond what was measured is cut."""
        xs = [x for line in picture.lines for x in line.x]
        ys = [y for line in picture.lines for y in line.y]
        if not xs:
            return
        wide = max(xs) - min(xs) or 1.0
        item = self._view.getPlotItem()
        item.setXRange(min(xs) - 0.08 * wide, max(xs) + 0.08 * wide, padding=0)
        if picture.level is None:
            item.setYRange(0, 1.15 * max(ys), padding=0)
            return
        lows = [y for line in picture.lines for y in line.low] or ys
        highs = [y for line in picture.lines for y in line.high] or ys
        low = max(min(*lows, picture.level), 0.5 * min(*ys, picture.level))
        high = min(max(*highs, picture.level), 1.5 * max(*ys, picture.level))
        item.setYRange(low, high, padding=0.1)

    def _describe(self) -> None:
        if self._picture is not None:
            self.setAccessibleName(self._picture.title)
            return
        self.setAccessibleName(words.PICTURE_NAMES["bars"])
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
