"""One model as a card: name, badges, a line of facts, perhaps progress, and its buttons.

The card takes the keyboard focus: Return opens the details, the menu key its menu, Delete
asks to delete. Widgets are kept while their content changes, so a running download neither
moves the focus nor flickers.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPoint, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QFocusEvent, QKeyEvent, QMouseEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QMenu,
    QProgressBar,
    QPushButton,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from ui import format as fmt
from ui import model_strings as words
from ui.controls import Card, ElidedLabel, button, icon_button, label, pill, restyle
from ui.layouts import FlowLayout
from ui.model_views import ModelRowView, RowAction
from ui.theme import theme

_PROGRESS_STEPS = 1000


class ModelCard(Card):
    """`triggered(key, action id)` for buttons and menu; "details" and "delete" by keyboard."""

    triggered = Signal(str, str)

    def __init__(self, view: ModelRowView) -> None:
        super().__init__(gap=2)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._view = view
        self._badges: list[QLabel] = []
        self._shown_actions: tuple[RowAction, ...] | None = None
        self._buttons: list[QPushButton] = []
        self._name = ElidedLabel(view.name, "strong")
        self._head = QWidget()
        self._flow = FlowLayout(self._head, gap=8, line_gap=4)
        self._flow.addWidget(self._name)
        self._facts = label("", "muted", wrap=True)
        self._bar = QProgressBar()
        self._bar.setTextVisible(False)
        self._bar.setMaximumWidth(theme().px(360))
        self._bar.setMinimumWidth(80)
        self._progress_text = label("", "muted", wrap=True)
        self._progress = QWidget()
        progress = QHBoxLayout(self._progress)
        progress.setContentsMargins(0, 4, 0, 0)
        progress.setSpacing(8)
        progress.addWidget(self._bar, 2)
        progress.addWidget(self._progress_text, 3)
        left = QVBoxLayout()
        left.setSpacing(3)
        left.addWidget(self._head)
        left.addWidget(self._facts)
        left.addWidget(self._progress)
        self._right = QHBoxLayout()
        self._right.setSpacing(8)
        self._more = icon_button("more", words.MORE.format(name=view.name))
        self._more.clicked.connect(lambda _=False: self._open_menu(None))
        self._right.addWidget(self._more)
        row = QHBoxLayout()
        row.setSpacing(16)
        row.addLayout(left, 1)
        row.addLayout(self._right)
        row.setAlignment(self._right, Qt.AlignmentFlag.AlignVCenter)
        self.body.addLayout(row)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
        self._fill(None)

    def view(self) -> ModelRowView:
        return self._view

    def set_view(self, view: ModelRowView) -> None:
        if view != self._view:
            before, self._view = self._view, view
            self._fill(before)

    def action_button(self, action_id: str) -> QPushButton | None:
        """The button of an action, for tests and for focus."""
        for action, found in zip(self._view.actions, self._buttons, strict=True):
            if action.id == action_id:
                return found
        return None

    def _fill(self, before: ModelRowView | None) -> None:
        view = self._view
        self.setAccessibleName(view.spoken)
        self._name.set_text(view.name)
        if before is None or before.badges != view.badges:
            self._fill_badges()
        self._facts.setText(view.line)
        self._facts.setVisible(bool(view.line))
        kind = (view.problem_level or "bad") if view.problem else "muted"
        _set_kind(self._facts, kind)
        self._fill_progress()
        if self._shown_actions != view.actions:
            self._fill_actions()
        self._more.setVisible(bool(view.menu))
        self._more.setAccessibleName(words.MORE.format(name=view.name))

    def _fill_badges(self) -> None:
        for old in self._badges:
            self._flow.removeWidget(old)
            old.deleteLater()
        self._badges = [pill(text, on=text == "MTP") for text in self._view.badges]
        for badge in self._badges:
            self._flow.addWidget(badge)

    def _fill_progress(self) -> None:
        view = self._view
        self._progress.setVisible(view.progress is not None or bool(view.progress_text))
        self._bar.setVisible(view.progress is not None)
        if view.progress is not None:
            known = view.progress >= 0
            self._bar.setRange(0, _PROGRESS_STEPS if known else 0)
            self._bar.setValue(round(view.progress * _PROGRESS_STEPS) if known else 0)
            self._bar.setAccessibleName(f"{view.name}: {view.progress_text}")
        self._progress_text.setText(view.progress_text)
        _set_kind(self._progress_text, view.progress_level or "muted")

    def _fill_actions(self) -> None:
        """Reuses buttons by place, so that one keeps the focus when its word changes."""
        wanted = self._view.actions
        while len(self._buttons) > len(wanted):
            gone = self._buttons.pop()
            if gone.hasFocus():
                self.setFocus()
            self._right.removeWidget(gone)
            gone.deleteLater()
        while len(self._buttons) < len(wanted):
            place = len(self._buttons)
            fresh = button("")
            fresh.clicked.connect(lambda _=False, n=place: self._on_button(n))
            self._right.insertWidget(place, fresh)
            self._buttons.append(fresh)
        for action, shown in zip(wanted, self._buttons, strict=True):
            shown.setText(action.label)
            shown.setAccessibleName(f"{action.label.rstrip('…')} {self._view.name}")
            shown.setEnabled(not action.reason)
            shown.setToolTip(fmt.tip(action.reason))
            kind = "primary" if action.primary else "danger" if action.danger else ""
            restyle(shown, kind=kind)
        self._shown_actions = wanted

    def _on_button(self, place: int) -> None:
        self.triggered.emit(self._view.key, self._view.actions[place].id)

    def menu(self) -> QMenu:
        """A fresh menu of this card's further actions; the caller shows it."""
        out = QMenu(self)
        out.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for action in self._view.menu:
            if action.id == "-":
                out.addSeparator()
                continue
            entry = out.addAction(action.label)
            entry.setEnabled(not action.reason)
            entry.setToolTip(fmt.tip(action.reason))
            entry.triggered.connect(
                lambda _=False, i=action.id: self.triggered.emit(self._view.key, i)
            )
        out.setToolTipsVisible(True)
        return out

    def _open_menu(self, at: QPoint | None) -> None:
        if self._view.menu:
            corner = self._more.mapToGlobal(QPoint(0, self._more.height()))
            self.menu().popup(at or corner)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        mouse = event.reason() == QContextMenuEvent.Reason.Mouse
        self._open_menu(event.globalPos() if mouse else None)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        ids = {a.id for a in (*self._view.menu, *self._view.actions) if not a.reason}
        keys = {
            Qt.Key.Key_Return: "details",
            Qt.Key.Key_Enter: "details",
            Qt.Key.Key_Delete: "delete",
        }
        wanted = keys.get(Qt.Key(event.key()))
        if wanted in ids:
            self.triggered.emit(self._view.key, wanted)
            return
        super().keyPressEvent(event)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        if any(a.id == "details" for a in self._view.menu):
            self.triggered.emit(self._view.key, "details")
        super().mouseDoubleClickEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        restyle(self, focused=event.reason() != Qt.FocusReason.MouseFocusReason)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        restyle(self, focused=False)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._bar.setMaximumWidth(theme().px(360))


def _set_kind(target: QLabel, kind: str) -> None:
    if target.property("kind") != kind:
        restyle(target, kind=kind)
