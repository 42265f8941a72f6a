"""The field in which a person rewrites an earlier message."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QPlainTextEdit, QVBoxLayout, QWidget

from ui import strings
from ui.controls import primary_button, secondary_button
from ui.file_drops import let_files_through
from ui.input_method import KeysOfInputMethod
from ui.theme import theme


class TurnEditor(QWidget):
    """`submitted(text)` on Send or Ctrl+Enter (never empty), `cancelled` on Cancel or Esc."""

    submitted = Signal(str)
    cancelled = Signal()

    def __init__(self, text: str) -> None:
        super().__init__()
        self.field = QPlainTextEdit(text)
        let_files_through(self.field)
        self.field.setProperty("kind", "field")
        self.field.setAccessibleName("Edit message")
        self.field.setTabChangesFocus(True)
        lines = min(12, max(2, text.count("\n") + len(text) // 70 + 1))
        self.field.setFixedHeight(lines * self.field.fontMetrics().lineSpacing() + theme().px(22))
        self.field.installEventFilter(self)
        KeysOfInputMethod(self.field)
        self.send = primary_button(strings.SAVE_AND_SEND, self._on_sent)
        row = QHBoxLayout()
        row.addStretch(1)
        row.addWidget(secondary_button(strings.CANCEL, self.cancelled.emit))
        row.addWidget(self.send)
        box = QVBoxLayout(self)
        box.setContentsMargins(0, 0, 0, 0)
        box.addWidget(self.field)
        box.addLayout(row)

    def take_focus(self) -> None:
        """Puts the cursor after the last character."""
        self.field.setFocus()
        self.field.moveCursor(self.field.textCursor().MoveOperation.End)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
            if event.key() == Qt.Key.Key_Escape:
                self.cancelled.emit()
                return True
            if enter and event.modifiers() & Qt.KeyboardModifier.ControlModifier:
                self._on_sent()
                return True
        return super().eventFilter(watched, event)

    def _on_sent(self) -> None:
        text = self.field.toPlainText()
        if text.strip():
            self.submitted.emit(text)
