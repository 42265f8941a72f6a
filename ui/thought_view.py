"""What the model thought before its answer: a block that opens and closes.

Open while thoughts stream in, closed when the answer begins, unless the person chose
otherwise. Thoughts are never part of copying an answer.
"""

from __future__ import annotations

from PySide6.QtWidgets import QVBoxLayout, QWidget

from ui import strings
from ui.answer_text import AnswerText
from ui.turn_parts import Disclosure


class ThoughtView(Disclosure):
    """`words` holds the text; its rendering is driven by the owner."""

    def __init__(self) -> None:
        self.words = AnswerText(strings.THOUGHTS)
        frame = QWidget()
        inner = QVBoxLayout(frame)
        inner.setContentsMargins(12, 0, 0, 4)
        inner.addWidget(self.words)
        super().__init__(strings.THOUGHTS, frame)
        self._touched = False
        self.toggled_by_person.connect(self._on_toggled)

    def show_text(self, text: str, first: bool, streaming: bool) -> None:
        """Sets the whole text; what is already there is only finished."""
        if first or text != self.words.raw:
            self.words.set_markdown(text, final=not streaming)
        elif not streaming:
            self.words.finish()

    def append(self, text: str) -> None:
        self.words.append(text)

    def set_thinking(self, on: bool) -> None:
        """True while thoughts come and no answer yet."""
        self.set_title(strings.THINKING if on else strings.THOUGHTS)
        if not self._touched and self.is_open() != on:
            self.set_open(on)

    def _on_toggled(self, _: bool) -> None:
        self._touched = True
