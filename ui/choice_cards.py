"""Cards of which one is chosen, such as the backends in the load dialog."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QResizeEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QButtonGroup,
    QFrame,
    QHBoxLayout,
    QRadioButton,
    QVBoxLayout,
    QWidget,
)

from ui.controls import label, restyle


class ChoiceCard(QFrame):
    """A radio button with a title and a line of text, as a card. Group them by a parent.

    `chosen` fires when the person picks it. A disabled card shows its reason as the text.
    """

    chosen = Signal()

    def __init__(self, title: str, text: str = "", enabled: bool = True) -> None:
        super().__init__()
        self.setProperty("kind", "choice")
        self.radio = QRadioButton()
        self.radio.setAccessibleName(f"{title}: {text}" if text else title)
        self.radio.setEnabled(enabled)
        self.radio.installEventFilter(self)
        self.radio.toggled.connect(lambda on: restyle(self, checked=on))
        self.radio.clicked.connect(lambda _=False: self.chosen.emit())
        self._title = label(title, "strong")
        self._text = label(text, "muted", wrap=True)
        words = QVBoxLayout()
        words.setSpacing(2)
        words.addWidget(self._title)
        words.addWidget(self._text)
        words.addStretch(1)
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 10, 12, 10)
        row.setSpacing(8)
        row.addWidget(self.radio, 0, Qt.AlignmentFlag.AlignTop)
        row.addLayout(words, 1)
        if enabled:
            self.setCursor(Qt.CursorShape.PointingHandCursor)
        else:
            self._title.setProperty("kind", "muted")

    def set_text(self, text: str) -> None:
        self._text.setText(text)
        self.radio.setAccessibleName(
            f"{self._title.text()}: {text}" if text else self._title.text()
        )

    def set_checked(self, on: bool) -> None:
        self.radio.setChecked(on)

    def is_checked(self) -> bool:
        return self.radio.isChecked()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        super().mouseReleaseEvent(event)
        if self.radio.isEnabled() and self.rect().contains(event.position().toPoint()):
            self.radio.setFocus(Qt.FocusReason.MouseFocusReason)
            self.radio.click()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.FocusIn, QEvent.Type.FocusOut):
            restyle(self, focused=event.type() == QEvent.Type.FocusIn)
        return super().eventFilter(watched, event)


class ChoiceRow(QWidget):
    """Choice cards side by side of which one is checked. `changed(id)` on a person's choice."""

    changed = Signal(str)

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setAccessibleName(name)
        self._cards: dict[str, ChoiceCard] = {}
        self._group = QButtonGroup(self)
        self._row = QBoxLayout(QBoxLayout.Direction.LeftToRight, self)
        self._row.setContentsMargins(0, 0, 0, 0)
        self._row.setSpacing(8)

    def add(self, key: str, title: str, text: str = "", enabled: bool = True) -> ChoiceCard:
        card = ChoiceCard(title, text, enabled)
        card.chosen.connect(lambda: self.changed.emit(key))
        self._group.addButton(card.radio)
        card.radio.installEventFilter(self)
        self._cards[key] = card
        self._row.addWidget(card, 1)
        return card

    def resizeEvent(self, event: QResizeEvent) -> None:
        """One below the other where beside each other they would be squeezed."""
        super().resizeEvent(event)
        needed = sum(c.minimumSizeHint().width() for c in self._cards.values())
        ways = QBoxLayout.Direction
        tight = needed + self._row.spacing() * (len(self._cards) - 1) > self.width()
        self._row.setDirection(ways.TopToBottom if tight else ways.LeftToRight)

    def minimumSizeHint(self) -> QSize:
        """Narrower than the row stands now: it can stack."""
        least = max((c.minimumSizeHint().width() for c in self._cards.values()), default=0)
        return QSize(least, super().minimumSizeHint().height())

    def card(self, key: str) -> ChoiceCard:
        return self._cards[key]

    def value(self) -> str:
        return next((k for k, c in self._cards.items() if c.is_checked()), "")

    def set_value(self, key: str) -> None:
        self._cards[key].set_checked(True)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Up and Down choose as Left and Right do: who does not see the cards cannot know that
        they stand side by side."""
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            step = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}.get(Qt.Key(event.key()))
            able = [c.radio for c in self._cards.values() if c.radio.isEnabled()]
            if step is not None and watched in able:
                at = able.index(watched) + step
                if 0 <= at < len(able):
                    able[at].setFocus(Qt.FocusReason.TabFocusReason)
                    able[at].click()
                return True
        return super().eventFilter(watched, event)
