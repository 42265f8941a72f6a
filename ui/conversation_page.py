"""One open conversation: transcript, composer, gauge. Shows values, emits what people do.

Main thread only. The owner (a controller) is called with plain views; nothing here knows a
service. `draft` and `set_draft` reach the text that is not sent yet; a sent text stays in
the box until the owner calls `clear_draft()`, so a refused message is never lost.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QImage, QKeyEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from ui import format as fmt
from ui import links, strings
from ui.composer import Composer
from ui.controls import announce, label
from ui.dialogs import AskDialog
from ui.gauge import Gauge
from ui.layouts import Column
from ui.transcript import Transcript
from ui.views import ComposerView, GaugeView, NoticeAction, TurnView

MODEL_END = ".litertlm"


class ConversationPage(QWidget):
    """Signals carry node ids. `version_selected(node, step)`: step is -1 (earlier) or +1.

    Streaming: `append_turn` with status "streaming", then `stream(node, text, thought)` with
    the pieces in order, at last `update_turn` with the final view (its text is the truth).
    """

    message_sent = Signal(str)
    stop_requested = Signal()
    regenerate_requested = Signal(str)
    edit_submitted = Signal(str, str)
    continue_requested = Signal(str)
    version_selected = Signal(str, int)
    turn_deleted = Signal(str)
    quote_requested = Signal(str, str)
    copied = Signal(str)
    link_activated = Signal(str)
    draft_changed = Signal(str)
    files_dropped = Signal(list)
    image_pasted = Signal(QImage)
    attach_requested = Signal()
    spec_changed = Signal(str)
    measure_requested = Signal()
    sampling_requested = Signal()
    attachment_opened = Signal(str)

    def __init__(self, key: str) -> None:
        super().__init__()
        self.key = key
        self.setAcceptDrops(True)
        self.setProperty("kind", "panel")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.transcript = Transcript()
        self.composer = Composer()
        self.gauge = Gauge()
        below = QWidget()
        self._stack = stack = QVBoxLayout(below)
        stack.setContentsMargins(0, 8, 0, 14)
        stack.setSpacing(8)
        stack.addWidget(self.composer)
        stack.addWidget(self.gauge)
        self.hint = label("", "small", wrap=True)
        self.hint.hide()
        stack.addWidget(self.hint)
        body = QVBoxLayout(self)
        body.setContentsMargins(0, 0, 0, 0)
        body.setSpacing(0)
        self._top = QVBoxLayout()
        body.addLayout(self._top)
        body.addWidget(self.transcript, 1)
        body.addWidget(Column(below, margin=28))
        self._connect()

    def _connect(self) -> None:
        box, words = self.composer, self.transcript
        box.message_sent.connect(self.message_sent)
        box.stop_requested.connect(self.stop_requested)
        box.draft_changed.connect(self.draft_changed)
        box.files_dropped.connect(self.files_dropped)
        box.image_pasted.connect(self.image_pasted)
        box.attach_requested.connect(self.attach_requested)
        box.spec_changed.connect(self.spec_changed)
        box.measure_requested.connect(self.measure_requested)
        box.sampling_requested.connect(self.sampling_requested)
        box.edit_last_requested.connect(self.edit_last)
        words.regenerate_requested.connect(self.regenerate_requested)
        words.edit_submitted.connect(self.edit_submitted)
        words.continue_requested.connect(self.continue_requested)
        words.version_selected.connect(self.version_selected)
        words.turn_deleted.connect(self.turn_deleted)
        words.copied.connect(self.copied)
        words.attachment_opened.connect(self.attachment_opened)
        words.quoted.connect(self._on_quoted)
        words.link_clicked.connect(self._on_link_clicked)

    def set_find_bar(self, widget: QWidget) -> None:
        """Places a bar above the transcript."""
        self._top.addWidget(widget)

    def set_attachment_strip(self, widget: QWidget) -> None:
        self.composer.set_attachment_strip(widget)

    def set_compact(self, on: bool) -> None:
        """In a small window the words of the conversation come before everything else."""
        self._stack.setContentsMargins(0, 4 if on else 8, 0, 4 if on else 14)
        self._stack.setSpacing(3 if on else 8)
        self.composer.set_compact(on)
        self.gauge.set_compact(on)

    # Turns
    def set_turns(self, turns: Sequence[TurnView]) -> None:
        """Shows a whole path and goes to its end."""
        self.transcript.set_turns(turns)

    def turns(self) -> tuple[TurnView, ...]:
        return self.transcript.turns()

    def append_turn(self, turn: TurnView) -> None:
        self.transcript.append_turn(turn)

    def update_turn(self, turn: TurnView) -> None:
        """Replaces the view of a turn already shown; announces an answer that ended."""
        before = self.transcript.turn(turn.node_id)
        self.transcript.update_turn(turn)
        if before is not None and before.status == "streaming" and turn.status != "streaming":
            self._announce_end(turn)

    def remove_turn(self, node_id: str) -> None:
        self.transcript.remove_turn(node_id)

    def stream(self, node_id: str, text_delta: str, thought_delta: str = "") -> None:
        """Adds text to a streaming turn; drawn on the next frame."""
        self.transcript.stream(node_id, text_delta, thought_delta)

    def set_empty(self, title: str, text: str) -> None:
        """Words shown while the conversation has no turns."""
        self.transcript.set_empty(title, text)

    def edit_last(self) -> None:
        """Opens the last message of the person for editing."""
        self.transcript.edit_last()

    # Composer and gauge
    def set_composer(self, view: ComposerView) -> None:
        self.composer.set_view(view)

    def set_hint(self, text: str) -> None:
        """A quiet line under the gauge; "" hides it."""
        if text != self.hint.text():
            self.hint.setText(text)
            self.hint.setVisible(bool(text))

    def set_gauge(self, view: GaugeView) -> None:
        self.gauge.set_view(view)

    def draft(self) -> str:
        return self.composer.text()

    def set_draft(self, text: str) -> None:
        """Puts stored text into the box without `draft_changed`."""
        self.composer.blockSignals(True)
        self.composer.set_text(text)
        self.composer.blockSignals(False)

    def clear_draft(self) -> None:
        self.composer.clear()

    def focus_composer(self) -> None:
        self.composer.edit.setFocus()

    # Find in chat
    def highlight(self, term: str, case: bool = False) -> int:
        """Marks every hit of `term` in the conversation and returns their number; "" clears."""
        return self.transcript.highlight(term, case)

    def goto(self, index: int) -> None:
        """Shows hit number `index` (from 0) and marks it as the current one."""
        self.transcript.goto(index)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Files for the message may be dropped anywhere on the conversation; model files
        alone are the window's."""
        if not all(p.lower().endswith(MODEL_END) for p in _local_files(event)):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        event.acceptProposedAction()
        self.files_dropped.emit(_local_files(event))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        busy = self.composer.view().busy
        if event.key() == Qt.Key.Key_Escape and busy:
            self.stop_requested.emit()
            return
        super().keyPressEvent(event)

    def _announce_end(self, turn: TurnView) -> None:
        text = {
            "done": strings.ANNOUNCE_FINISHED,
            "stopped": strings.ANNOUNCE_STOPPED,
            "failed": strings.ANNOUNCE_FAILED.format(sentence=turn.error),
        }.get(turn.status)
        mark = strings.STATUS_MARKS.get(turn.status, turn.status)
        line = text or strings.ANNOUNCE_LIMIT.format(reason=mark)
        announce(self.transcript, line, assertive=turn.status == "failed")

    def _on_quoted(self, node_id: str, text: str) -> None:
        lines = "\n".join(f"> {line}" for line in text.strip().splitlines())
        self.composer.insert(f"{lines}\n\n")
        self.quote_requested.emit(node_id, text)

    def _on_link_clicked(self, target: str) -> None:
        """Shows where a link leads; `link_activated` only after the person agrees."""
        link = links.check(target)
        if link is None:
            actions = [NoticeAction("", strings.CLOSE, primary=True)]
            shown = fmt.visible(target[: links.MAX_ADDRESS])
            AskDialog(self.window(), strings.LINK_REFUSED, "", actions, shown).open()
            return
        actions = [
            NoticeAction("copy", strings.COPY),
            NoticeAction("", strings.CANCEL),
            NoticeAction("open", "Open", primary=True),
        ]
        text = "\n".join(link.facts)
        dialog = AskDialog(self.window(), strings.LINK_ASK, text, actions, link.address)
        dialog.answered.connect(lambda answer: self._on_link_answered(answer, link.address))
        dialog.open()

    def _on_link_answered(self, answer: str, target: str) -> None:
        if answer == "open":
            self.link_activated.emit(target)
        elif answer == "copy":
            self.transcript.copy_text(target)


def _local_files(event: QDropEvent) -> list[str]:
    return [u.toLocalFile() for u in event.mimeData().urls() if u.isLocalFile()]
