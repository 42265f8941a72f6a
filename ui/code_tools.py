"""What stands over the code blocks of one document: Copy, and a bar for lines that are too long.

Only for blocks that are seen or nearly seen. Long lines are not wrapped; each block scrolls
sideways by itself: by its bar (with the mouse or the keys), by a horizontal wheel, by Shift
and the wheel, or by moving the text cursor. Main thread only.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QCoreApplication, QRect, QRectF, Qt
from PySide6.QtGui import QKeyEvent, QTextDocument, QWheelEvent
from PySide6.QtWidgets import (
    QAbstractScrollArea,
    QApplication,
    QPushButton,
    QScrollArea,
    QScrollBar,
    QStyle,
    QWidget,
)

from ui import strings
from ui.code_surface import content_width, region_rect
from ui.controls import button
from ui.markdown_writer import CODE_HEAD, CodeRegion
from ui.theme import theme

NEAR = 400
"""Pixels around what is seen in which blocks have their tools, so that Tab finds them."""
STEP = 40
"""Pixels of one press of a key or one notch of the wheel."""
INSET = 8
"""Pixels between the surface and the text that passes under its edge."""
LEAST = 90
"""Pixels (unscaled) of a block that must be seen for its bar to stand at their lower edge."""


_UP_AND_DOWN = (Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown)


class CodeBar(QScrollBar):
    """Scrolls one code block; wheels and keys that go up or down are for the conversation."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self.setAccessibleName(strings.SCROLL_CODE)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCursor(Qt.CursorShape.ArrowCursor)
        self.setSingleStep(STEP)
        self.setProperty("kind", "code")

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        places = {
            Qt.Key.Key_Left: self.value() - STEP,
            Qt.Key.Key_Right: self.value() + STEP,
            Qt.Key.Key_Home: 0,
            Qt.Key.Key_End: self.maximum(),
        }
        place = next((to for key, to in places.items() if event.key() == key), None)
        if place is not None:
            self.setValue(place)
        elif event.key() in _UP_AND_DOWN and (area := self._conversation()) is not None:
            QCoreApplication.sendEvent(area, event)
        else:
            event.ignore()

    def _conversation(self) -> QWidget | None:
        """What scrolls up and down around the text."""
        around = self.parentWidget()
        while around is not None and not isinstance(around, QScrollArea):
            around = around.parentWidget()
        return around


@dataclass(slots=True)
class _Tools:
    copy: QPushButton | None = None
    bar: CodeBar | None = None


