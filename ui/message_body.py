"""The text of one message: a read-only document as tall as its content.

Code blocks get their surface, language and Copy button painted around them, so they take no
part in selecting and copying. Nothing is ever loaded for a document and no link is followed:
a click is only reported. Selecting survives while text streams in. Main thread only.
"""

from __future__ import annotations

from PySide6.QtCore import (
    QByteArray,
    QCoreApplication,
    QEvent,
    QMimeData,
    QPoint,
    QRectF,
    QSize,
    Qt,
    QUrl,
    Signal,
)
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QFocusEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QWheelEvent,
)
from PySide6.QtWidgets import QFrame, QPushButton, QSizePolicy, QTextBrowser, QTextEdit

from ui import strings
from ui.code_surface import paint_quotes, paint_region, region_rect, regions_between
from ui.controls import button
from ui.format import clean_text
from ui.markdown_render import CODE_HEAD, CODE_PAD, CodeRegion
from ui.markdown_stream import Handover, MarkdownStream
from ui.theme import theme

MAX_BUTTONS = 200
"""Code blocks beyond this many in one message have no button of their own."""


class MessageBody(QTextBrowser):
    """`markdown=False` shows plain text (a person's message)."""

    link_clicked = Signal(str)
    menu_requested = Signal(QContextMenuEvent)
    code_clicked = Signal(int)
    """Copy was pressed on the code block with this number."""
    height_changed = Signal()
    selecting = Signal(object)
    """The pointer's global place while a selection is drawn with the mouse, None at its end."""

    def __init__(
        self, name: str, markdown: bool = True, limit: int = 0, before: Handover | None = None
    ) -> None:
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
        self.stream = MarkdownStream(self.document(), limit, before) if markdown else None
        self.stale = False
        """Emptied by a theme change while out of sight; made again by `wake`."""
        self._plain = ""
        self._caret = False
        self._copy_buttons: list[QPushButton] = []
        self._placed = 0
        self._height = 0
        self._least = 0
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
        if not more:
            self._least = 0
        self._update_height()
        self._place_buttons()
        return more

    def hand_over(self) -> Handover | None:
        """What the next document goes on with, once this one holds as much as it may."""
        if self.stream is None or not self.stream.full:
            return None
        out = self.stream.hand_over()
        self._update_height()
        self._place_buttons()
        return out

    def rest(self) -> None:
        """Before a theme change, out of sight: emptied, but as tall as before."""
        if self.stream is not None and not self.stale:
            self.stale = True
            self._least = self._height
            self.document().clear()
            for spare in self._copy_buttons:  # at once: later, they would be restyled first
                spare.deleteLater()
                QCoreApplication.sendPostedEvents(spare, QEvent.Type.DeferredDelete.value)
            self._copy_buttons.clear()
            self._placed = 0

    def blank(self) -> None:
        """Before a theme change: Qt would lay a long document out anew several times."""
        if self.stream is not None:
            self._least = self._height
            self.document().clear()

    def scale(self, by: float) -> None:
        """A body at rest is about as tall as its text will be in the new size."""
        self._least = round(self._least * by)
        self._update_height()

    def wake(self) -> None:
        """After a theme change: the raw text with new colours and sizes, by `render_step`."""
        self.stale = False
        if self.stream is None:
            self.set_plain(self._plain)
        else:
            self._placed = 0
            self.stream.again()

    def set_caret(self, on: bool) -> None:
        """A block after the last character while the answer grows."""
        if on != self._caret:
            self._caret = on
            self.viewport().update()

    def loadResource(self, kind: int, name: QUrl | str) -> QByteArray:
        """Nothing: a document of ours has no resources, whatever an answer says. Not None,
        with which Qt would go on to read a local file."""
        return QByteArray(b" ")

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
        height = max(height, theme().px(19), self._least)
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
            for region in regions_between(self.stream.regions, top, end):
                area = self._region_rect(region)
                if area.intersects(clip):
                    paint_region(painter, area, region.language)
            paint_quotes(painter, self.document(), top, end)
            painter.end()
        super().paintEvent(event)
        if self._caret:
            self._paint_caret()

    def _region_rect(self, region: CodeRegion) -> QRectF:
        return region_rect(self.document(), region, self.viewport().width())

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
        if self.stream is None or self.stale:
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
        made.clicked.connect(lambda _=False: self.code_clicked.emit(index))
        return made

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

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        super().mouseMoveEvent(event)
        if event.buttons() & Qt.MouseButton.LeftButton and self.textCursor().hasSelection():
            self.selecting.emit(event.globalPosition().toPoint())

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        super().mouseReleaseEvent(event)
        self.selecting.emit(None)

    def select_to(self, place: QPoint) -> None:
        """Moves the loose end of the selection to a global place."""
        cursor = self.textCursor()
        at = self.cursorForPosition(self.viewport().mapFromGlobal(place)).position()
        cursor.setPosition(at, QTextCursor.MoveMode.KeepAnchor)
        self.setTextCursor(cursor)

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
