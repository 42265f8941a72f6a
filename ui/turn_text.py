"""What a turn says: its text and its thoughts, without what stands around them.

`MessageView` adds bubble, footer, actions and states. Main thread only.
"""

from __future__ import annotations

from PySide6.QtCore import QPoint, Signal
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtWidgets import QFrame, QVBoxLayout

from ui import strings
from ui.answer_text import AnswerText
from ui.message_body import MessageBody
from ui.part_selection import PartSelection
from ui.parted_text import PartedText
from ui.theme import theme
from ui.thought_view import ThoughtView
from ui.views import TurnView


class TurnText(QFrame):
    """`words` is the text; `_above` the place over it. Hooks: `fit`, `_on_menu_requested`."""

    action_requested = Signal(str, str)
    """(action, node id): regenerate, edit, continue, delete, copy, later, earlier."""
    edit_submitted = Signal(str, str)
    quoted = Signal(str, str)
    copied = Signal(str)
    link_clicked = Signal(str)
    attachment_opened = Signal(str)
    render_requested = Signal()
    height_changed = Signal()
    selecting = Signal(object, object)
    """(text, global place): the mouse draws a selection; place None: it ended."""

    def __init__(self, view: TurnView) -> None:
        super().__init__()
        self.view = view
        self._thought: ThoughtView | None = None
        self._is_user = view.role == "user"
        name = strings.YOU if self._is_user else strings.ANSWER
        self.words = AnswerText(name, markdown=not self._is_user)
        self.words.link_clicked.connect(self.link_clicked)
        self.words.code_copied.connect(self.copied)
        self.words.menu_requested.connect(self._on_menu_requested)
        self.words.height_changed.connect(self.height_changed)
        self.words.selecting.connect(self.selecting)
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, theme().turn_gap)
        self._column.setSpacing(6)
        self._above = QVBoxLayout()
        self._above.setSpacing(4)

    def fit(self) -> None:
        """Gives the text its width."""

    def _on_menu_requested(self, event: QContextMenuEvent, link: str) -> None:
        """A context menu is asked for; `link` is the address under the pointer."""

    @property
    def is_user(self) -> bool:
        return self._is_user

    @property
    def body(self) -> MessageBody:
        """The first document of the text."""
        return self.words.body_of(self.words.parts[0])

    def _thoughts(self) -> ThoughtView:
        if self._thought is None:
            self._thought = ThoughtView()
            self._thought.words.link_clicked.connect(self.link_clicked)
            self._thought.words.code_copied.connect(self.copied)
            self._thought.words.selecting.connect(self.selecting)
            self._thought.words.height_changed.connect(self.height_changed)
            self._thought.toggled_by_person.connect(lambda _: self.render_requested.emit())
            self._above.addWidget(self._thought)
        return self._thought

    def _update_thought(self) -> None:
        if self._thought is not None:
            streaming = self.view.status == "streaming"
            self._thought.set_thinking(streaming and not self.words.has_text())

    def _name(self) -> None:
        who = strings.YOU if self._is_user else strings.ANSWER
        self.setAccessibleName(f"{who}: {self.words.beginning(4000)}")

    def plain_text(self) -> str:
        """What is shown, without any markup."""
        return self.words.toPlainText()

    def settle(self) -> None:
        """Passes a new height of the text on to the layouts around at once."""
        if not self._is_user:
            self._column.activate()

    def has_words(self) -> bool:
        """Whether anything came yet: thoughts or text."""
        return self.words.has_text() or self._thought is not None

    def raw_text(self) -> str:
        return self.words.raw if not self._is_user else self.view.text

    def raw_thought(self) -> str:
        return self._thought.words.raw if self._thought is not None else self.view.thought

    def before_restyle(self, top: int, bottom: int) -> None:
        """Before a theme change; `top` and `bottom` are what is seen, in this widget's px."""
        for words in self._all_texts():
            above = words.mapTo(self, QPoint(0, 0)).y()
            words.before_restyle(top - above, bottom - above)

    def restyle(self) -> None:
        """After a theme change."""
        self._column.setContentsMargins(0, 0, 0, theme().turn_gap)
        for words in self._all_texts():
            words.restyle()
        self.fit()
        self.render_requested.emit()

    def look(self, top: int, bottom: int) -> bool:
        """What is seen, in this widget's px; True when there is something to be drawn."""
        more = False
        for words in self._texts():
            if not words.isHidden():
                above = words.mapTo(self, QPoint(0, 0)).y()
                more = words.look(top - above, bottom - above) or more
        return more

    def selections(self) -> list[PartSelection]:
        """What is selected in each of its texts."""
        return [text.selection for text in self._all_texts()]

    def _all_texts(self) -> list[PartedText]:
        return [self.words] if self._thought is None else [self.words, self._thought.words]

    def _texts(self) -> list[PartedText]:
        """Those that can be seen."""
        if self._thought is None or not self._thought.is_open():
            return [self.words]
        return [self.words, self._thought.words]
