"""Small parts every page is made of: buttons, words, pills, cards, choice cards.

All take plain values. The look comes from the style sheet through the property `kind`.
Every control that has no text of its own takes a `name` for screen readers.
"""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, QSize, Qt, Signal
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent, QMouseEvent, QResizeEvent
from PySide6.QtWidgets import (
    QButtonGroup,
    QFrame,
    QHBoxLayout,
    QLabel,
    QMenu,
    QPushButton,
    QRadioButton,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from ui import format as fmt
from ui.icons import icon
from ui.theme import theme


def restyle(widget: QWidget, **properties: object) -> None:
    """Sets dynamic properties and makes the style sheet look at the widget again."""
    changed = False
    for name, value in properties.items():
        text = str(value).lower() if isinstance(value, bool) else value
        if widget.property(name) != text:
            widget.setProperty(name, text)
            changed = True
    if changed:
        widget.style().unpolish(widget)
        widget.style().polish(widget)
        for child in widget.findChildren(QLabel):
            child.style().unpolish(child)
            child.style().polish(child)


def label(text: str = "", kind: str = "", wrap: bool = False) -> QLabel:
    """Plain text, never markup. Kinds: title, strong, muted, small, section, bad, warn, …"""
    out = QLabel(text)
    out.setTextFormat(Qt.TextFormat.PlainText)
    if kind:
        out.setProperty("kind", kind)
    if wrap:
        out.setWordWrap(True)
        out.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
    return out


def section_label(text: str) -> QLabel:
    """Small muted heading over a group of rows or cards."""
    return label(text, "section")


def pill(text: str, on: bool = False, level: str = "") -> QLabel:
    """A badge: grey, accent (`on`), or `level` "bad"/"warn"."""
    out = label(text, "pill")
    out.setProperty("on", str(on).lower())
    out.setProperty("level", level)
    out.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
    return out


def set_pill(target: QLabel, text: str, on: bool = False, level: str = "") -> None:
    target.setText(text)
    restyle(target, on=on, level=level)


def button(
    text: str, kind: str = "", on_click: Callable[[], None] | None = None, tip: str = ""
) -> QPushButton:
    """Kinds: "" (secondary), primary, danger, small, flat, flat13, tab."""
    out = QPushButton(text)
    out.setAutoDefault(False)
    if kind:
        out.setProperty("kind", kind)
    if tip:
        out.setToolTip(fmt.tip(tip))
    if on_click is not None:
        out.clicked.connect(lambda _=False: on_click())
    out.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
    return out


def primary_button(text: str, on_click: Callable[[], None] | None = None) -> QPushButton:
    return button(text, "primary", on_click)


def secondary_button(text: str, on_click: Callable[[], None] | None = None) -> QPushButton:
    return button(text, "", on_click)


def flat_button(
    text: str, on_click: Callable[[], None] | None = None, tip: str = ""
) -> QPushButton:
    return button(text, "flat", on_click, tip)


def menu_button(text: str, menu: QMenu) -> QPushButton:
    """A secondary button that opens a menu; shows ▾ after its text."""
    out = button(f"{text} ▾")
    out.setAccessibleName(text)
    out.setMenu(menu)
    return out


def icon_button(
    icon_name: str, name: str, on_click: Callable[[], None] | None = None, size: int = 16
) -> QToolButton:
    """A button with only an icon; `name` is its tooltip and its name for screen readers."""
    out = QToolButton()
    out.setAccessibleName(name)
    out.setToolTip(fmt.tip(name))
    out.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    set_icon(out, icon_name, size)
    if on_click is not None:
        out.clicked.connect(lambda _=False: on_click())
    return out


def set_icon(
    target: QToolButton | QPushButton, name: str, size: int = 16, tint: str = "muted"
) -> None:
    """Sets an icon now and again after each theme change."""
    target.setProperty("icon_name", f"{name}|{size}|{tint}")
    _paint_icon(target)
    if not target.property("icon_hooked"):
        target.setProperty("icon_hooked", "1")
        theme().changed.connect(_IconPainter(target).repaint)


def _paint_icon(target: QToolButton | QPushButton) -> None:
    name, size, tint = str(target.property("icon_name")).split("|")
    target.setIcon(icon(name, tint, int(size)))
    side = theme().px(int(size))
    target.setIconSize(QSize(side, side))


class _IconPainter(QObject):
    """Child of its button, so the connection to the theme ends with the button."""

    def __init__(self, target: QToolButton | QPushButton) -> None:
        super().__init__(target)
        self._target = target

    def repaint(self) -> None:
        _paint_icon(self._target)


class Card(QFrame):
    """A rounded surface with a border and a vertical `body`. `tone`: "", accent, bad, warn."""

    def __init__(self, tone: str = "", margin: int = 16, gap: int = 4) -> None:
        super().__init__()
        self.setProperty("kind", "card")
        self.setProperty("tone", tone)
        self.body = QVBoxLayout(self)
        self.body.setContentsMargins(margin, margin - 2, margin, margin - 2)
        self.body.setSpacing(gap)


def hline() -> QFrame:
    line = QFrame()
    line.setProperty("kind", "line")
    line.setFixedHeight(1)
    return line


class ElidedLabel(QLabel):
    """One line that loses its middle when there is no room; the whole text is the tooltip."""

    def __init__(
        self,
        text: str = "",
        kind: str = "",
        mode: Qt.TextElideMode = Qt.TextElideMode.ElideMiddle,
    ) -> None:
        super().__init__()
        self.setTextFormat(Qt.TextFormat.PlainText)
        self._full = ""
        self._mode = mode
        if kind:
            self.setProperty("kind", kind)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.setMinimumWidth(24)
        self.set_text(text)

    def full_text(self) -> str:
        return self._full

    def set_text(self, text: str) -> None:
        if text != self._full:
            self._full = text
            self.setAccessibleName(text)
            self.updateGeometry()
            self._elide()

    def sizeHint(self) -> QSize:
        self.ensurePolished()
        margins = self.contentsMargins().left() + self.contentsMargins().right() + 2 * self.margin()
        width = self.fontMetrics().horizontalAdvance(self._full) + margins + 2
        return QSize(width, super().sizeHint().height())

    def minimumSizeHint(self) -> QSize:
        return QSize(24, super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._elide()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._elide()

    def _elide(self) -> None:
        width = max(0, self.contentsRect().width())
        shown = self.fontMetrics().elidedText(self._full, self._mode, width)
        if shown != self.text():
            self.setText(shown)
        hint = fmt.tip(self._full) if shown != self._full else ""
        if hint != self.toolTip():
            self.setToolTip(hint)


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
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(0, 0, 0, 0)
        self._row.setSpacing(8)

    def add(self, key: str, title: str, text: str = "", enabled: bool = True) -> ChoiceCard:
        card = ChoiceCard(title, text, enabled)
        card.chosen.connect(lambda: self.changed.emit(key))
        self._group.addButton(card.radio)
        self._cards[key] = card
        self._row.addWidget(card, 1)
        return card

    def card(self, key: str) -> ChoiceCard:
        return self._cards[key]

    def value(self) -> str:
        return next((k for k, c in self._cards.items() if c.is_checked()), "")

    def set_value(self, key: str) -> None:
        self._cards[key].set_checked(True)


def announce(widget: QWidget, text: str, assertive: bool = False) -> None:
    """Has a screen reader say `text` (no effect without one)."""
    event = QAccessibleAnnouncementEvent(widget, text)
    if assertive:
        event.setPoliteness(QAccessible.AnnouncementPoliteness.Assertive)
    QAccessible.updateAccessibility(event)
