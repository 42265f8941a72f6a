"""Generation settings of the inspector: system prompt, speculation, sampler, limits, thinking,
tools.

They belong to one conversation and count from its next message on. Every valid change is
emitted by itself after a short pause; a bad value is said beside its field and not emitted.
Main thread.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QPlainTextEdit,
    QVBoxLayout,
    QWidget,
)

from engine.types import Sampling, SpecMode
from ui import format as fmt
from ui import strings
from ui import strings_history as words
from ui.controls import label
from ui.file_drops import let_files_through
from ui.number_field import NumberField
from ui.theme import theme
from ui.views import SpecChoice

DELAY_MS = 350
MOST_TOKENS = 1_048_576
DEFAULT_SAMPLING = Sampling()
NO_CHOICE = SpecChoice()


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationValues:
    """What a person can set for one conversation."""

    system: str = ""
    sampling: Sampling = DEFAULT_SAMPLING
    thinking: bool = False
    thinking_budget: int | None = None
    tools: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationView:
    """`supports_…` None: no model loaded, nothing is known. `spec` is what the box shows too;
    `speculating`: what the next message will use."""

    values: GenerationValues = GenerationValues()
    supports_thinking: bool | None = None
    supports_tools: bool | None = None
    spec: SpecChoice = NO_CHOICE
    speculating: bool = False


class GenerationBlock(QWidget):
    """`changed(GenerationValues)` after each valid edit; `spec_changed` at once."""

    changed = Signal(GenerationValues)
    spec_changed = Signal(str)
    """The value of a `SpecMode`."""

    def __init__(self) -> None:
        super().__init__()
        self._view = GenerationView()
        self._filling = False
        self.system = QPlainTextEdit()
        let_files_through(self.system)
        self.system.setProperty("kind", "field")
        self.system.setAccessibleName(words.SYSTEM_PROMPT)
        self.system.setPlaceholderText(words.SYSTEM_HINT)
        self.system.setTabChangesFocus(True)
        self.spec = QComboBox()
        self.spec.setAccessibleName(words.SPECULATIVE)
        self.spec.setSizeAdjustPolicy(
            QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
        )
        self.spec.setMinimumContentsLength(4)
        self.spec.setToolTip(fmt.tip(strings.SPEC_EXPLAINED))
        for mode in SpecMode:
            self.spec.addItem(strings.SPEC_MODES[mode], str(mode))
        self.spec.activated.connect(lambda at: self.spec_changed.emit(self.spec.itemData(at)))
        self.spec_name = label(words.SPECULATIVE, wrap=True)
        self.spec_name.setBuddy(self.spec)
        self.spec_text = label("", "small", wrap=True)
        self.no_effect = label(words.NO_EFFECT, "warn", wrap=True)
        self.temperature = NumberField(words.TEMPERATURE, 0, 5)
        self.top_p = NumberField(words.TOP_P, 0.01, 1)
        self.top_k = NumberField(words.TOP_K, 1, 100_000, whole=True)
        self.seed = NumberField(
            words.SEED, 0, 2**31 - 1, whole=True, optional=True, placeholder=words.SEED_RANDOM
        )
        self.limit = NumberField(
            words.MAX_TOKENS,
            1,
            MOST_TOKENS,
            whole=True,
            optional=True,
            placeholder=words.MAX_TOKENS_NONE,
        )
        self.repetition = NumberField(
            words.REPETITION,
            0.1,
            5,
            optional=True,
            placeholder=words.REPETITION_NONE,
            hint=words.REPEAT_HINT,
        )
        self.thinking = QCheckBox(words.THINKING_SWITCH)
        self.no_thinking = label(words.THINKING_MISSING, "small", wrap=True)
        self.budget = NumberField(
            f"{words.THINKING_BUDGET} ({words.TOKENS})",
            1,
            MOST_TOKENS,
            whole=True,
            optional=True,
            placeholder=words.THINKING_BUDGET_NONE,
        )
        self.tools = QCheckBox(words.TOOLS_SWITCH)
        self.no_tools = label(words.TOOLS_MISSING, "small", wrap=True)
        self.numbers = (
            self.temperature,
            self.top_p,
            self.top_k,
            self.seed,
            self.limit,
            self.repetition,
            self.budget,
        )
        self.idle_while_speculating = (self.temperature, self.top_p, self.top_k, self.seed)
        self._lay_out()
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(DELAY_MS)
        self._timer.timeout.connect(self.flush)
        self.system.textChanged.connect(self._on_edited)
        for switch in (self.thinking, self.tools):
            switch.toggled.connect(lambda _=False: self._on_edited())
        for field in self.numbers:
            field.edited.connect(self._on_edited)
        theme().changed.connect(self._on_theme)
        self._on_theme()
        self.set_view(GenerationView())

    def _lay_out(self) -> None:
        body = QVBoxLayout(self)
        body.setContentsMargins(0, 0, 0, 0)
        body.setSpacing(8)
        body.addWidget(label(words.GENERATION_BLOCK, "strong"))
        body.addWidget(label(words.GENERATION_HINT, "small", wrap=True))
        name = label(words.SYSTEM_PROMPT)
        name.setBuddy(self.system)
        body.addWidget(name)
        body.addWidget(self.system)
        for widget in (self.spec_name, self.spec, self.spec_text):
            body.addWidget(widget)
        body.addWidget(self.no_effect)
        for field in self.numbers[:-1]:
            body.addWidget(field)
        body.addWidget(self.thinking)
        body.addWidget(self.no_thinking)
        body.addWidget(self.budget)
        body.addWidget(self.tools)
        body.addWidget(self.no_tools)

    def _on_theme(self) -> None:
        self.system.setFixedHeight(theme().px(96))

    def set_view(self, view: GenerationView) -> None:
        """Shows the settings of the conversation in front. What a person is typing in it
        right now is not overwritten by the same values coming back."""
        if self._timer.isActive() and view.values == self._view.values:
            view_values = self.values()
        else:
            self._timer.stop()
            view_values = view.values
        self._view = view
        self._filling = True
        if self.system.toPlainText() != view_values.system:
            self.system.setPlainText(view_values.system)
        sampling = view_values.sampling
        self.temperature.set_value(sampling.temperature)
        self.top_p.set_value(sampling.top_p)
        self.top_k.set_value(sampling.top_k)
        self.seed.set_value(sampling.seed)
        self.limit.set_value(sampling.max_output_tokens)
        self.repetition.set_value(sampling.repetition_penalty)
        self.thinking.setChecked(view_values.thinking)
        self.budget.set_value(view_values.thinking_budget)
        self.tools.setChecked(view_values.tools)
        self._filling = False
        self._show_spec(view)
        self.thinking.setVisible(bool(view.supports_thinking))
        self.no_thinking.setVisible(view.supports_thinking is False)
        self.tools.setVisible(bool(view.supports_tools))
        self.no_tools.setVisible(view.supports_tools is False)
        self._show_budget()

    def _show_spec(self, view: GenerationView) -> None:
        for widget in (self.spec, self.spec_name, self.spec_text):
            widget.setVisible(view.spec.available)
        self.spec.setCurrentIndex(self.spec.findData(str(view.spec.mode)))
        self.spec_text.setText(view.spec.text_of(view.spec.mode))
        self.no_effect.setVisible(view.speculating)
        for field in self.idle_while_speculating:
            field.set_idle(view.speculating)

    def _show_budget(self) -> None:
        self.budget.setVisible(bool(self._view.supports_thinking) and self.thinking.isChecked())

    def values(self) -> GenerationValues:
        """What the fields say; a field with a bad value counts with its last good one."""
        return GenerationValues(
            system=self.system.toPlainText(),
            sampling=Sampling(
                temperature=_number(self.temperature),
                top_p=_number(self.top_p),
                top_k=int(_number(self.top_k)),
                seed=self.seed.whole_value,
                max_output_tokens=self.limit.whole_value,
                repetition_penalty=self.repetition.value,
            ),
            thinking=self.thinking.isChecked(),
            thinking_budget=self.budget.whole_value,
            tools=self.tools.isChecked(),
        )

    def flush(self) -> None:
        """Emits a change that is still waiting, for example before a message is sent."""
        self._timer.stop()
        values = self.values()
        if values != self._view.values:
            self._view = replace(self._view, values=values)
            self.changed.emit(values)

    def _on_edited(self) -> None:
        if not self._filling:
            self._show_budget()
            self._timer.start()


def _number(field: NumberField) -> float:
    return field.value if field.value is not None else 0.0
