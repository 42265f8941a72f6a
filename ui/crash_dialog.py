"""The problem report before it is written: what is in it, what may be added, Save.

Shows plain values: the owner gives the files as (name, text) and gives others when the box
is ticked. `save_requested` has no effect here; the owner closes the dialog. Main thread;
call `open()`, never `exec()`.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDialog,
    QFrame,
    QHBoxLayout,
    QPlainTextEdit,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from ui import strings
from ui import strings_report as words
from ui.controls import button, label, name_field
from ui.dialog_size import open_at
from ui.theme import theme


class CrashDialog(QDialog):
    """`include_changed(on)` asks for other files; `save_requested` to write those shown."""

    include_changed = Signal(bool)
    save_requested = Signal()

    def __init__(self, parent: QWidget | None, cause: str, can_include: bool) -> None:
        super().__init__(parent)
        self.setWindowTitle(words.TITLE)
        self.setModal(True)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._texts: list[str] = []
        page = QWidget()
        body = QVBoxLayout(page)
        body.setContentsMargins(24, 20, 24, 12)
        body.setSpacing(12)
        body.addWidget(label(words.TITLE, "title"))
        body.addWidget(label(words.TEXT, "", wrap=True))
        self.cause = label(words.LIKELY.format(cause=cause), "strong", wrap=True)
        self.cause.setVisible(bool(cause))
        body.addWidget(self.cause)
        self.include = QCheckBox(words.INCLUDE)
        self.include.setVisible(can_include)
        self.include.toggled.connect(self.include_changed)
        self.include.setAccessibleDescription(words.INCLUDE_MORE)
        body.addWidget(self.include)
        more = label(words.INCLUDE_MORE, "small", wrap=True)
        more.setVisible(can_include)
        body.addWidget(more)
        body.addWidget(label(words.PREVIEW, "strong13"))
        self.part = QComboBox()
        name_field(self.part, words.PART, page)
        self.part.currentIndexChanged.connect(self._show_part)
        body.addWidget(self.part)
        self.preview = QPlainTextEdit()
        self.preview.setReadOnly(True)
        self.preview.setProperty("kind", "field")
        self.preview.setAccessibleName(words.PREVIEW)
        self.preview.setMinimumHeight(theme().px(100))
        body.addWidget(self.preview, 1)
        row = QHBoxLayout()
        row.addStretch(1)
        row.addWidget(button(strings.CANCEL, "", self.reject))
        self.save = button(words.SAVE, "primary", self.save_requested.emit)
        self.save.setDefault(True)
        row.addWidget(self.save)
        row.setContentsMargins(24, 0, 24, 16)
        area = QScrollArea()  # with large text all of it is taller than a small screen
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setWidget(page)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(area, 1)
        outer.addLayout(row)
        open_at(self, 600, 520)

    def set_files(self, files: Sequence[tuple[str, str]]) -> None:
        """Shows these parts; keeps the chosen one where it still exists."""
        chosen = self.part.currentText()
        self._texts = [text for _, text in files]
        self.part.blockSignals(True)
        self.part.clear()
        self.part.addItems([name for name, _ in files])
        self.part.setCurrentIndex(max(0, self.part.findText(chosen)))
        self.part.blockSignals(False)
        self._show_part(self.part.currentIndex())

    def _show_part(self, index: int) -> None:
        if 0 <= index < len(self._texts):
            self.preview.setPlainText(self._texts[index])
