"""Parts of a turn around its text: thoughts, tool steps, attachments, footer and actions."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QPaintEvent, QPixmap, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QBoxLayout,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from ui import format as fmt
from ui import strings
from ui import tool_strings as words
from ui.attachment_strip import thumbnail
from ui.controls import icon_button, label, pill, polish, restyle, set_icon, set_pill
from ui.layouts import FlowLayout
from ui.theme import theme
from ui.views import AttachmentView, FooterView, ToolStepView

THUMB = 96


class Disclosure(QWidget):
    """A row that opens and closes what is below it. `toggled_by_person(open)`."""

    toggled_by_person = Signal(bool)

    def __init__(self, title: str, content: QWidget, open_now: bool = False) -> None:
        super().__init__()
        self.button = QToolButton()
        self.button.setProperty("kind", "flat")
        self.button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.button.setCheckable(True)
        self.button.clicked.connect(self._on_clicked)
        self.content = content
        body = QVBoxLayout(self)
        body.setContentsMargins(0, 0, 0, 0)
        body.setSpacing(4)
        body.addWidget(self.button, 0, Qt.AlignmentFlag.AlignLeft)
        body.addWidget(content)
        self._title = title
        self.set_title(title)
        self.set_open(open_now)

    def set_title(self, title: str) -> None:
        self._title = title
        self.button.setText(title)
        self._name()

    def is_open(self) -> bool:
        return self.button.isChecked()

    def set_open(self, on: bool) -> None:
        self.button.setChecked(on)
        self.content.setVisible(on)
        set_icon(self.button, "chevron-down" if on else "chevron-right", 12)
        self._name()

    def _name(self) -> None:
        state = "shown" if self.button.isChecked() else "hidden"
        self.button.setAccessibleName(f"{self._title}, {state}")

    def _on_clicked(self) -> None:
        on = self.button.isChecked()
        self.set_open(on)
        self.toggled_by_person.emit(on)


def tool_step(step: ToolStepView) -> Disclosure:
    """One tool call: name and state on the row, arguments and result inside."""
    box = QFrame()
    box.setProperty("kind", "card")
    body = QVBoxLayout(box)
    body.setContentsMargins(12, 8, 12, 8)
    for title, text in (("Arguments", step.arguments), ("Result", step.result)):
        if text:
            body.addWidget(label(title, "small"))
            words = label(fmt.clean_text(text[:4000]), "", wrap=True)
            words.setFont(theme().font(12, mono=True))
            words.setTextInteractionFlags(
                Qt.TextInteractionFlag.TextSelectableByMouse
                | Qt.TextInteractionFlag.TextSelectableByKeyboard
            )
            body.addWidget(words)
    took = f" · {step.seconds:.1f} s" if step.seconds is not None else ""
    return Disclosure(f"{fmt.plain(step.name, 60)} · {step.state}{took}", box)


class Thumbnail(QPushButton):
    """An attachment of a turn: a small picture, or an icon with the file's name."""

    def __init__(self, view: AttachmentView) -> None:
        super().__init__()
        self.view = view
        name = fmt.plain(view.name, 40)
        self.setAccessibleName(f"{view.kind}: {name}")
        self.setToolTip(fmt.tip(f"{name} · {fmt.size(view.bytes)}" if view.bytes else name))
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        picture = QPixmap()
        if view.kind == "image" and view.path:
            picture = thumbnail(view.path, theme().px(THUMB), self.devicePixelRatioF())
        if picture.isNull():
            self.setProperty("kind", "small")
            self.setText(name)
            set_icon(self, "audio" if view.kind == "audio" else "image", 16)
        else:
            self.setProperty("kind", "small")
            self.setIcon(picture)
            self.setIconSize(picture.size() / picture.devicePixelRatio())


def attachments_row(views: tuple[AttachmentView, ...], on_open: Callable[[str], None]) -> QWidget:
    row = QWidget()
    flow = FlowLayout(row, gap=6, line_gap=6)
    for view in views:
        thumb = Thumbnail(view)
        thumb.clicked.connect(lambda _=False, i=view.id: on_open(i))
        flow.addWidget(thumb)
    return row


class RunDetails(QFrame):
    """How an answer was made, as a small popover; Esc or a click elsewhere closes it."""

    def __init__(self, parent: QWidget, details: tuple[tuple[str, str], ...]) -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setProperty("kind", "card")
        self.setAccessibleName(strings.RUN_DETAILS)
        grid = QGridLayout(self)
        grid.setContentsMargins(16, 12, 16, 12)
        grid.setHorizontalSpacing(18)
        grid.setVerticalSpacing(4)
        for row, (name, value) in enumerate(details):
            grid.addWidget(label(name, "small"), row, 0)
            words = label(fmt.plain(value, 120), "")
            words.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            grid.addWidget(words, row, 1)


