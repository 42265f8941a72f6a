"""One turn on the reading column: a bubble on the right for the person, plain text for the
answer, with thoughts, tool steps, attachments, footer and actions. Main thread only.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QContextMenuEvent, QEnterEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from ui import format as fmt
from ui import strings
from ui.controls import flat_button, hline, icon_button, label, restyle
from ui.theme import theme
from ui.turn_editor import TurnEditor
from ui.turn_menu import turn_menu
from ui.turn_parts import (
    Footer,
    GhostButton,
    RunDetails,
    VersionSwitch,
    attachments_row,
    tool_step,
)
from ui.turn_text import TurnText
from ui.views import TurnView

BUBBLE_SHARE = 0.84
"""The widest a bubble gets, as a share of the column."""


AT_TOOLS = ("deciding", "tool")
"""What an answer can wait for after it has text."""


class MessageView(TurnText):
    """Shows a `TurnView`. `set_view` changes only what differs."""

    def __init__(self, view: TurnView, divider: bool = False) -> None:
        super().__init__(view)
        self._busy = False
        self._editor: TurnEditor | None = None
        self._extras: QWidget | None = None
        self._error: QLabel | None = None
        self._waiting: QLabel | None = None
        if divider:
            self._column.addWidget(hline())
            line = label(strings.DROPPED_TURNS, "small")
            line.setAlignment(Qt.AlignmentFlag.AlignHCenter)
            self._column.addWidget(line)
        self._column.addLayout(self._above)
        self._versions: VersionSwitch | None = None
        self._continue: QPushButton | None = None
        self._ghosts: list[GhostButton] = []
        self._more: QToolButton
        self._bubble: QFrame | None = None
        self.footer: Footer | None = None
        if self._is_user:
            self._bubble = self._make_bubble()
        else:
            self._column.addWidget(self.words)
        self._show(view, first=True)

    # Building
    def _make_bubble(self) -> QFrame:
        bubble = QFrame()
        bubble.setProperty("kind", "bubble")
        inner = QVBoxLayout(bubble)
        inner.setContentsMargins(14, 10, 14, 10)
        inner.addWidget(self.words)
        more = GhostButton("more", strings.MORE, self._on_more)
        self._edit = GhostButton("edit", strings.EDIT, self.start_edit)
        self._ghosts = [self._edit, GhostButton("copy", "Copy message", self.copy_text), more]
        self._more = more
        self._bubble_row = QWidget()
        row = QHBoxLayout(self._bubble_row)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(2)
        self._bubble_actions = row
        row.addStretch(1)
        for ghost in self._ghosts:
            row.addWidget(ghost)
        row.addSpacing(4)
        row.addWidget(bubble)
        self._column.addWidget(self._bubble_row)
        return bubble

    def _make_actions(self) -> list[QWidget]:
        copy = flat_button(strings.COPY, self.copy_text)
        copy.setAccessibleName("Copy message")
        self._more = icon_button("more", strings.MORE, self._on_more, 14)
        self._again = flat_button(strings.REGENERATE, lambda: self.act("regenerate"))
        return [copy, self._again, self._more]

    def _with_footer(self) -> Footer:
        """The footer of an answer: made when it is first needed, not before the first word."""
        if self.footer is None:
            self.footer = Footer(self._make_actions())
            self._again.setEnabled(not self._busy)
            self._column.addWidget(self.footer)
        return self.footer

    def _show_versions(self, index: int, count: int) -> None:
        """The switch is made for the few turns that have versions."""
        if self._versions is None:
            if count < 2:
                return
            self._versions = VersionSwitch()
            self._versions.stepped.connect(lambda s: self.act("later" if s > 0 else "earlier"))
            self._versions.setEnabled(not self._busy)
            if self._is_user:
                self._bubble_actions.insertWidget(1, self._versions)
            else:
                self._with_footer().add_action(self._versions)
        self._versions.set_version(index, count)

    def _show_continue(self, on: bool) -> None:
        if self._continue is None and on:
            self._continue = flat_button(strings.CONTINUE, lambda: self.act("continue"))
            self._continue.setEnabled(not self._busy)
            self._with_footer().add_action(self._continue, first=True)
        if self._continue is not None:
            self._continue.setVisible(on)

    def enterEvent(self, event: QEnterEvent) -> None:
        self._set_lit(True)

    def leaveEvent(self, event: QEvent) -> None:
        self._set_lit(False)

    def _set_lit(self, on: bool) -> None:
        for ghost in self._ghosts:
            ghost.set_lit(on)
        if self.footer is not None:
            self.footer.set_lit(on)

    # Showing
    @property
    def busy(self) -> bool:
        """True while nothing that changes the branch may be asked for."""
        return self._busy

    def set_view(self, view: TurnView) -> None:
        self._show(view, first=False)

    def set_busy(self, busy: bool) -> None:
        """While an answer runs, nothing that changes the branch may be asked for."""
        self._busy = busy
        if self._versions is not None:
            self._versions.setEnabled(not busy)
        if self._is_user:
            self._edit.setEnabled(not busy)
        elif self.footer is not None:
            self._again.setEnabled(not busy)
            if self._continue is not None:
                self._continue.setEnabled(not busy)

    def _show(self, view: TurnView, first: bool) -> None:
        old = self.view
        self.view = view
        streaming = view.status == "streaming"
        if self._is_user:
            if first or view.text != old.text:
                self.words.set_plain(view.text)
                self.fit()
        elif first or view.text != self.words.raw or not streaming:
            self._show_text(view, first)
        if view.thought or self._thought is not None:
            self._show_thought(view, first)
        if first or view.attachments != old.attachments or view.tool_steps != old.tool_steps:
            self._show_extras(view)
        self._show_error(view)
        self._show_waiting(view)
        self._show_versions(view.version_index, view.version_count)
        if not self._is_user:
            if not streaming or self.footer is not None:
                footer = self._with_footer()
                footer.set_view(view.footer)
                footer.setVisible(not streaming)
                self._show_continue(view.can_continue)
            self.words.set_caret(streaming and (bool(view.text) or self.words.has_text()))
        self._name()

    def _show_text(self, view: TurnView, first: bool) -> None:
        streaming = view.status == "streaming"
        text = view.text or ("" if streaming or view.error else strings.EMPTY_ANSWER)
        if view.tool_steps and not view.text:
            text = ""
        if not first and text == self.words.raw:
            self.words.finish()
        else:
            self.words.set_markdown(text, final=not streaming)
        self.words.setVisible(bool(text) or streaming)
        self.render_requested.emit()

    def _show_thought(self, view: TurnView, first: bool) -> None:
        streaming = view.status == "streaming"
        self._thoughts().show_text(view.thought, first, streaming)
        self._update_thought()
        self.render_requested.emit()

    def _show_extras(self, view: TurnView) -> None:
        if self._extras is not None:
            self._extras.hide()
            self._extras.deleteLater()
            self._extras = None
        if not view.attachments and not view.tool_steps:
            return
        self._extras = QWidget()
        inner = QVBoxLayout(self._extras)
        inner.setContentsMargins(0, 0, 0, 0)
        inner.setSpacing(2)
        for step in view.tool_steps:
            inner.addWidget(tool_step(step))
        if view.attachments:
            row = attachments_row(view.attachments, self.attachment_opened.emit)
            inner.addWidget(row, 0, Qt.AlignmentFlag.AlignRight)
        self._above.addWidget(self._extras)

    def _show_error(self, view: TurnView) -> None:
        mark = strings.STATUS_MARKS.get(view.status, "")
        text = view.error if view.error else mark[:1].upper() + mark[1:]
        if not text and self._error is None:
            return
        if self._error is None:
            self._error = label("", "muted", wrap=True)
            self._insert_below(self._error)
        bad = view.status == "failed"
        restyle(self._error, kind="bad" if bad else "muted")
        self._error.setText(text)
        self._error.setToolTip(fmt.tip(view.error_details[:2000]))
        self._error.setVisible(bool(text))

    def _show_waiting(self, view: TurnView) -> None:
        words = strings.WAITING.get(view.waiting, "")
        blank = not self.words.has_text()
        shown = view.status == "streaming" and bool(words) and (blank or view.waiting in AT_TOOLS)
        if self._waiting is None:
            if not shown:
                return
            self._waiting = label("", "muted")
            self._insert_below(self._waiting)
        self._waiting.setText(words)
        self._waiting.setVisible(shown)
        if not self._is_user and view.status == "streaming":
            self.words.setVisible(not shown or not blank)

    def _insert_below(self, widget: QWidget) -> None:
        """Under the text, above the footer of an answer."""
        self._column.insertWidget(self._column.count() - (self.footer is not None), widget)

    # Streaming
    def stream(self, text: str, thought: str) -> None:
        """Adds pieces; drawn when `render_step` is called."""
        if thought:
            self._thoughts().append(thought)
        if text and not self._is_user:
            begins = not self.words.has_text()
            self.words.append(text)
            if self._waiting is not None:
                self._waiting.hide()
            if begins:
                self.words.show()
                self.words.set_caret(True)
        self._update_thought()

    def render_step(self, budget_s: float) -> bool:
        more = False
        if self._thought is not None and self._thought.is_open():
            more = self._thought.words.render_step(budget_s)
        more = self.words.render_step(budget_s) or more
        if self._is_user and not more:
            self.fit()
        self.settle()
        if not more and self.view.status != "streaming":
            self._name()
        return more

    def settle(self) -> None:
        super().settle()
        if self._bubble is not None:
            # From the inside out: each tells the next one its new size.
            for inner in (self._bubble, self._bubble_row, self):
                layout = inner.layout()
                if layout is not None:
                    layout.activate()

    def fit(self) -> None:
        """Makes the bubble as wide as its text, up to its share of the column."""
        if self._bubble is None or self._editor is not None:
            return
        room = max(120, int(self.width() * BUBBLE_SHARE) - theme().px(20)) - 28
        self.words.set_text_width(max(24, min(room, self.words.ideal_width())))
        self._bubble.setVisible(bool(self.view.text))

    # Editing
    def start_edit(self) -> None:
        """Turns the person's message into a field; Send branches, Esc goes back."""
        if not self._is_user or self._editor is not None or self._busy:
            return
        self._editor = TurnEditor(self.view.text)
        self._editor.submitted.connect(self._on_edit_sent)
        self._editor.cancelled.connect(self.end_edit)
        self._bubble_row.hide()
        self._insert_below(self._editor)
        self._editor.take_focus()

    @property
    def editing(self) -> bool:
        return self._editor is not None

    def end_edit(self) -> None:
        if self._editor is None:
            return
        self._editor.hide()
        self._editor.deleteLater()
        self._editor = None
        self._bubble_row.show()
        self._edit.setFocus()

    def _on_edit_sent(self, text: str) -> None:
        self.end_edit()
        self.edit_submitted.emit(self.view.node_id, text)

    # Actions
    def act(self, action: str) -> None:
        self.action_requested.emit(action, self.view.node_id)

    def copy_text(self) -> None:
        """The raw Markdown of the turn, never its thoughts."""
        self.copied.emit(self.raw_text())

    def show_details(self) -> None:
        footer = self.view.footer
        if footer is not None and footer.details and self.footer is not None:
            details = RunDetails(self, footer.details)
            details.adjustSize()
            corner = self.footer.mapToGlobal(QPoint(0, 0))
            details.move(corner.x(), corner.y() - details.height() - 4)
            details.show()

    def _on_more(self) -> None:
        turn_menu(self).popup(self._more.mapToGlobal(QPoint(0, self._more.height())))

    def _on_menu_requested(self, event: QContextMenuEvent, link: str) -> None:
        turn_menu(self, link).popup(event.globalPos())
