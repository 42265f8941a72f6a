"""Enter and Escape belong to an input method while it composes. Main thread only.

Most input methods take those keys before Qt sees them; where one does not, a half-written word
would be sent, or an answer stopped. A line of text even says "return pressed" without the word.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QInputMethodEvent, QKeyEvent
from PySide6.QtWidgets import QWidget

_ITS_KEYS = (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Escape, Qt.Key.Key_Up)


class KeysOfInputMethod(QObject):
    """Lives with `field`. To be made after other event filters of the field: the last is first."""

    def __init__(self, field: QWidget) -> None:
        super().__init__(field)
        self.composing = False
        """True while text is shown that is not committed yet."""
        field.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QInputMethodEvent):
            self.composing = bool(event.preeditString())
        elif event.type() == QEvent.Type.FocusOut:
            self.composing = False
        elif self.composing and event.type() == QEvent.Type.KeyPress:
            return isinstance(event, QKeyEvent) and event.key() in _ITS_KEYS
        return False
