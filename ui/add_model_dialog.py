"""Paste a repository or an address, see its model files, fetch one. Main thread only."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QDialog,
    QFrame,
    QHBoxLayout,
    QLineEdit,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from ui import model_strings as words
from ui import strings
from ui.controls import Card, ElidedLabel, announce, button, label, primary_button, restyle
from ui.dialog_size import open_at
from ui.format import DOT
from ui.input_method import KeysOfInputMethod
from ui.model_views import HubFileView, RowAction


class AddModelDialog(QDialog):
    """`list_requested(text)`, then `download_requested(file)`; `way_on(id)` for the buttons
    under a problem. Stays open while downloads run in the tab behind it."""

    list_requested = Signal(str)
    download_requested = Signal(str)
    way_on = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(words.ADD_TITLE)
        self.setModal(True)
        self.field = QLineEdit()
        KeysOfInputMethod(self.field)
        self.field.setPlaceholderText("owner/name")
        self.field.setAccessibleName(words.ADD_FIELD)
        self.field.textChanged.connect(self._on_text)
        self.field.returnPressed.connect(self._on_find)
        self.find_button = primary_button(words.ADD_LIST, self._on_find)
        self.find_button.setEnabled(False)
        line = QHBoxLayout()
        line.setSpacing(8)
        line.addWidget(self.field, 1)
        line.addWidget(self.find_button)
        self._status = label("", "muted", wrap=True)
        self._ways = QHBoxLayout()
        self._ways.setSpacing(8)
        self._way_buttons: list[QWidget] = []
        self._files = QVBoxLayout()
        self._files.setSpacing(8)
        self._rows: list[QWidget] = []
        holder = QWidget()
        inner = QVBoxLayout(holder)
        inner.setContentsMargins(0, 0, 4, 0)
        inner.addLayout(self._files)
        inner.addStretch(1)
        self._scroll = QScrollArea()
        self._scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._scroll.setWidgetResizable(True)
        self._scroll.setFrameShape(QFrame.Shape.NoFrame)
        self._scroll.setWidget(holder)
        foot = QHBoxLayout()
        foot.addStretch(1)
        foot.addWidget(button(strings.CLOSE, "", self.reject))
        body = QVBoxLayout(self)
        body.setContentsMargins(24, 20, 24, 20)
        body.setSpacing(12)
        body.addWidget(label(words.ADD_TITLE, "title"))
        body.addWidget(label(words.ADD_TEXT, "muted", wrap=True))
        body.addLayout(line)
        body.addWidget(self._status)
        body.addLayout(self._ways)
        body.addWidget(self._scroll, 1)
        body.addLayout(foot)
        open_at(self, 560, 420)
        self.field.setFocus()

    def set_busy(self, sentence: str) -> None:
        self._say(sentence, "muted", ())
        self._clear_files()
        self.find_button.setEnabled(False)

    def set_files(self, title: str, files: Sequence[HubFileView]) -> None:
        self._say(title, "muted", ())
        self._clear_files()
        self.find_button.setEnabled(True)
        for file in files:
            row = self._row(file)
            self._files.addWidget(row)
            self._rows.append(row)

    def set_problem(self, sentence: str, ways: Sequence[RowAction]) -> None:
        self._clear_files()
        self.find_button.setEnabled(True)
        self._say(sentence, "bad", ways)
        announce(self, sentence, assertive=True)

    def status_text(self) -> str:
        return self._status.text()

    def _row(self, file: HubFileView) -> QWidget:
        card = Card(gap=2, margin=12)
        words_column = QVBoxLayout()
        words_column.setSpacing(2)
        words_column.addWidget(ElidedLabel(file.file, "strong"))
        facts = DOT.join(p for p in (file.size, file.fit) if p)
        words_column.addWidget(label(facts, "muted"))
        row = QHBoxLayout()
        row.setSpacing(12)
        row.addLayout(words_column, 1)
        if file.state:
            row.addWidget(label(file.state, "muted"))
        else:
            fetch = button(words.DOWNLOAD, "", lambda: self.download_requested.emit(file.file))
            fetch.setAccessibleName(f"{words.DOWNLOAD} {file.file}")
            row.addWidget(fetch)
        card.body.addLayout(row)
        return card

    def _say(self, text: str, kind: str, ways: Sequence[RowAction]) -> None:
        self._status.setText(text)
        restyle(self._status, kind=kind)
        while self._ways.count():
            self._ways.takeAt(0)
        for old in self._way_buttons:
            old.setParent(None)
            old.deleteLater()
        self._way_buttons = []
        for way in ways:
            shown = button(way.label, "small")
            shown.clicked.connect(lambda _=False, i=way.id: self.way_on.emit(i))
            self._ways.addWidget(shown)
            self._way_buttons.append(shown)
        self._ways.addStretch(1)

    def _clear_files(self) -> None:
        for row in self._rows:
            self._files.removeWidget(row)
            row.setParent(None)
            row.deleteLater()
        self._rows = []

    def _on_text(self, text: str) -> None:
        self.find_button.setEnabled(bool(text.strip()))

    def _on_find(self) -> None:
        if self.field.text().strip():
            self.list_requested.emit(self.field.text())
