"""Asks which form the answers of a conversation must have: a JSON schema or a regex.

`chosen(Constraint | None)`; None takes the form away. `form_changed` lets the owner check
the text; a problem is shown under it and keeps it from being used. Main thread only.
"""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QDialog, QHBoxLayout, QVBoxLayout, QWidget

from engine.types import Constraint
from ui import strings
from ui import tool_strings as words
from ui.controls import button, label
from ui.form_fields import FormFields
from ui.theme import theme


class FormDialog(QDialog):
    """Opened with `open()`; never blocks."""

    chosen = Signal(object)
    form_changed = Signal(object)

    def __init__(self, parent: QWidget | None, form: Constraint | None) -> None:
        super().__init__(parent)
        self.setWindowTitle(words.FORM)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setModal(True)
        self.fields = FormFields()
        self.none = button(words.NO_FORM, "", lambda: self._choose(None))
        self.none.setVisible(form is not None)
        self.use = button(words.USE_FORM, "primary", lambda: self._choose(self.constraint()))
        self._build()
        if form is None:
            self.fields.use_example(0)
        else:
            self.fields.set_constraint(form)
        self.fields.changed.connect(self.form_changed)
        self.resize(theme().px(560), theme().px(430))

    def _build(self) -> None:
        row = QHBoxLayout()
        row.setSpacing(8)
        row.addWidget(self.none)
        row.addStretch(1)
        row.addWidget(button(strings.CANCEL, "", self.reject))
        row.addWidget(self.use)
        body = QVBoxLayout(self)
        body.setContentsMargins(24, 20, 24, 20)
        body.setSpacing(12)
        body.addWidget(label(words.FORM, "title"))
        body.addWidget(label(words.FORM_TEXT, "muted", wrap=True))
        body.addWidget(self.fields, 1)
        body.addLayout(row)

    def constraint(self) -> Constraint:
        return self.fields.constraint()

    def set_problem(self, sentence: str) -> None:
        """What is wrong with the form; "" when it can be used."""
        self.fields.set_problem(sentence)
        self.use.setEnabled(not sentence and bool(self.constraint().text.strip()))

    def _choose(self, form: Constraint | None) -> None:
        self.chosen.emit(form)
        self.accept()
