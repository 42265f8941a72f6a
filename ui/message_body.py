"""The text of one message: a read-only document as tall as its content.

Code blocks get their surface, language and Copy button painted around them, so they take no
part in selecting and copying. Nothing is ever loaded for a document and no link is followed:
a click is only reported. Selecting survives while text streams in. Main thread only.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from PySide6.QtCore import QMimeData, QPoint, QPointF, QRectF, QSize, Qt, QUrl, Signal
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QFocusEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QWheelEvent,
)
from PySide6.QtWidgets import QFrame, QPushButton, QSizePolicy, QTextBrowser, QTextEdit

from ui import strings
from ui.controls import button
from ui.format import clean_text, plain
from ui.markdown_render import CODE_HEAD, CODE_PAD, QUOTE, CodeRegion
from ui.markdown_stream import MarkdownStream
from ui.theme import theme

MAX_BUTTONS = 200
"""Code blocks beyond this many in one message have no button of their own."""


class MessageBody(QTextBrowser):
    """`markdown=False` shows plain text (a person's message)."""

    link_clicked = Signal(str)
    menu_requested = Signal(QContextMenuEvent)
    code_copied = Signal(str)
    height_changed = Signal()

    def __init__(self, name: str, markdown: bool = True) -> None:
        super().__init__()
        self.setProperty("kind", "body")
        self.setAccessibleName(name)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setOpenLinks(False)
        self.setOpenExternalLinks(False)
        self.setReadOnly(True)
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextBrowserInteraction
            | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setSizeAdjustPolicy(QTextBrowser.SizeAdjustPolicy.AdjustIgnored)
        self.setUndoRedoEnabled(False)
        self.viewport().setAutoFillBackground(False)
        self.document().setDocumentMargin(0)
        self.stream = MarkdownStream(self.document()) if markdown else None
        self._plain = ""
        self._caret = False
        self._copy_buttons: list[QPushButton] = []
        self._placed = 0
        self._height = 0
        self.document().documentLayout().documentSizeChanged.connect(self._on_size_changed)
        self.anchorClicked.connect(self._on_anchor_clicked)
        self.setFixedHeight(theme().px(20))

    # Content
    @property
    def raw(self) -> str:
        """The text as it was given: raw Markdown."""
        return self.stream.text if self.stream is not None else self._plain

    def set_plain(self, text: str) -> None:
        self._plain = text
        document = self.document()
        document.setDefaultFont(theme().font(14))
        self.setTextColor(theme().color("text"))
        document.setPlainText(clean_text(text))

    def set_markdown(self, text: str, final: bool = True) -> None:
        """Starts over with `text`; the caller goes on with `render`."""
        if self.stream is not None:
            self._placed = 0
            self.stream.reset(text, final)

    def render_step(self, budget_s: float) -> bool:
        """Renders what has come; True while there is more. Keeps the reader's selection."""
        if self.stream is None:
            return False
        cursor = self.textCursor()
        anchor, position = cursor.anchor(), cursor.position()
        more = self.stream.step(budget_s)
        after = self.textCursor()
        if (after.anchor(), after.position()) != (anchor, position):
            end = self.document().characterCount() - 1
            after.setPosition(min(anchor, end))
            after.setPosition(min(position, end), QTextCursor.MoveMode.KeepAnchor)
            self.setTextCursor(after)
        self._update_height()
        self._place_buttons()
        return more

    def rerender(self) -> None:
        """After a theme change: the raw text with new colours and sizes."""
        if self.stream is None:
            self.set_plain(self._plain)
        else:
            self._placed = 0
            self.stream.reset(self.stream.text)

    def blank_if_large(self) -> None:
        """Before a theme change: Qt would lay a long document out anew several times."""
        if len(self.raw) > 30_000:
            self.document().clear()

    def set_caret(self, on: bool) -> None:
        """A block after the last character while the answer grows."""
        if on != self._caret:
            self._caret = on
            self.viewport().update()

    def loadResource(self, kind: int, name: QUrl | str) -> None:
        """Nothing: a document of ours has no resources, whatever an answer says."""
        return

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

    def _on_size_changed(self) -> None:
        self._update_height()

    def _update_height(self) -> None:
        height = int(self.document().size().height() + 0.99)
        if self.stream is not None and self.stream.ends_with_code:
            height += theme().px(CODE_PAD + 2)
        height = max(height, theme().px(19))
        if height != self._height:
            self._height = height
            self.setFixedHeight(height)
            self.height_changed.emit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._update_height()
        self._place_buttons(everything=event.size().width() != event.oldSize().width())

    # Painting
    def paintEvent(self, event: QPaintEvent) -> None:
        if self.stream is not None:
            painter = QPainter(self.viewport())
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            clip = QRectF(event.rect())
            top = self.cursorForPosition(QPoint(0, event.rect().top())).position()
            end = self.cursorForPosition(QPoint(0, event.rect().bottom())).position()
            for region in self._regions_between(top, end):
                area = self._region_rect(region)
                if area.intersects(clip):
                    self._paint_region(painter, area, region.language)
            self._paint_quotes(painter, top, end)
            painter.end()
        super().paintEvent(event)
        if self._caret:
            self._paint_caret()

    def _regions_between(self, top: int, end: int) -> list[CodeRegion]:
        """Code blocks that may be seen between two positions, one more on either side."""
        regions = self.stream.regions if self.stream is not None else []
        low = bisect_left(regions, top, key=lambda r: r.last)
        high = bisect_right(regions, end, key=lambda r: r.start)
        return regions[max(0, low - 1) : high + 1]

    def _region_rect(self, region: CodeRegion) -> QRectF:
        layout = self.document().documentLayout()
        look = theme()
        first = layout.blockBoundingRect(self.document().findBlock(region.start))
        last = layout.blockBoundingRect(self.document().findBlock(region.last))
        left = look.px(22) * region.indent
        top = first.top() - look.px(CODE_HEAD + CODE_PAD)
        bottom = last.bottom() + look.px(CODE_PAD)
        width = self.viewport().width() - left
        return QRectF(left + 0.5, top + 0.5, width - 1, bottom - top - 1)

    def _paint_region(self, painter: QPainter, area: QRectF, language: str) -> None:
        look = theme()
        painter.setPen(QPen(look.color("line"), 1))
        painter.setBrush(look.color("code"))
        painter.drawRoundedRect(area, 8, 8)
        head = area.top() + look.px(CODE_HEAD) - 1
        painter.drawLine(QPointF(area.left(), head), QPointF(area.right(), head))
        painter.setFont(look.font(12))
        painter.setPen(look.color("muted"))
        box = area.adjusted(look.px(12), 0, -look.px(70), 0)
        box.setHeight(look.px(CODE_HEAD))
        words = plain(language, 60).split()
        painter.drawText(box, Qt.AlignmentFlag.AlignVCenter, words[0][:40] if words else "code")

    def _paint_quotes(self, painter: QPainter, top: int, end: int) -> None:
        layout = self.document().documentLayout()
        look = theme()
        block = self.document().findBlock(top)
        while block.isValid() and block.position() <= end:
            level = block.blockFormat().property(QUOTE)
            if level:
                area = layout.blockBoundingRect(block)
                for step in range(int(level)):
                    bar = QRectF(look.px(14) * step, area.top(), 3, area.height())
                    painter.fillRect(bar, look.color("line"))
            block = block.next()

    def _paint_caret(self) -> None:
        cursor = QTextCursor(self.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        area = self.cursorRect(cursor)
        painter = QPainter(self.viewport())
        height = theme().px(16)
        top = area.bottom() - height + 1
        painter.fillRect(area.left() + 1, top, theme().px(4), height, theme().color("text"))
        painter.end()

    # Copy buttons
    def _place_buttons(self, everything: bool = False) -> None:
        """Puts a button over each code block; those placed before stay unless the width or
        the theme changed (`everything`)."""
        if self.stream is None:
            return
        regions = self.stream.regions[:MAX_BUTTONS]
        buttons = self._copy_buttons
        for spare in buttons[len(regions) :]:
            spare.hide()
        first = 0 if everything else min(self._placed, len(regions))
        for index in range(first, len(regions)):
            if index == len(buttons):
                buttons.append(self._make_button(index))
            self._place_button(buttons[index], self._region_rect(regions[index]))
        self._placed = max(0, len(regions) - 1)

    def _place_button(self, made: QPushButton, area: QRectF) -> None:
        look = theme()
        size = made.sizeHint()
        made.resize(size)
        y = area.top() + (look.px(CODE_HEAD) - size.height()) / 2
        made.move(int(area.right()) - size.width() - look.px(6), int(y))
        made.show()

    def _make_button(self, index: int) -> QPushButton:
        made = button(strings.COPY, "flat")
        made.setParent(self.viewport())
        made.setAccessibleName(strings.COPY_CODE)
        made.setToolTip(strings.COPY_CODE)
        made.setCursor(Qt.CursorShape.ArrowCursor)
        made.clicked.connect(lambda _=False: self._on_copy_clicked(index))
        return made

    def _on_copy_clicked(self, index: int) -> None:
        if self.stream is not None and index < len(self.stream.regions):
            self.code_copied.emit(self.stream.regions[index].code)

    # Finding
    def find_all(self, term: str, case: bool) -> list[QTextCursor]:
        """All places of `term` in what is shown."""
        flags = QTextDocument.FindFlag.FindCaseSensitively if case else QTextDocument.FindFlag(0)
        out: list[QTextCursor] = []
        found = self.document().find(term, 0, flags)
        while not found.isNull() and len(out) < 5000:
            out.append(found)
            found = self.document().find(term, found, flags)
        return out

    def mark_hits(self, hits: list[QTextCursor], current: int = -1) -> None:
        """Shows hits with a background; `current` is the index of the strong one, -1 none."""
        marks: list[QTextEdit.ExtraSelection] = []
        for index, cursor in enumerate(hits):
            mark = QTextEdit.ExtraSelection()
            fmt = QTextCharFormat()
            strong = index == current
            fmt.setBackground(theme().color("accent" if strong else "warn_soft"))
            if strong:
                fmt.setForeground(QColor(theme().tokens.on_accent))
            mark.cursor, mark.format = cursor, fmt
            marks.append(mark)
        self.setExtraSelections(marks)

    # Input
    def createMimeDataFromSelection(self) -> QMimeData:
        data = QMimeData()
        data.setText(self.textCursor().selection().toPlainText())
        return data

    def selected_text(self) -> str:
        return self.textCursor().selection().toPlainText()

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        self.menu_requested.emit(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        if event.reason() == Qt.FocusReason.MouseFocusReason:
            cursor = self.textCursor()
            cursor.clearSelection()
            self.setTextCursor(cursor)

    def _on_anchor_clicked(self, target: QUrl) -> None:
        # Encoded: the readable form would turn bytes back into letters that can mislead.
        self.link_clicked.emit(bytes(target.toEncoded().data()).decode("ascii", "replace"))
