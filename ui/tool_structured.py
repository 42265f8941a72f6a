"""The page for answers of a forced form: kind, form, examples, message, answer and verdict."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QButtonGroup,
    QHBoxLayout,
    QLineEdit,
    QMenu,
    QPlainTextEdit,
    QRadioButton,
    QSplitter,
    QVBoxLayout,
    QWidget,
)

from engine.types import Constraint, ConstraintKind
from ui import format as fmt
from ui import tool_strings as words
from ui.controls import button, flat_button, label, menu_button, pill, restyle, set_pill
from ui.file_drops import let_files_through
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
        self.kinds: dict[str, QRadioButton] = {}
        self.form = QPlainTextEdit()
        let_files_through(self.form)
        self.form.setProperty("kind", "field")
        self.form.setAccessibleName(words.FORM)
        self.form.setTabChangesFocus(True)
        self.form.textChanged.connect(self._on_form_changed)
        self.form_problem = label("", "bad", wrap=True)
        self.form_problem.hide()
        self.input = QLineEdit()
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
        self._use_example(0)
        self.input.clear()
        self.set_result(FormResultView())

    def _build(self) -> None:
        top = QHBoxLayout()
        top.setSpacing(12)
        group = QButtonGroup(self)
        for kind, text in (
            (ConstraintKind.JSON_SCHEMA, words.JSON_SCHEMA),
            (ConstraintKind.REGEX, words.REGEX),
        ):
            radio = QRadioButton(text)
            radio.clicked.connect(lambda _=False: self._on_form_changed())
            group.addButton(radio)
            self.kinds[kind] = radio
            top.addWidget(radio)
        top.addStretch(1)
        menu = QMenu(self)
        for index, example in enumerate(words.EXAMPLE_FORMS):
            action = menu.addAction(example[0])
            action.triggered.connect(lambda _=False, i=index: self._use_example(i))
        self.examples = menu_button(words.EXAMPLES, menu)
        top.addWidget(self.examples)
        upper = QWidget()
        first = QVBoxLayout(upper)
        first.setContentsMargins(0, 0, 0, 6)
        first.setSpacing(8)
        first.addLayout(top)
        first.addWidget(self.form, 1)
        first.addWidget(self.form_problem)
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
        kind = next(k for k, radio in self.kinds.items() if radio.isChecked())
        text = self.form.toPlainText()
        return Constraint(ConstraintKind(kind), text if kind == "json_schema" else text.strip("\n"))

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
        self.form_problem.setText(sentence)
        self.form_problem.setVisible(bool(sentence))
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

    def _use_example(self, index: int) -> None:
        _, kind, form, message = words.EXAMPLE_FORMS[index]
        self.kinds[kind].setChecked(True)
        self.form.setPlainText(form)
        self.input.setText(message)

    def _set_fonts(self) -> None:
        for box in (self.form, self.answer):
            box.setFont(theme().font(13, mono=True))
            box.setStyleSheet(
                f"font-family: '{theme().mono_family}'; font-size: {theme().px(13)}px;"
            )

    def _on_form_changed(self) -> None:
        if any(radio.isChecked() for radio in self.kinds.values()):
            kind = self.constraint().kind
            self.form.setPlaceholderText(words.FORM_HINTS[kind])
            self.form_changed.emit(self.constraint())

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
