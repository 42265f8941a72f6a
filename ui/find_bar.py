"""Find in chat: a line with the words, `3 of 17`, next and previous.

Knows nothing of the transcript: it emits `query_changed`, `next_requested`,
`previous_requested` and `closed`, and shows what `set_count` tells. Main thread.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal
from PySide6.QtGui import QHideEvent, QKeyEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLineEdit

from ui import strings_history as words
from ui.controls import announce, icon_button, label, restyle
from ui.file_drops import let_files_through
from ui.input_method import KeysOfInputMethod
from ui.theme import theme

DELAY_MS = 120


class FindBar(QFrame):
    """Hidden until `open`. Esc closes it; Enter and Shift+Enter go on and back."""

    query_changed = Signal(str)
    next_requested = Signal()
    previous_requested = Signal()
    closed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("header")
        self.setAccessibleName(words.FIND)
        self.field = QLineEdit()
        let_files_through(self.field)
        self.field.setPlaceholderText(words.FIND)
        self.field.setAccessibleName(words.FIND)
        self.field.setMinimumWidth(96)
        self.field.setMaximumWidth(theme().px(360))
        self.field.installEventFilter(self)
        KeysOfInputMethod(self.field)
        self.count = label("", "small")
        self.back = icon_button("chevron-up", words.FIND_PREVIOUS, self.previous_requested.emit)
        self.forward = icon_button("chevron-down", words.FIND_NEXT, self.next_requested.emit)
        self.close_button = icon_button("close", words.FIND_CLOSE, self.close_bar)
        row = QHBoxLayout(self)
        row.setContentsMargins(16, 6, 16, 6)
        row.setSpacing(6)
        row.addStretch(1)
        row.addWidget(self.field, 1)
        row.addWidget(self.count)
        for part in (self.back, self.forward, self.close_button):
            row.addWidget(part)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(DELAY_MS)
        self._timer.timeout.connect(lambda: self.query_changed.emit(self.field.text()))
        self.field.textChanged.connect(self._on_typed)
        self.set_count(0, 0)
        self.hide()

    def open(self, text: str = "") -> None:
        """Shows the bar with the keyboard in it; `text` replaces what was searched."""
        if text:
            self.field.setText(text)
        self.show()
        self.field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.field.selectAll()
        if self.field.text():
            self._timer.start()

    def close_bar(self) -> None:
        if not self.isHidden():
            self.hide()

    def set_count(self, at: int, count: int) -> None:
        """Match `at` (from 1) of `count`; 0 of 0 with words in the field is "not found"."""
        missing = bool(self.field.text()) and count == 0
        text = words.FIND_COUNT.format(at=at, count=count) if count else ""
        shown = words.FIND_NONE if missing else text
        if shown and shown != self.count.text() and self.isVisible():
            announce(self, shown)
        self.count.setText(shown)
        restyle(self.field, invalid=missing)
        self.back.setEnabled(count > 0)
        self.forward.setEnabled(count > 0)

    def _on_typed(self, text: str) -> None:
        if text:
            self._timer.start()
        else:
            self._timer.stop()
            self.query_changed.emit("")
            self.set_count(0, 0)

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        if not event.spontaneous():
            self._timer.stop()
            self.closed.emit()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            if event.key() == Qt.Key.Key_Escape:
                self.close_bar()
                return True
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                back = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
                (self.previous_requested if back else self.next_requested).emit()
                return True
        return super().eventFilter(watched, event)
