"""One document of a message: Markdown that grows or plain text, as tall as its content.

Code blocks get their surface, language and Copy button painted around them, so they take no
part in selecting and copying; their long lines scroll sideways. Selecting survives while
text streams in. Main thread only.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from PySide6.QtCore import QEvent, QPoint, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QTextCursor,
    QWheelEvent,
)

from ui.body_text import BodyText
from ui.code_surface import paint_quotes, paint_region, region_rect, regions_between
from ui.code_tools import STEP, CodeTools
from ui.format import clean_text
from ui.markdown_source import Handover, PartSource
from ui.markdown_stream import MarkdownStream
from ui.markdown_writer import CODE_PAD
from ui.theme import theme

_MOUSE = frozenset(
    (
        QEvent.Type.MouseButtonPress,
        QEvent.Type.MouseButtonRelease,
        QEvent.Type.MouseButtonDblClick,
        QEvent.Type.MouseMove,
    )
)


class MessageBody(BodyText):
    """`markdown=False` shows plain text (a person's message)."""

    code_clicked = Signal(int)
    """Copy was pressed on the code block with this number."""
    code_scrolled = Signal(int, int)
    """A code block (number) was moved sideways to (px)."""
    height_changed = Signal()

    def __init__(self, name: str, markdown: bool = True, source: PartSource | None = None) -> None:
        super().__init__(name)
        self.stream = MarkdownStream(self.document(), source) if markdown else None
        self.tools = CodeTools(
            self.document(), self, self.code_clicked.emit, self.code_scrolled.emit
        )
        self._plain = ""
        self._caret = False
        self._pointing = False
        self._height = 0
        self._least = 0
        self.horizontalScrollBar().valueChanged.connect(self._on_side_scrolled)
        self.document().documentLayout().documentSizeChanged.connect(self._on_size_changed)
        self.cursorPositionChanged.connect(self._reveal_cursor)
        self.setFixedHeight(theme().px(20))

    # Content
    def set_plain(self, text: str) -> None:
        self._plain = text
        document = self.document()
        document.setDefaultFont(theme().font(14))
        self.setTextColor(theme().color("text"))
        document.setPlainText(clean_text(text))

    def set_markdown(self, text: str, final: bool = True) -> None:
        """Starts over with `text`; the caller goes on with `render_step`."""
        if self.stream is not None:
            self.stream.reset(text, final)

    def restart(self, source: PartSource) -> None:
        """Starts over with what `source` gives, as tall as before until that is drawn."""
        if self.stream is not None:
            self._least = self._height
            self.stream.restart(source)

    def render_step(self, budget_s: float) -> bool:
        """Renders what has come; True while there is more. Keeps the reader's selection."""
        if self.stream is None:
            self._least = 0
            self._update_height()
            return False
        cursor = self.textCursor()
        anchor, position = cursor.anchor(), cursor.position()
        more = self.stream.step(budget_s)
        after = self.textCursor()
        if (after.anchor(), after.position()) != (anchor, position):
            self.select(anchor, position)
        if not more:
            self._least = 0
        self._update_height()
        self.tools.changed(self.stream.regions)
        return more

    def hand_over(self) -> Handover:
        """Ends here; returns what another document goes on with."""
        assert self.stream is not None
        out = self.stream.hand_over()
        self._update_height()
        return out

    def blank(self) -> None:
        """Before a theme change: Qt would lay a long document out anew several times."""
        if self.stream is not None:
            self._least = self._height
            self.tools.changed([])
            self.document().clear()

    def again(self) -> None:
        """After a theme change: the text with new colours and sizes, by `render_step`."""
        if self.stream is None:
            self.set_plain(self._plain)
        else:
            self.stream.again()

    def set_caret(self, on: bool) -> None:
        """A block after the last character while the answer grows."""
        if on != self._caret:
            self._caret = on
            self.viewport().update()

    # Size
    def ideal_width(self) -> int:
        """Width the text would take on unbroken lines, in px."""
        document = self.document()
        width = document.textWidth()
        document.setTextWidth(-1)
        ideal = int(document.idealWidth()) + 2
        document.setTextWidth(width)
        return ideal

    def minimumSizeHint(self) -> QSize:
        return QSize(40, 10)

    def hold_height(self, least: int) -> None:
        """Stays at least this tall until it is drawn."""
        self._least = least
        self._update_height()

    def _on_size_changed(self) -> None:
        self._update_height()

    def _update_height(self) -> None:
        height = int(self.document().size().height() + 0.99)
        stream = self.stream
        if stream is not None and stream.ends_with_code:
            region = stream.regions[-1] if stream.regions else None
            if region is None or not region.below:
                height += theme().px(CODE_PAD + 2)
        height = max(height, theme().px(19), self._least)
        if height != self._height:
            self._height = height
            self.setFixedHeight(height)
            self.height_changed.emit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._update_height()
        if self.stream is not None and event.size().width() != event.oldSize().width():
            self.tools.changed(self.stream.regions)

    # Painting
    def paintEvent(self, event: QPaintEvent) -> None:
        under = self.stream is not None and self.stream.has_surfaces
        wide = self._paint_under(event.rect()) if under else []
        clip = event.rect()
        y = clip.top()
        for area, offset in wide:  # lines too long for their block, moved and clipped
            part = area.intersected(clip)
            if part.top() > y:
                above = QRect(clip.left(), y, clip.width(), part.top() - y)
                super().paintEvent(QPaintEvent(above))
            with self._moved(offset):
                super().paintEvent(QPaintEvent(part))
            y = part.bottom() + 1
        if y <= clip.bottom():
            clip.setTop(y)
            super().paintEvent(QPaintEvent(clip) if wide else event)
        if self._caret:
            self._paint_caret()

    def _paint_under(self, clip: QRect) -> list[tuple[QRect, int]]:
        """Paints what is behind the text; returns the places of code to be painted moved."""
        painter = QPainter(self.viewport())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        top = self.cursorForPosition(QPoint(0, clip.top())).position()
        end = self.cursorForPosition(QPoint(0, clip.bottom())).position()
        regions = self.stream.regions if self.stream is not None else []
        for region in regions_between(regions, top, end):
            area = region_rect(self.document(), region, self.viewport().width())
            if area.intersects(QRectF(clip)):
                paint_region(painter, area, region)
        paint_quotes(painter, self.document(), top, end)
        painter.end()
        return self.tools.wide(QRectF(clip)) if regions else []

    def _paint_caret(self) -> None:
        cursor = QTextCursor(self.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        area = self.cursorRect(cursor)
        height = theme().px(16)
        left = min(area.left() + 1, self.width() - theme().px(8))
        painter = QPainter(self.viewport())
        painter.fillRect(
            left, area.bottom() - height + 1, theme().px(4), height, theme().color("text")
        )
        painter.end()

    # Sideways
    @contextmanager
    def _moved(self, offset: int) -> Iterator[None]:
        """For the time of one call Qt takes the document to be scrolled by `offset` px."""
        bar = self.horizontalScrollBar()
        if not offset:
            yield
            return
        bar.blockSignals(True)
        bar.setMaximum(max(bar.maximum(), offset))
        bar.setValue(offset)
        try:
            yield
        finally:
            bar.setValue(0)
            bar.blockSignals(False)

    def viewportEvent(self, event: QEvent) -> bool:
        if event.type() in _MOUSE and isinstance(event, QMouseEvent):
            offset = self.tools.offset_at(event.position().y())
            self._pointing = True
            with self._moved(offset):
                done = super().viewportEvent(event)
            self._pointing = False
            if offset and event.buttons():
                self.viewport().update()
            return done
        return super().viewportEvent(event)

    def position_at(self, place: QPoint) -> int:
        with self._moved(self.tools.offset_at(self.viewport().mapFromGlobal(place).y())):
            return super().position_at(place)

    def _on_side_scrolled(self, value: int) -> None:
        """The document itself never moves sideways, only the code in it."""
        if value:
            self.horizontalScrollBar().setValue(0)

    def _reveal_cursor(self) -> None:
        self.reveal(self.textCursor())

    def reveal(self, cursor: QTextCursor) -> None:
        """Scrolls code sideways so that a place in it is seen."""
        if self._pointing or not self.tools.any_wide():
            return
        area = self.cursorRect(cursor)
        index = self.tools.at(area.center().y())
        if index >= 0:
            self.tools.reveal(index, area.x())

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Up and down is for the conversation, sideways for the code under the pointer."""
        turned, moved = event.angleDelta(), event.pixelDelta()
        by = moved.x() or turned.x() * STEP // 120
        if event.modifiers() & Qt.KeyboardModifier.ShiftModifier and not by:
            by = moved.y() or turned.y() * STEP // 120
        elif abs(turned.x()) <= abs(turned.y()):
            by = 0
        index = self.tools.at(event.position().y()) if by else -1
        if index >= 0 and self.tools.scroll(index, -by):
            event.accept()
        else:
            event.ignore()
