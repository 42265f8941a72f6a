"""The end of a log, as it is: monospace, unwrapped, its last line in sight.

Opened without blocking; several kinds of log can be chosen from. Main thread only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QComboBox, QDialog, QHBoxLayout, QPlainTextEdit, QVBoxLayout, QWidget

from ui import format as fmt
from ui import strings
from ui import strings_core as words
from ui.controls import ElidedLabel, button, label, primary_button
from ui.dialog_size import open_at
from ui.theme import theme


@dataclass(frozen=True, slots=True)
class LogText:
    """One log: what it is called, where it lies, and its last lines."""

    name: str
    path: str
    text: str


class LogDialog(QDialog):
    """Call `open()`; never `exec()`. Deletes itself when closed."""

    folder_requested = Signal()

    def __init__(self, logs: Sequence[LogText], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._logs = tuple(logs)
        self.setWindowTitle(words.LOG_TITLE)
        self.setModal(True)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.choice = QComboBox()
        self.choice.setAccessibleName(words.LOG_TITLE)
        for log in self._logs:
            self.choice.addItem(log.name)
        self.text = QPlainTextEdit()
        self.text.setReadOnly(True)
        self.text.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.text.setProperty("kind", "field")
        self.text.setFont(theme().font(12, mono=True))
        self.text.setAccessibleName(words.LOG_TITLE)
        self.path = ElidedLabel("", "muted")
        self._lay_out()
        self.choice.currentIndexChanged.connect(self._show)
        self._show(0)
        open_at(self, 820, 520)
        self.text.setFocus()

    def _lay_out(self) -> None:
        head = QHBoxLayout()
        head.setSpacing(12)
        title = label(words.LOG_TITLE, "title")
        title.setBuddy(self.choice)
        head.addWidget(title)
        head.addWidget(self.choice)
        head.addWidget(self.path, 1)
        foot = QHBoxLayout()
        foot.setSpacing(8)
        foot.addWidget(button(words.LOG_FOLDER, "", self.folder_requested.emit))
        foot.addStretch(1)
        foot.addWidget(button(strings.COPY, "", self._copy))
        self.close_button = primary_button(strings.CLOSE, self.accept)
        self.close_button.setDefault(True)
        foot.addWidget(self.close_button)
        body = QVBoxLayout(self)
        body.setContentsMargins(20, 16, 20, 16)
        body.setSpacing(12)
        body.addLayout(head)
        body.addWidget(self.text, 1)
        body.addLayout(foot)

    def _show(self, row: int) -> None:
        log = self._logs[max(0, row)]
        self.path.set_text(log.path)
        self.text.setPlainText(fmt.clean_text(log.text) or words.LOG_EMPTY)
        # Before the first show the page has no height yet, so there is nothing to scroll.
        QTimer.singleShot(0, self.text, self._to_end)

    def _to_end(self) -> None:
        bar = self.text.verticalScrollBar()
        bar.setValue(bar.maximum())

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.text.toPlainText())
