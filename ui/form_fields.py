"""The fields of a forced form: its kind, its text, examples, and what is wrong with it."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import (
    QButtonGroup,
    QHBoxLayout,
    QMenu,
    QPlainTextEdit,
    QRadioButton,
    QVBoxLayout,
    QWidget,
)

from engine.types import Constraint, ConstraintKind
from ui import tool_strings as words
from ui.controls import label, menu_button
from ui.file_drops import let_files_through
from ui.theme import theme


class FormFields(QWidget):
    """`changed(Constraint)` after every change; `example_chosen(message)` for a question to it.

    The owner checks the form and tells with `set_problem`.
    """

    changed = Signal(object)
    example_chosen = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.kinds: dict[str, QRadioButton] = {}
        self.text = QPlainTextEdit()
        let_files_through(self.text)
        self.text.setProperty("kind", "field")
        self.text.setAccessibleName(words.FORM)
        self.text.setTabChangesFocus(True)
        self.problem = label("", "bad", wrap=True)
        self.problem.hide()
        self.examples = menu_button(words.EXAMPLES, self._example_menu())
        body = QVBoxLayout(self)
        body.setContentsMargins(0, 0, 0, 0)
        body.setSpacing(8)
        body.addLayout(self._kind_row())
        body.addWidget(self.text, 1)
        body.addWidget(self.problem)
        self.text.textChanged.connect(self._on_changed)
        theme().changed.connect(self._set_font)
        self._set_font()

    def constraint(self) -> Constraint:
        kind = next(k for k, radio in self.kinds.items() if radio.isChecked())
        text = self.text.toPlainText()
        return Constraint(ConstraintKind(kind), text if kind == "json_schema" else text.strip("\n"))

    def set_constraint(self, form: Constraint) -> None:
        self.kinds[form.kind].setChecked(True)
        self.text.setPlainText(form.text)

    def set_problem(self, sentence: str) -> None:
        """What is wrong with the form; "" when it can be used."""
        self.problem.setText(sentence)
        self.problem.setVisible(bool(sentence))

    def use_example(self, index: int) -> None:
        _, kind, form, message = words.EXAMPLE_FORMS[index]
        self.set_constraint(Constraint(ConstraintKind(kind), form))
        self.example_chosen.emit(message)

    def _kind_row(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(12)
        group = QButtonGroup(self)
        for kind, text in (
            (ConstraintKind.JSON_SCHEMA, words.JSON_SCHEMA),
            (ConstraintKind.REGEX, words.REGEX),
        ):
            radio = QRadioButton(text)
            radio.clicked.connect(lambda _=False: self._on_changed())
            group.addButton(radio)
            self.kinds[kind] = radio
            row.addWidget(radio)
        row.addStretch(1)
        row.addWidget(self.examples)
        return row

    def _example_menu(self) -> QMenu:
        menu = QMenu(self)
        for index, example in enumerate(words.EXAMPLE_FORMS):
            action = menu.addAction(example[0])
            action.triggered.connect(lambda _=False, i=index: self.use_example(i))
        return menu

    def _set_font(self) -> None:
        look = theme()
        self.text.setFont(look.font(13, mono=True))
        self.text.setStyleSheet(f"font-family: '{look.mono_family}'; font-size: {look.px(13)}px;")

    def _on_changed(self) -> None:
        if any(radio.isChecked() for radio in self.kinds.values()):
            form = self.constraint()
            self.text.setPlaceholderText(words.FORM_HINTS[form.kind])
            self.changed.emit(form)
