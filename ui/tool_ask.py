"""The page on which a question is asked: suggestions, log, consent, input line."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from ui import tool_strings as words
from ui.controls import Card, button, flat_button, label, restyle
from ui.file_drops import let_files_through
from ui.input_method import KeysOfInputMethod
from ui.layouts import FlowLayout
from ui.tool_log import ToolLog
from ui.tool_views import AskView


class ProblemCard(Card):
    """Says why nothing can be asked and offers the way out."""

    structured_wanted = Signal()
    model_wanted = Signal()

    def __init__(self) -> None:
        super().__init__(tone="warn", gap=6)
        self.title = label("", "strong", wrap=True)
        self.more = label("", "muted", wrap=True)
        self.structured = button(words.GO_STRUCTURED, "small", self.structured_wanted.emit)
        self.model = button(words.CHOOSE_MODEL, "small", self.model_wanted.emit)
        row = QHBoxLayout()
        row.setSpacing(8)
        row.addWidget(self.structured)
        row.addWidget(self.model)
        row.addStretch(1)
        self.body.addWidget(self.title)
        self.body.addWidget(self.more)
        self.body.addLayout(row)

    def set_problem(self, problem: str, model: str) -> None:
        titles = {
            "no_model": words.NO_MODEL,
            "no_support": words.NO_TOOL_SUPPORT.format(model=model),
            "no_tools": words.NO_TOOLS_ON,
        }
        more = {"no_model": words.NO_MODEL_MORE, "no_support": words.NO_TOOL_SUPPORT_MORE}
        self.title.setText(titles.get(problem, ""))
        self.more.setText(more.get(problem, ""))
        self.more.setVisible(problem in more)
        self.structured.setVisible(problem == "no_support")
        self.model.setVisible(problem in ("no_model", "no_support"))
        self.setVisible(bool(problem))


class AskPage(QWidget):
    """See the module text. `asked(text)`, `stopped`, `cleared`, `consent_answered(id, answer)`."""

    asked = Signal(str)
    stopped = Signal()
    cleared = Signal()
    consent_answered = Signal(str, str)

    def __init__(self) -> None:
        super().__init__()
        self._view = AskView()
        self.problem = ProblemCard()
        self.log = ToolLog()
        self.log.consent_answered.connect(self.consent_answered)
        self.suggestions = []
        chips = QWidget()
        flow = FlowLayout(chips, gap=8, line_gap=6)
        for short, text in words.SUGGESTIONS:
            chip = button(short, "small", lambda t=text: self._ask(t), tip=text)  # type: ignore[misc]
            self.suggestions.append(chip)
            flow.addWidget(chip)
        self.input = QLineEdit()
        KeysOfInputMethod(self.input)
        let_files_through(self.input)
        self.input.setPlaceholderText(words.QUESTION_HINT)
        self.input.setAccessibleName(words.QUESTION_NAME)
        self.input.returnPressed.connect(self._on_return)
        # The card goes with its buttons; who answered goes on here.
        self.log.consent_answered.connect(lambda _id, _answer: self.input.setFocus())
        self.send = button(words.ASK, "primary", self._on_send)
        self.clear = flat_button(words.CLEAR, self._on_clear)
        row = QHBoxLayout()
        row.setSpacing(8)
        row.addWidget(self.input, 1)
        row.addWidget(self.send)
        top = QHBoxLayout()
        top.addWidget(chips, 1)
        top.addWidget(self.clear)
        body = QVBoxLayout(self)
        body.setContentsMargins(0, 0, 0, 0)
        body.setSpacing(12)
        body.addLayout(top)
        body.addWidget(self.problem)
        body.addWidget(self.log, 1)
        body.addLayout(row)
        self.set_view(self._view)

    def set_view(self, view: AskView) -> None:
        self._view = view
        idle = view.state == "idle"
        self.problem.set_problem(view.problem, view.model)
        for chip in self.suggestions:
            chip.setEnabled(idle and not view.problem)
        # The input stays enabled while busy: disabling it would take the focus away.
        self.send.setText(
            words.ASK if idle else words.STOP if view.state == "busy" else words.STOPPING
        )
        restyle(self.send, kind="primary" if idle else "danger")
        self.send.setEnabled((idle and not view.problem) or view.state == "busy")

    def _on_return(self) -> None:
        if self._view.state == "idle":
            self._ask(self.input.text())

    def _on_send(self) -> None:
        if self._view.state == "idle":
            self._ask(self.input.text())
        else:
            self.stopped.emit()

    def _ask(self, text: str) -> None:
        if text.strip() and self._view.state == "idle" and not self._view.problem:
            self.input.clear()
            self.asked.emit(text.strip())

    def _on_clear(self) -> None:
        self.log.clear()
        self.cleared.emit()
