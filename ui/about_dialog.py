"""Versions of the program and its engine, and the licences of what it contains."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QPlainTextEdit,
    QVBoxLayout,
    QWidget,
)

from ui import strings
from ui.controls import button, label
from ui.dialog_size import open_at
from ui.icons import app_icon
from ui.theme import theme
from ui.tool_page import PageArea, TallPage
from ui.views import AboutView


class AboutDialog(QDialog):
    """Call `open()`; never `exec()`."""

    def __init__(self, view: AboutView, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._view = view
        self.setWindowTitle(f"About {strings.APP_NAME}")
        self.setModal(True)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        picture = QLabel()
        picture.setPixmap(app_icon().pixmap(theme().px(48)))
        head = QHBoxLayout()
        head.setSpacing(14)
        head.addWidget(picture)
        words = QVBoxLayout()
        words.addWidget(label(f"{strings.APP_NAME} {view.version}".strip(), "title"))
        words.addWidget(label(strings.ABOUT_TEXT, "muted", wrap=True))
        head.addLayout(words, 1)
        page = TallPage()
        body = page.body
        body.setContentsMargins(24, 20, 24, 12)
        body.setSpacing(14)
        body.addLayout(head)
        grid = QGridLayout()
        grid.setHorizontalSpacing(18)
        for row, (name, value) in enumerate(view.facts):
            grid.addWidget(label(name, "muted"), row, 0)
            fact = label(value, "", wrap=True)
            fact.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            grid.addWidget(fact, row, 1)
        grid.setColumnStretch(1, 1)
        body.addLayout(grid)
        if view.licences:
            self._add_licences(body)
        body.addStretch(0 if view.licences else 1)
        last = QHBoxLayout()
        last.setContentsMargins(24, 4, 24, 20)
        last.addWidget(button("Copy versions", "", self._on_copy))
        last.addStretch(1)
        close = button(strings.CLOSE, "primary", self.accept)
        close.setDefault(True)
        last.addWidget(close)
        area = PageArea()  # with large text all of it is taller than a small screen
        area.setWidget(page)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.setSpacing(0)
        outer.addWidget(area, 1)
        outer.addLayout(last)
        open_at(self, 560, 520 if view.licences else 0)

    def _add_licences(self, body: QVBoxLayout) -> None:
        choice = QComboBox()
        choice.setAccessibleName("Licence of")
        choice.addItems([name for name, _ in self._view.licences])
        text = QPlainTextEdit()
        text.setReadOnly(True)
        text.setProperty("kind", "field")
        text.setAccessibleName("Licence text")
        text.setMinimumHeight(theme().px(180))
        choice.currentIndexChanged.connect(lambda i: text.setPlainText(self._view.licences[i][1]))
        text.setPlainText(self._view.licences[0][1])
        head = label("Licences", "strong13")
        head.setBuddy(choice)
        body.addWidget(head)
        body.addWidget(choice)
        body.addWidget(text, 1)

    def _on_copy(self) -> None:
        lines = [f"{strings.APP_NAME} {self._view.version}"]
        lines += [f"{name}: {value}" for name, value in self._view.facts]
        QGuiApplication.clipboard().setText("\n".join(lines))
