"""A read-only text that can be selected, searched and copied, and that loads nothing.

No link is followed: a click is only reported. Wheels are for the conversation around.
Main thread only.
"""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QByteArray, QMimeData, QPoint, Qt, QUrl, Signal
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QFocusEvent,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QWheelEvent,
)
from PySide6.QtWidgets import QFrame, QSizePolicy, QTextBrowser, QTextEdit

from ui.theme import theme

MOST_HITS = 5000


class BodyText(QTextBrowser):
    """`whole_selection` and `select_everything` are for an owner of several documents."""

    link_clicked = Signal(str)
    menu_requested = Signal(QContextMenuEvent)
    selecting = Signal(object)
    """The pointer's global place while a selection is drawn with the mouse, None at its end."""
    selection_left = Signal()
    """A mouse press elsewhere took the selection away."""

    def __init__(self, name: str) -> None:
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
        self.whole_selection: Callable[[], str] = self.selected_text
        self.select_everything: Callable[[], None] = self.selectAll
        self.anchorClicked.connect(self._on_anchor_clicked)

    def loadResource(self, kind: int, name: QUrl | str) -> QByteArray:
        """Nothing: a document of ours has no resources, whatever an answer says. Not None,
        with which Qt would go on to read a local file."""
        return QByteArray(b" ")

    # Finding
    def find_all(self, term: str, case: bool) -> list[QTextCursor]:
        """All places of `term` in what is shown."""
        flags = QTextDocument.FindFlag.FindCaseSensitively if case else QTextDocument.FindFlag(0)
        out: list[QTextCursor] = []
        found = self.document().find(term, 0, flags)
        while not found.isNull() and len(out) < MOST_HITS:
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

    # Selecting
    def createMimeDataFromSelection(self) -> QMimeData:
        data = QMimeData()
        data.setText(self.whole_selection())
        return data

    def selected_text(self) -> str:
        return self.textCursor().selection().toPlainText()

    def select(self, begin: int, end: int) -> None:
        """Selects from position `begin` to `end`; -1 is the last."""
        last = self.document().characterCount() - 1
        cursor = self.textCursor()
        cursor.setPosition(last if begin < 0 else min(begin, last))
        cursor.setPosition(last if end < 0 else min(end, last), QTextCursor.MoveMode.KeepAnchor)
        self.setTextCursor(cursor)

    def unselect(self) -> None:
        cursor = self.textCursor()
        if cursor.hasSelection():
            cursor.clearSelection()
            self.setTextCursor(cursor)

    def position_at(self, place: QPoint) -> int:
        """The position in the text at a global place."""
        return self.cursorForPosition(self.viewport().mapFromGlobal(place)).position()

    def select_to(self, place: QPoint) -> None:
        """Moves the loose end of the selection to a global place."""
        self.select(self.textCursor().anchor(), self.position_at(place))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.SelectAll):
            self.select_everything()
        else:
            super().keyPressEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        super().mouseMoveEvent(event)
        if event.buttons() & Qt.MouseButton.LeftButton and self.textCursor().hasSelection():
            self.selecting.emit(event.globalPosition().toPoint())

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        super().mouseReleaseEvent(event)
        self.selecting.emit(None)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        if event.reason() == Qt.FocusReason.MouseFocusReason:
            self.unselect()
            self.selection_left.emit()

    # Input
    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        self.menu_requested.emit(event)

    def _on_anchor_clicked(self, target: QUrl) -> None:
        # Encoded: the readable form would turn bytes back into letters that can mislead.
        self.link_clicked.emit(bytes(target.toEncoded().data()).decode("ascii", "replace"))
