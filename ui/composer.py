"""The input box: text, attachments, speculation, sampling, Send or Stop.

Enter sends and Shift+Enter breaks the line (or Ctrl+Enter sends, by setting). Nothing is
sent while an input method composes. The box stays enabled and focused while an answer runs;
Enter then keeps the text. What is sent is exactly what is shown: control characters are
made visible when they come in. Main thread only.
"""

from __future__ import annotations

from PySide6.QtCore import QMimeData, Qt, Signal
from PySide6.QtGui import (
    QAction,
    QActionGroup,
    QDragEnterEvent,
    QFocusEvent,
    QGuiApplication,
    QImage,
    QKeyEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import QFrame, QMenu, QPlainTextEdit, QPushButton, QVBoxLayout, QWidget

from engine.types import SpecMode
from ui import strings
from ui.controls import button, label, menu_button, restyle, set_icon
from ui.format import clean_text, tip
from ui.input_method import KeysOfInputMethod
from ui.layouts import FlowLayout
from ui.theme import theme
from ui.views import ComposerView

MAX_LINES = 9
_ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter)


class DraftEdit(QPlainTextEdit):
    """The text field. Emits instead of deciding: `submitted`, `escaped`, files and images."""

    submitted = Signal()
    escaped = Signal()
    edit_last_requested = Signal()
    files_dropped = Signal(list)
    image_pasted = Signal(QImage)
    focus_changed = Signal(bool)

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("draft")
        self.setAccessibleName(strings.COMPOSER_NAME)
        self.setPlaceholderText(strings.COMPOSER_PLACEHOLDER)
        self.setTabChangesFocus(True)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.document().setDocumentMargin(0)
        self.enter_sends = True
        self._max_lines = MAX_LINES
        self._input_method = KeysOfInputMethod(self)
        self.textChanged.connect(self._fit)
        theme().changed.connect(self._fit)
        self._fit()

    def set_max_lines(self, count: int) -> None:
        self._max_lines = count
        self._fit()

    @property
    def composing(self) -> bool:
        """True while an input method shows text that is not committed yet."""
        return self._input_method.composing

    def keyPressEvent(self, event: QKeyEvent) -> None:
        mods = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        if event.key() in _ENTER:
            self._enter(event, mods)
        elif event.key() == Qt.Key.Key_Escape:
            self.escaped.emit()
        elif event.key() == Qt.Key.Key_Up and not self.toPlainText() and not mods:
            self.edit_last_requested.emit()
        else:
            super().keyPressEvent(event)

    def _enter(self, event: QKeyEvent, mods: Qt.KeyboardModifier) -> None:
        control = bool(mods & Qt.KeyboardModifier.ControlModifier)
        shift = bool(mods & Qt.KeyboardModifier.ShiftModifier)
        if control or (self.enter_sends and not shift):
            if not event.isAutoRepeat():
                self.submitted.emit()
        else:
            self.textCursor().insertBlock()
            self.ensureCursorVisible()

    def canInsertFromMimeData(self, source: QMimeData) -> bool:
        return source.hasUrls() or source.hasImage() or super().canInsertFromMimeData(source)

    def insertFromMimeData(self, source: QMimeData) -> None:
        files = [u.toLocalFile() for u in source.urls() if u.isLocalFile()]
        if files:
            self.files_dropped.emit(files)
        elif source.hasImage() and not source.hasFormat("text/plain"):
            image = source.imageData()
            if isinstance(image, QImage):
                self.image_pasted.emit(image)
        elif source.hasText():
            self.textCursor().insertText(clean_text(source.text()))
            self.ensureCursorVisible()

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.focus_changed.emit(True)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.focus_changed.emit(False)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if event.mimeData().hasUrls():
            event.acceptProposedAction()
        else:
            super().dragEnterEvent(event)

    def _fit(self) -> None:
        line = self.fontMetrics().lineSpacing()
        count = min(self._max_lines, max(1, int(self.document().size().height())))
        self.setFixedHeight(count * line + 4)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()


