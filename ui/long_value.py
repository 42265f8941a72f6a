"""Text that may be longer than any window and has no blanks: paths, hashes, times.

A label breaks between words only and would widen its window; marks to break at would be copied
along with the text. Main thread only.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QResizeEvent, QTextOption
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QSizePolicy

LONG_WORD = 24
"""A text with a word of more letters needs this."""


def has_long_word(text: str) -> bool:
    return any(len(word) > LONG_WORD for word in text.split())


class LongValue(QPlainTextEdit):
    """Shows `text` as a label would, as tall as it is, and breaks it anywhere."""

    def __init__(self, text: str = "") -> None:
        super().__init__()
        self.setReadOnly(True)
        self.setProperty("kind", "value")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setTabChangesFocus(True)
        self.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        for bar in (self.setVerticalScrollBarPolicy, self.setHorizontalScrollBarPolicy):
            bar(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.document().setDocumentMargin(0)
        self.viewport().setAutoFillBackground(False)
        self.set_text(text)

    def text(self) -> str:
        return self.toPlainText()

    def set_text(self, text: str) -> None:
        if text != self.toPlainText():
            self.setPlainText(text)
        self._fit()

    def minimumSizeHint(self) -> QSize:
        return QSize(60, self.height())

    def sizeHint(self) -> QSize:
        return QSize(60, self.height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._fit()

    def _fit(self) -> None:
        lines = max(1, round(self.document().size().height()))
        room = self.contentsMargins().top() + self.contentsMargins().bottom()
        self.setFixedHeight(lines * self.fontMetrics().lineSpacing() + room + 4)
