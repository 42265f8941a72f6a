"""A line for one number with its range: what is wrong is said next to the field."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QSizePolicy, QVBoxLayout, QWidget

from ui import format as fmt
from ui import strings_history as words
from ui.controls import label, restyle
from ui.file_drops import let_files_through
from ui.theme import theme


class NumberField(QWidget):
    """`edited` fires when a person typed something valid; `value` is None for an empty
    optional field. Bounds are inclusive. Main thread."""

    edited = Signal()

    def __init__(
        self,
        name: str,
        low: float,
        high: float,
        *,
        whole: bool = False,
        optional: bool = False,
        placeholder: str = "",
        hint: str = "",
    ) -> None:
        super().__init__()
        self._low, self._high = low, high
        self._whole, self._optional = whole, optional
        self._kept: float | None = None if optional else low
        self._name, self._idle = name, False
        self.field = QLineEdit()
        let_files_through(self.field)
        self.field.setAccessibleName(name)
        self.field.setPlaceholderText(placeholder)
        self.field.setAlignment(Qt.AlignmentFlag.AlignRight)
        if hint:
            self.field.setToolTip(fmt.tip(hint))
        self.name = label(name)
        self.name.setBuddy(self.field)
        self.name.setWordWrap(True)
        self.name.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.problem = label("", "bad", wrap=True)
        self.problem.hide()
        row = QHBoxLayout()
        row.setSpacing(8)
        row.addWidget(self.name, 1)
        row.addWidget(self.field)
        body = QVBoxLayout(self)
        body.setContentsMargins(0, 0, 0, 0)
        body.setSpacing(2)
        body.addLayout(row)
        body.addWidget(self.problem)
        self.field.textEdited.connect(self._on_edited)
        theme().changed.connect(self._on_theme)
        self._on_theme()

    def _on_theme(self) -> None:
        self.field.setFixedWidth(min(theme().px(116), 180))

    @property
    def valid(self) -> bool:
        return not self.problem_of(self.field.text())

    @property
    def value(self) -> float | None:
        """The number in the field; the last valid one while it holds something wrong."""
        return self._kept

    @property
    def whole_value(self) -> int | None:
        return None if self._kept is None else int(self._kept)

    def set_range(self, low: float, high: float) -> None:
        self._low, self._high = low, high
        self._show_problem()

    def set_idle(self, on: bool) -> None:
        """Says that what is in the field has no effect now; it can be edited all the same."""
        self._idle = on
        self.name.setText(words.NO_EFFECT_FIELD.format(name=self._name) if on else self._name)
        self._show_problem()

    def set_value(self, value: float | None) -> None:
        """Shows a value; a field in which a person is typing something wrong is replaced."""
        self._kept = value
        text = "" if value is None else f"{value:.0f}" if self._whole else f"{value:g}"
        if self._parsed(self.field.text()) != value or not self.valid:
            self.field.setText(text)
        self._show_problem()

    def problem_of(self, text: str) -> str:
        """What is wrong with `text`, "" when nothing is."""
        stripped = text.strip()
        if not stripped:
            return "" if self._optional else words.BAD_NUMBER
        number = self._parsed(stripped)
        if number is None:
            return words.BAD_NUMBER
        if self._whole and number != int(number):
            return words.BAD_WHOLE
        if not self._low <= number <= self._high:
            return words.BAD_RANGE.format(low=f"{self._low:g}", high=self._shown(self._high))
        return ""

    @staticmethod
    def _shown(value: float) -> str:
        return f"{int(value)}" if value == int(value) else f"{value:g}"

    @staticmethod
    def _parsed(text: str) -> float | None:
        try:
            number = float(text.strip().replace(",", "."))
        except ValueError:
            return None
        return number if abs(number) < 1e15 else None

    def _show_problem(self) -> None:
        problem = self.problem_of(self.field.text())
        self.problem.setText(problem)
        self.problem.setVisible(bool(problem))
        self.field.setAccessibleDescription(problem or (words.NO_EFFECT_WHY if self._idle else ""))
        restyle(self.field, invalid=bool(problem))

    def _on_edited(self, text: str) -> None:
        self._show_problem()
        if self.valid:
            self._kept = self._parsed(text) if text.strip() else None
            self.edited.emit()
