"""Asks which form the answers of a conversation must have: a JSON schema or a regex.

`chosen(Constraint | None)`; None takes the form away. `form_changed` lets the owner check
the text; a problem is shown under it and keeps it from being used. Main thread only.
"""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QButtonGroup,
    QDialog,
    QHBoxLayout,
    QMenu,
    QPlainTextEdit,
    QRadioButton,
    QVBoxLayout,
    QWidget,
)

from engine.types import Constraint, ConstraintKind
from ui import strings
from ui import tool_strings as words
from ui.controls import button, label, menu_button
from ui.retire import retire_when_finished
from ui.theme import theme


class FormDialog(QDialog):
    """Opened with `open()`; never blocks."""

    chosen = Signal(object)
    form_changed = Signal(object)

    def __init__(self, parent: QWidget | None, form: Constraint | None) -> None:
        super().__init__(parent)
        self.setWindowTitle(words.FORM)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        retire_when_finished(self)
        self.setModal(True)
        self.kinds: dict[str, QRadioButton] = {}
        self.form = QPlainTextEdit()
        self.form.setProperty("kind", "field")
        self.form.setAccessibleName(words.FORM)
        self.form.setTabChangesFocus(True)
        self.form.setStyleSheet(
            f"font-family: '{theme().mono_family}'; font-size: {theme().px(13)}px;"
        )
        self.problem = label("", "bad", wrap=True)
        self.none = button(words.NO_FORM, "", lambda: self._choose(None))
        self.none.setVisible(form is not None)
        self.use = button(words.USE_FORM, "primary", lambda: self._choose(self.constraint()))
        self._build()
        if form is None:
            self._use_example(0)
        else:
            self.kinds[form.kind].setChecked(True)
            self.form.setPlainText(form.text)
        self.form.textChanged.connect(self._on_changed)
        self.resize(theme().px(560), theme().px(430))

    def _build(self) -> None:
        top = QHBoxLayout()
        top.setSpacing(12)
        group = QButtonGroup(self)
        for kind, text in (
            (ConstraintKind.JSON_SCHEMA, words.JSON_SCHEMA),
            (ConstraintKind.REGEX, words.REGEX),
        ):
            radio = QRadioButton(text)
            radio.clicked.connect(lambda _=False: self._on_changed())
            group.addButton(radio)
            self.kinds[kind] = radio
            top.addWidget(radio)
        top.addStretch(1)
        menu = QMenu(self)
        for index, example in enumerate(words.EXAMPLE_FORMS):
            action = menu.addAction(example[0])
            action.triggered.connect(lambda _=False, i=index: self._use_example(i))
        top.addWidget(menu_button(words.EXAMPLES, menu))
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
        body.addLayout(top)
        body.addWidget(self.form, 1)
        body.addWidget(self.problem)
        body.addLayout(row)

    def constraint(self) -> Constraint:
        kind = next(k for k, radio in self.kinds.items() if radio.isChecked())
        text = self.form.toPlainText()
        return Constraint(ConstraintKind(kind), text if kind == "json_schema" else text.strip("\n"))

    def set_problem(self, sentence: str) -> None:
        """What is wrong with the form; "" when it can be used."""
        self.problem.setText(sentence)
        self.problem.setVisible(bool(sentence))
        self.use.setEnabled(not sentence and bool(self.form.toPlainText().strip()))

    def _use_example(self, index: int) -> None:
        _, kind, form, _ = words.EXAMPLE_FORMS[index]
        self.kinds[kind].setChecked(True)
        self.form.setPlainText(form)

    def _on_changed(self) -> None:
        self.form.setPlaceholderText(words.FORM_HINTS[self.constraint().kind])
        self.form_changed.emit(self.constraint())

    def _choose(self, form: Constraint | None) -> None:
        self.chosen.emit(form)
        self.accept()