class VersionSwitch(QWidget):
    """`‹ 2/3 ›`: earlier and later versions of a turn."""

    stepped = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        self.earlier = icon_button(
            "chevron-left", strings.EARLIER_VERSION, lambda: self.stepped.emit(-1), 12
        )
        self.later = icon_button(
            "chevron-right", strings.LATER_VERSION, lambda: self.stepped.emit(1), 12
        )
        self.count: QLabel = label("", "small")
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(1)
        for widget in (self.earlier, self.count, self.later):
            row.addWidget(widget)

    def set_version(self, index: int, count: int) -> None:
        self.count.setText(f"{index + 1}/{count}")
        self.count.setAccessibleName(f"Version {index + 1} of {count}")
        self.earlier.setEnabled(index > 0)
        self.later.setEnabled(index < count - 1)
        self.setVisible(count > 1)


class GhostButton(QToolButton):
    """An icon that shows while the mouse is over its turn or it has the focus."""

    def __init__(self, icon_name: str, name: str, on_click: Callable[[], None]) -> None:
        super().__init__()
        self.setAccessibleName(name)
        self.setToolTip(fmt.tip(name))
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.clicked.connect(lambda _=False: on_click())
        set_icon(self, icon_name, 14)
        self._lit = False

    def set_lit(self, on: bool) -> None:
        if on != self._lit:
            self._lit = on
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._lit or self.hasFocus():
            super().paintEvent(event)


LEAST_NUMBERS = 220
"""px the numbers under an answer want beside its actions, before scaling."""


class Footer(QWidget):
    """Numbers of an answer on the left, its actions on the right; both small and muted."""

    def __init__(self, actions: list[QWidget]) -> None:
        super().__init__()
        self.setProperty("kind", "footer")
        self._lit = False
        numbers = QWidget()
        self._flow = FlowLayout(numbers, gap=8, line_gap=1)
        left = QVBoxLayout()  # the first line of figures stands level with the actions
        left.setContentsMargins(0, theme().px(3), 0, 0)
        left.addWidget(numbers)
        self._actions = QWidget()
        self._right = FlowLayout(self._actions, gap=2, line_gap=2)
        self._right.push_from = 0
        for widget in actions:
            self._right.addWidget(widget)
            widget.installEventFilter(self)
        row = self._row = QBoxLayout(QBoxLayout.Direction.LeftToRight, self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(6)
        row.addLayout(left, 1)
        row.addWidget(self._actions, 0, Qt.AlignmentFlag.AlignTop)
        self._parts: list[QLabel] = []
        self._view: FooterView | None = None

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The actions stand under the numbers where beside them they would be squeezed."""
        super().resizeEvent(event)
        self._arrange()

    def _arrange(self) -> None:
        ways = QBoxLayout.Direction
        numbers = theme().px(LEAST_NUMBERS) if self._parts else 0
        needed = self._right.sizeHint().width() + numbers
        way = ways.TopToBottom if needed > self.width() else ways.LeftToRight
        if way != self._row.direction():
            self._row.setDirection(way)
            self._row.setSpacing(2 if way == ways.TopToBottom else 6)
            self.updateGeometry()

    def set_lit(self, on: bool) -> None:
        """Stronger while the mouse is over the answer or an action has the focus."""
        if on != self._lit:
            self._lit = on
            restyle(self, lit=on)
            for child in self.findChildren(QAbstractButton):
                polish(child)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.FocusIn:
            self.set_lit(True)
        elif event.type() == QEvent.Type.FocusOut:
            parent = self.parentWidget()
            self.set_lit(parent is not None and parent.underMouse())
        return super().eventFilter(watched, event)

    def add_action(self, widget: QWidget, first: bool = False) -> None:
        widget.installEventFilter(self)
        self._right.insert_widget(0 if first else self._right.count(), widget)
        self._right.push_from = 0

    def set_view(self, view: FooterView | None) -> None:
        if view == self._view:
            return
        self._view = view
        for old in self._parts:
            self._flow.removeWidget(old)
            old.hide()
            old.deleteLater()
        self._parts = []
        if view is not None:
            self._parts = [label(text, "small") for text in view.parts()]
            if view.speculative is not None:
                self._parts.append(pill(strings.spec_words(view.speculative), on=view.speculative))
            if view.form:
                self._parts.append(_verdict(view))
            tail = fmt.DOT.join(t for t in (view.backend, view.stop_reason) if t)
            if tail:
                self._parts.append(label(tail, "small"))
        for part in self._parts:
            self._flow.addWidget(part)
        self.setAccessibleName(view.text() if view is not None else "")
        self._arrange()
        self.updateGeometry()


def _verdict(view: FooterView) -> QLabel:
    """Whether the answer has its form: one word, the sentence as its tooltip."""
    texts = {
        True: (words.CHECKED_VALID, True, ""),
        False: (words.CHECKED_INVALID, False, "bad"),
        None: (words.CHECKED_PARTIAL, False, "warn"),
    }
    text, on, level = texts[view.form_ok]
    out = pill(text, on=on)
    set_pill(out, text, on=on, level=level)
    out.setAccessibleName(view.form)
    out.setToolTip(fmt.tip(view.form))
    return out
