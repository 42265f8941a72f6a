"""Everything a model file says of itself, in one window.

Values can be selected and copied; the checksum is computed when asked for. Main thread only.
"""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QDialog,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QPlainTextEdit,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from ui import model_strings as words
from ui import strings
from ui.controls import button, hline, label, pill
from ui.dialog_size import open_at
from ui.layouts import FlowLayout
from ui.long_value import LongValue, has_long_word
from ui.model_views import DetailsView
from ui.theme import theme


class DetailsDialog(QDialog):
    """`checksum_requested(key)` asks for the sha256; `set_view` shows what came of it."""

    checksum_requested = Signal(str)

    def __init__(self, view: DetailsView, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(words.DETAILS_TITLE.format(name=view.name))
        self._view = view
        page = QWidget()
        body = QVBoxLayout(page)
        body.setContentsMargins(24, 20, 24, 12)
        body.setSpacing(10)
        body.addWidget(self._head())
        if view.line:
            body.addWidget(label(view.line, "muted", wrap=True))
        for title, rows in view.groups:
            body.addWidget(hline())
            body.addWidget(label(title, "strong"))
            body.addLayout(self._grid(rows))
            if title == words.GROUP_FILE:
                body.addLayout(self._checksum_row())
        if view.template:
            body.addWidget(hline())
            body.addWidget(label(words.GROUP_TEMPLATE, "strong"))
            body.addWidget(self._template())
        if view.sections:
            body.addWidget(hline())
            body.addWidget(label(words.GROUP_SECTIONS, "strong"))
            body.addLayout(self._sections())
        body.addStretch(1)
        scroll = QScrollArea()
        scroll.setProperty("kind", "reading")
        scroll.setAccessibleName(self.windowTitle())
        scroll.setWidgetResizable(True)
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        scroll.setWidget(page)
        close = button(strings.CLOSE, "primary", self.accept)
        close.setDefault(True)
        foot = QHBoxLayout()
        foot.setContentsMargins(24, 0, 24, 16)
        foot.addStretch(1)
        foot.addWidget(close)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(scroll, 1)
        outer.addLayout(foot)
        open_at(self, 640, 620, least=(360, 300))
        self.set_view(view)
        close.setFocus()

    def set_view(self, view: DetailsView) -> None:
        """Takes a new state of the checksum; the rest does not change while open."""
        self._view = view
        self._checksum.set_text(view.checksum)
        self._checksum.setVisible(bool(view.checksum))
        self._make.setVisible(view.can_checksum and (not view.checksum or view.checksum_busy))
        self._make.setEnabled(not view.checksum_busy)
        self._make.setText(words.CHECKSUM_WORKING if view.checksum_busy else words.CHECKSUM_MAKE)

    def view(self) -> DetailsView:
        return self._view

    def checksum_text(self) -> str:
        return self._checksum.text()

    def checksum_button(self) -> QWidget:
        return self._make

    def _head(self) -> QWidget:
        out = QWidget()
        flow = FlowLayout(out, gap=8)
        title = label(self._view.name, "title")
        title.setWordWrap(False)
        flow.addWidget(title)
        for badge in self._view.badges:
            flow.addWidget(pill(badge, on=badge == "MTP"))
        return out

    def _grid(self, rows: tuple[tuple[str, str], ...]) -> QGridLayout:
        grid = QGridLayout()
        grid.setHorizontalSpacing(16)
        grid.setVerticalSpacing(5)
        grid.setColumnMinimumWidth(0, theme().px(150))
        grid.setColumnStretch(1, 1)
        for line, (name, value) in enumerate(rows):
            key = label(name, "muted")
            key.setAlignment(Qt.AlignmentFlag.AlignTop)
            shown = _value(value, name)
            key.setBuddy(shown)
            grid.addWidget(key, line, 0)
            grid.addWidget(shown, line, 1)
        return grid

    def _checksum_row(self) -> QVBoxLayout:
        """The button beside its name; the hash below, over the whole width, so it fits."""
        row = QHBoxLayout()
        row.setSpacing(16)
        name = label(words.CHECKSUM, "muted")
        name.setMinimumWidth(theme().px(150))
        self._checksum = LongValue()
        self._checksum.setAccessibleName(words.CHECKSUM)
        self._make = button(
            words.CHECKSUM_MAKE, "small", lambda: self.checksum_requested.emit(self._view.key)
        )
        row.addWidget(name)
        row.addWidget(self._make)
        row.addStretch(1)
        out = QVBoxLayout()
        out.setSpacing(5)
        out.addLayout(row)
        out.addWidget(self._checksum)
        return out

    def _template(self) -> QWidget:
        box = QPlainTextEdit(self._view.template)
        box.setReadOnly(True)
        box.setProperty("kind", "field")
        box.setAccessibleName(words.GROUP_TEMPLATE)
        box.setFont(theme().font(12, mono=True))
        box.setTabChangesFocus(True)
        box.setMinimumHeight(theme().px(140))
        copy = button(words.COPY, "flat", self._copy_template)
        out = QWidget()
        column = QVBoxLayout(out)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        column.addWidget(box)
        column.addWidget(copy, 0, Qt.AlignmentFlag.AlignRight)
        return out

    def _copy_template(self) -> None:
        QGuiApplication.clipboard().setText(self._view.template)

    def _sections(self) -> QGridLayout:
        grid = QGridLayout()
        grid.setHorizontalSpacing(16)
        grid.setVerticalSpacing(4)
        grid.setColumnStretch(1, 1)
        for line, (kind, model_type, size) in enumerate(self._view.sections):
            for column, text in enumerate((kind, model_type, size)):
                cell = label(text, "muted" if column else "small")
                if column == 2:
                    cell.setAlignment(Qt.AlignmentFlag.AlignRight)
                grid.addWidget(cell, line, column)
        return grid


def _value(text: str, name: str) -> QWidget:
    if has_long_word(text):
        value = LongValue(text)
        value.setAccessibleName(name)
        return value
    out = label(text, "", wrap=True)
    out.setTextInteractionFlags(
        Qt.TextInteractionFlag.TextSelectableByMouse
        | Qt.TextInteractionFlag.TextSelectableByKeyboard
    )
    out.setAccessibleName(f"{name}: {text}")
    return out