class CodeTools:
    """`copied(index)`: Copy of a block was pressed. `scrolled(index, px)`: a block moved."""

    def __init__(
        self,
        document: QTextDocument,
        area: QAbstractScrollArea,
        copied: Callable[[int], None],
        scrolled: Callable[[int, int], None],
    ) -> None:
        self._document = document
        self._area = area
        self._copied = copied
        self._scrolled = scrolled
        self._regions: list[CodeRegion] = []
        self._rects: list[QRectF] | None = None
        self._wide: dict[int, int] = {}
        self._offsets: dict[int, int] = {}
        self._shown: dict[int, _Tools] = {}
        self._spare_copies: list[QPushButton] = []
        self._spare_bars: list[CodeBar] = []
        self._seen = (0, 1 << 30)

    @property
    def _viewport(self) -> QWidget:
        return self._area.viewport()  # asked for again: the wrapper may not outlive a move

    # Places
    def changed(self, regions: list[CodeRegion]) -> None:
        """The document was written to or laid out anew."""
        self._regions, self._rects = regions, None
        self._wide.clear()
        self.place()

    def look(self, top: int, bottom: int) -> None:
        """What is seen, in px of the document."""
        if (top, bottom) != self._seen:
            self._seen = (top, bottom)
            if self._regions:
                self.place(moved=False)

    def rects(self) -> list[QRectF]:
        """The surfaces of all code blocks."""
        if self._rects is None:
            width = self._viewport.width()
            self._rects = [region_rect(self._document, r, width) for r in self._regions]
        return self._rects

    def place(self, moved: bool = True) -> None:
        """Shows the tools of the blocks that are seen, puts the others away. `moved`: the
        blocks stand elsewhere than before."""
        top, bottom = self._seen[0] - NEAR, self._seen[1] + NEAR
        rects = self.rects()
        near = [n for n, r in enumerate(rects) if r.bottom() >= top and r.top() <= bottom]
        for index in [n for n in self._shown if n not in near]:
            self._put_away(self._shown.pop(index))
        for index in near:
            if moved or index not in self._shown:
                self._place_copy(index, rects[index])
            self._place_bar(index, self._shown[index], rects[index])

    def _put_away(self, tools: _Tools) -> None:
        if tools.copy is not None:
            tools.copy.hide()
            self._spare_copies.append(tools.copy)
        if tools.bar is not None:
            tools.bar.hide()
            self._spare_bars.append(tools.bar)

    def _place_copy(self, index: int, area: QRectF) -> None:
        shown = self._shown.setdefault(index, _Tools())
        if self._regions[index].above:
            return
        look = theme()
        copy = shown.copy = shown.copy or self._make_copy()
        size = copy.sizeHint()
        copy.resize(size)
        y = area.top() + (look.px(CODE_HEAD) - size.height()) / 2
        copy.move(int(area.right()) - size.width() - look.px(6), int(y))
        copy.show()

    def _place_bar(self, index: int, shown: _Tools, area: QRectF) -> None:
        edge, height = self._seen[1], self._bar_height()
        goes_on = self._regions[index].below and area.bottom() + height <= edge
        wanted = self.overflow(index) and not goes_on
        if not wanted:
            if shown.bar is not None:
                shown.bar.hide()
                self._spare_bars.append(shown.bar)
                shown.bar = None
            return
        bar = shown.bar = shown.bar or self._make_bar()
        # At the lower edge of the block, or of what is seen of it when that is enough.
        bottom = int(area.bottom())
        least = height if self._regions[index].above else theme().px(LEAST)
        if area.top() + least <= edge < bottom:
            bottom = edge
        y = bottom - height
        bar.setGeometry(int(area.left()) + INSET, y, int(area.width()) - 2 * INSET, height)
        bar.blockSignals(True)
        bar.setRange(0, max(self.overflow(index), self.offset(index)))
        bar.setPageStep(int(area.width()))
        bar.setValue(self.offset(index))
        bar.blockSignals(False)
        bar.show()

    def _bar_height(self) -> int:
        return QApplication.style().pixelMetric(QStyle.PixelMetric.PM_ScrollBarExtent)

    def _make_copy(self) -> QPushButton:
        if self._spare_copies:
            return self._spare_copies.pop()
        made = button(strings.COPY, "flat")
        made.setParent(self._viewport)
        made.setAccessibleName(strings.COPY_CODE)
        made.setToolTip(strings.COPY_CODE)
        made.setCursor(Qt.CursorShape.ArrowCursor)
        made.clicked.connect(lambda _=False: self._on_copy(made))
        return made

    def _make_bar(self) -> CodeBar:
        if self._spare_bars:
            return self._spare_bars.pop()
        made = CodeBar(self._viewport)
        made.valueChanged.connect(lambda value: self._on_bar(made, value))
        return made

    def _on_copy(self, pressed: QPushButton) -> None:
        for index, tools in self._shown.items():
            if tools.copy is pressed:
                self._copied(index)
                return

    def _on_bar(self, moved: CodeBar, value: int) -> None:
        for index, tools in self._shown.items():
            if tools.bar is moved:
                self.follow(index, value)
                return

    # Sideways
    def overflow(self, index: int) -> int:
        """Pixels by which a block is wider than its place."""
        if index not in self._wide:
            self._wide[index] = content_width(self._document, self._regions[index])
        return max(0, self._wide[index] - self._viewport.width())

    def any_wide(self) -> bool:
        """True when a block that is seen has lines too long for it."""
        return any(tools.bar is not None for tools in self._shown.values()) or bool(self._offsets)

    def offset(self, index: int) -> int:
        """Pixels by which a block is scrolled."""
        return self._offsets.get(index, 0)

    def at(self, y: float) -> int:
        """The number of the block at `y`, -1 without one."""
        rects = self.rects()
        index = bisect_left(rects, y, key=QRectF.bottom)
        return index if index < len(rects) and rects[index].top() <= y else -1

    def offset_at(self, y: float) -> int:
        """How far the text at `y` is scrolled."""
        return self.offset(self.at(y)) if self._offsets else 0

    def wide(self, clip: QRectF) -> list[tuple[QRect, int]]:
        """Places in `clip` whose lines are too long, with how far they are scrolled."""
        out = []
        for index, area in enumerate(self.rects()):
            if area.intersects(clip) and (self.overflow(index) or self.offset(index)):
                inner = area.adjusted(INSET, 0, -INSET, 0).toAlignedRect()
                out.append((inner, self.offset(index)))
        return out

    def scroll(self, index: int, by: int) -> bool:
        """Moves a block sideways by `by` px; False when it has no room."""
        value = max(0, min(self.overflow(index), self.offset(index) + by))
        if not self.overflow(index):
            return False
        self.follow(index, value)
        return True

    def reveal(self, index: int, x: float) -> None:
        """Scrolls a block so far that `x` of its unscrolled text is seen."""
        offset, width, edge = self.offset(index), self._viewport.width(), 3 * INSET
        if x < offset + edge:
            self.follow(index, max(0, int(x) - edge))
        elif x > offset + width - edge and self.overflow(index):
            self.follow(index, min(self.overflow(index), int(x) - width + edge))

    def follow(self, index: int, value: int) -> None:
        """Moves a block to where the rest of it is, which stands in another document."""
        if index < len(self._regions) and value != self.offset(index):
            self._offsets[index] = value
            self._viewport.update()
            self.place()
            self._scrolled(index, value)
