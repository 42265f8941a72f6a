"""The page for answers of a forced form: kind, form, examples, message, answer and verdict."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLineEdit,
    QPlainTextEdit,
    QSplitter,
    QVBoxLayout,
    QWidget,
)

from engine.types import Constraint
from ui import format as fmt
from ui import tool_strings as words
from ui.controls import button, flat_button, label, pill, restyle, set_pill
from ui.file_drops import let_files_through
from ui.form_fields import FormFields
from ui.input_method import KeysOfInputMethod
from ui.theme import theme
from ui.tool_views import AskView, FormResultView


class StructuredPage(QWidget):
    """`sent(message, constraint)` and `stopped`; `form_changed(constraint)` for checking."""

    sent = Signal(str, object)
    stopped = Signal()
    form_changed = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self._view = AskView()
        self._form_wrong = False
        self.fields = FormFields()
        self.fields.changed.connect(self.form_changed)
        self.input = QLineEdit()
        KeysOfInputMethod(self.input)
        let_files_through(self.input)
        self.input.setPlaceholderText(words.PROMPT_HINT)
        self.input.setAccessibleName(words.PROMPT_NAME)
        self.input.returnPressed.connect(self._on_return)
        self.send = button(words.SEND, "primary", self._on_send)
        self.answer = QPlainTextEdit()
        self.answer.setReadOnly(True)
        self.answer.setProperty("kind", "field")
        self.answer.setAccessibleName(words.ANSWER)
        self.answer.setPlaceholderText(words.NO_ANSWER)
        self.answer.setTabChangesFocus(True)
        self.verdict = pill("")
        self.sentence = label("", "muted", wrap=True)
        self.sentence.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.note = label("", "warn", wrap=True)
        self.numbers = label("", "small")
        self.copy = flat_button(words.COPY, self._on_copy)
        self._build()
        theme().changed.connect(self._set_fonts)
        self._set_fonts()
        self.fields.use_example(0)
        self.fields.example_chosen.connect(self.input.setText)
        self.set_result(FormResultView())

    def _build(self) -> None:
        upper = QWidget()
        first = QVBoxLayout(upper)
        first.setContentsMargins(0, 0, 0, 6)
        first.addWidget(self.fields)
        lower = QWidget()
        second = QVBoxLayout(lower)
        second.setContentsMargins(0, 6, 0, 0)
        second.setSpacing(8)
        line = QHBoxLayout()
        line.setSpacing(8)
        line.addWidget(label(words.ANSWER, "strong"))
        line.addWidget(self.verdict)
        line.addWidget(self.sentence, 1)
        line.addWidget(self.numbers)
        line.addWidget(self.copy)
        second.addLayout(line)
        second.addWidget(self.note)
        second.addWidget(self.answer, 1)
        halves = QSplitter(Qt.Orientation.Vertical)
        halves.setChildrenCollapsible(False)
        halves.addWidget(upper)
        halves.addWidget(lower)
        row = QHBoxLayout()
        row.setSpacing(8)
        row.addWidget(self.input, 1)
        row.addWidget(self.send)
        body = QVBoxLayout(self)
        body.setContentsMargins(0, 0, 0, 0)
        body.setSpacing(12)
        body.addWidget(halves, 1)
        body.addLayout(row)

    def constraint(self) -> Constraint:
        return self.fields.constraint()

    def set_view(self, view: AskView) -> None:
        self._view = view
        idle = view.state == "idle"
        self.send.setText(
            words.SEND if idle else words.STOP if view.state == "busy" else words.STOPPING
        )
        restyle(self.send, kind="primary" if idle else "danger")
        ready = view.problem != "no_model" and not self._form_wrong
        self.send.setEnabled((idle and ready) or view.state == "busy")

    def set_form_problem(self, sentence: str) -> None:
        self._form_wrong = bool(sentence)
        self.fields.set_problem(sentence)
        self.set_view(self._view)

    def set_result(self, view: FormResultView) -> None:
        if self.answer.toPlainText() != view.text:
            self.answer.setPlainText(view.text)
        known = bool(view.sentence) and not view.busy and not view.failed
        texts = {
            True: (words.CHECKED_VALID, True, ""),
            False: (words.CHECKED_INVALID, False, "bad"),
            None: (words.CHECKED_PARTIAL, False, "warn"),
        }
        text, on, level = texts[view.valid]
        set_pill(self.verdict, text, on=on, level=level)
        self.verdict.setVisible(known)
        self.sentence.setText(view.sentence)
        self.sentence.setToolTip(fmt.tip(view.details[:2000]))
        restyle(self.sentence, kind="bad" if view.failed else "muted")
        self.note.setText(view.note)
        self.note.setVisible(bool(view.note))
        self.numbers.setText(view.numbers)
        self.copy.setEnabled(bool(view.text))

    def _set_fonts(self) -> None:
        look = theme()
        self.answer.setFont(look.font(13, mono=True))
        self.answer.setStyleSheet(f"font-family: '{look.mono_family}'; font-size: {look.px(13)}px;")

    def _on_return(self) -> None:
        if self._view.state == "idle":
            self._on_send()

    def _on_send(self) -> None:
        if self._view.state != "idle":
            self.stopped.emit()
        elif self.send.isEnabled() and self.input.text().strip():
            self.sent.emit(self.input.text().strip(), self.constraint())

    def _on_copy(self) -> None:
        QGuiApplication.clipboard().setText(self.answer.toPlainText())