class Composer(QFrame):
    """See the module. `message_sent(text)` leaves the text in the box; the owner clears it
    with `clear()` once the message was taken (a refused one stays editable)."""

    message_sent = Signal(str)
    stop_requested = Signal()
    draft_changed = Signal(str)
    files_dropped = Signal(list)
    image_pasted = Signal(QImage)
    attach_requested = Signal()
    spec_changed = Signal(str)
    measure_requested = Signal()
    sampling_requested = Signal()
    edit_last_requested = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("composer")
        self._view = ComposerView()
        self._compact = False
        self.edit = DraftEdit()
        self.edit.submitted.connect(self._on_submitted)
        self.edit.escaped.connect(self._on_escaped)
        self.edit.edit_last_requested.connect(self.edit_last_requested)
        self.edit.files_dropped.connect(self.files_dropped)
        self.edit.image_pasted.connect(self.image_pasted)
        self.edit.textChanged.connect(lambda: self.draft_changed.emit(self.text()))
        self.edit.focus_changed.connect(lambda on: restyle(self, focused=on))
        self._spec_menu = QMenu(self)
        self._spec_group = QActionGroup(self)
        self.attach = button(strings.ATTACH, "", self.attach_requested.emit)
        self.spec = menu_button(strings.SPECULATIVE_BUTTON.format(mode="Off"), self._spec_menu)
        self.sampling = button(f"{strings.SAMPLING} ▾", "", self.sampling_requested.emit)
        self.sampling.setAccessibleName(strings.SAMPLING)
        self.hint = label(strings.ENTER_SENDS, "muted")
        self.send = button(strings.SEND, "primary", self._on_send_clicked)
        self.stop = button(
            strings.STOP, "danger", self._on_stop_clicked, tip=f"{strings.STOP} (Esc)"
        )
        set_icon(self.stop, "stop", 16, "bad")
        buttons = QWidget()
        flow = FlowLayout(buttons, gap=8, line_gap=6)
        for widget in (self.attach, self.spec, self.sampling, self.hint, self.send, self.stop):
            flow.addWidget(widget)
            if isinstance(widget, QPushButton):  # a click must not end a composition
                widget.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        flow.push_from = 3
        self._flow = flow
        self._strip: QWidget | None = None
        self._strip_place = QVBoxLayout()
        self._strip_place.setContentsMargins(0, 0, 0, 0)
        self._body = body = QVBoxLayout(self)
        body.setContentsMargins(15, 14, 15, 12)
        body.setSpacing(12)
        body.addLayout(self._strip_place)
        body.addWidget(self.edit)
        body.addWidget(buttons)
        self.set_view(self._view)

    def set_compact(self, on: bool) -> None:
        """In a small window: smaller buttons on one line, no hint, at most three lines."""
        if on == self._compact:
            return
        self._compact = on
        self.edit.set_max_lines(3 if on else MAX_LINES)
        self.hint.setVisible(not on)
        self._body.setContentsMargins(15, 8 if on else 14, 15, 8 if on else 12)
        self._body.setSpacing(6 if on else 12)
        if self._view.spec.available:
            self._fill_spec_menu()
        for widget in self._flow.widgets():
            if isinstance(widget, QPushButton):
                self._fit_button(widget)

    def _fit_button(self, widget: QPushButton) -> None:
        kind = str(widget.property("kind") or "")
        if kind in ("", "small"):
            restyle(widget, kind="small" if self._compact else "")
        else:
            restyle(widget, small="true" if self._compact else "false")

    def set_attachment_strip(self, widget: QWidget) -> None:
        """Places the strip of pending attachments above the text."""
        self._strip = widget
        self._strip_place.addWidget(widget)

    def add_button(self, widget: QPushButton) -> None:
        """Places a further button after the others on the left."""
        widget.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._flow.insert_widget(self._flow.push_from, widget)
        self._fit_button(widget)

    def text(self) -> str:
        return self.edit.toPlainText()

    def set_text(self, text: str) -> None:
        """Replaces the draft (undoable by the person with Ctrl+Z)."""
        cursor = self.edit.textCursor()
        cursor.select(cursor.SelectionType.Document)
        cursor.insertText(clean_text(text))
        self.edit.setTextCursor(cursor)

    def insert(self, text: str) -> None:
        """Adds a block of text (a quote) at the end of the draft and takes the focus."""
        cursor = self.edit.textCursor()
        cursor.movePosition(cursor.MoveOperation.End)
        before = self.text()
        lead = "" if not before or before.endswith("\n") else "\n"
        cursor.insertText(lead + clean_text(text))
        self.edit.setTextCursor(cursor)
        self.edit.setFocus()

    def clear(self) -> None:
        self.edit.clear()

    def set_enter_sends(self, on: bool) -> None:
        """True: Enter sends. False: Enter breaks the line and Ctrl+Enter sends."""
        self.edit.enter_sends = on
        self.hint.setText(strings.ENTER_SENDS if on else strings.CTRL_ENTER_SENDS)

    def view(self) -> ComposerView:
        return self._view

    def set_view(self, view: ComposerView) -> None:
        before, self._view = self._view, view
        self._flow.setEnabled(False)  # one button for the other: laid out once, not twice
        self.send.setVisible(not view.busy)
        self.send.setEnabled(view.can_send)
        self.stop.setVisible(view.busy)
        self._flow.setEnabled(True)
        stopping = view.state == "stopping"
        self.stop.setEnabled(not stopping)
        self.stop.setText(strings.STOPPING if stopping else strings.STOP)
        self.attach.setEnabled(bool(view.attach))
        self.attach.setToolTip(tip(view.attach_reason if not view.attach else strings.ATTACH))
        self.spec.setVisible(view.spec.available)
        if view.spec.available and view.spec != before.spec:
            self._fill_spec_menu()

    def _fill_spec_menu(self) -> None:
        choice = self._view.spec
        short = {SpecMode.OFF: "Off", SpecMode.ON: "On", SpecMode.AUTO: "Auto"}[choice.mode]
        text = strings.SPECULATIVE_BUTTON.format(mode=short)
        self.spec.setText(f"{text} ▾" if not self._compact else f"Spec: {short} ▾")
        self.spec.setAccessibleName(text)
        self.spec.setToolTip(strings.SPEC_EXPLAINED)
        self._spec_menu.clear()
        for old in self._spec_group.actions():
            self._spec_group.removeAction(old)
        for mode in SpecMode:
            action = QAction(
                f"{strings.SPEC_MODES[mode]}  –  {choice.text_of(mode)}", self._spec_menu
            )
            action.setCheckable(True)
            action.setChecked(mode == choice.mode)
            action.triggered.connect(lambda _=False, m=mode: self.spec_changed.emit(str(m)))
            self._spec_group.addAction(action)
            self._spec_menu.addAction(action)
        self._spec_menu.addSeparator()
        self._spec_menu.addAction(strings.MEASURE, self.measure_requested.emit)

    def _on_send_clicked(self) -> None:
        if self.edit.composing:
            QGuiApplication.inputMethod().commit()
        self.edit.setFocus()
        self._on_submitted()

    def _on_submitted(self) -> None:
        if self._view.busy or not self._view.can_send:
            return
        text = self.text()
        if text.strip() or self._strip_has_items():
            self.message_sent.emit(text)

    def _strip_has_items(self) -> bool:
        return self._strip is not None and self._strip.isVisibleTo(self)

    def _on_stop_clicked(self) -> None:
        self.edit.setFocus()
        self.stop_requested.emit()

    def _on_escaped(self) -> None:
        if self._view.busy and self._view.state != "stopping":
            self.stop_requested.emit()
