"""Small parts every page is made of: buttons, words, pills, cards.

All take plain values. The look comes from the style sheet through the property `kind`.
Every control that has no text of its own takes a `name` for screen readers.
"""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, QSize, Qt
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent, QResizeEvent
from PySide6.QtWidgets import (
    QApplication,
    QFrame,
    QLabel,
    QMenu,
    QPushButton,
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
        polish(widget)
        for child in widget.findChildren(QLabel):
            polish(child)


def polish(widget: QWidget) -> None:
    """Makes the style sheet look at a widget again.

    Not by `widget.style()`: PySide (6.11) keeps what that returned for as long as the program
    runs, and a theme change makes a new style."""
    style = QApplication.style()
    style.unpolish(widget)
    style.polish(widget)


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


def name_field(field: QWidget, name: str, parent: QWidget) -> None:
    """Names a field that shows no label: on Linux a screen reader takes the name of a choice
    from its label alone, so it has one that is never shown."""
    field.setAccessibleName(name)
    said = QLabel(name, parent)
    said.setBuddy(field)
    said.hide()


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


def announce(widget: QWidget, text: str, assertive: bool = False) -> None:
    """Has a screen reader say `text` (no effect without one)."""
    event = QAccessibleAnnouncementEvent(widget, text)
    if assertive:
        event.setPoliteness(QAccessible.AnnouncementPoliteness.Assertive)
    QAccessible.updateAccessibility(event)
