"""What a chat is while nothing is being written: reading it, its tree and its settings.

`Chat` adds sending. Main thread only; no Qt.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable

from app import chat_turns as turns
from app.chat_context import ChatContext, ChatEvent, Rejected
from app.chat_gauge import stored_gauge
from app.chat_state import ChatState, step
from app.conversation import Attachment, ChatSettings, Conversation, Node, TurnStatus
from engine.types import Backend, ErrorInfo, ModelInfo, Unseen


class ChatBase:
    """The state changes only by `_go`, along the table of `chat_state`."""

    def __init__(self, conversation: Conversation, context: ChatContext) -> None:
        self.conversation = conversation
        self.context = context
        self.state = ChatState.IDLE
        self.error: ErrorInfo | None = None
        self.rejected: Rejected | None = None
        self.unseen: tuple[Unseen, ...] = ()
        """What the last answer's model was not shown of the conversation."""
        self.gauge = stored_gauge(conversation.path())
        self.loads_drafter = False
        """Whether the prefill going on also loads the drafter."""
        self.last_sign = 0.0
        """`time.monotonic()` of the last text or state change of the running send."""
        self._listeners: list[Callable[[ChatEvent], None]] = []
        self._answer: Node | None = None
        self._details: dict[str, str] = {}

    # Reading

    @property
    def key(self) -> str:
        return self.conversation.id

    @property
    def busy(self) -> bool:
        return self.state.busy

    def is_stopping(self) -> bool:
        return self.state is ChatState.STOPPING

    @property
    def settings(self) -> ChatSettings:
        return self.conversation.settings

    @property
    def answering(self) -> str | None:
        """Id of the turn being written, None when idle."""
        return self._answer.id if self._answer is not None and self.busy else None

    def last_status(self) -> TurnStatus | None:
        """How the last turn of the active path stands, None in an empty chat."""
        path = self.conversation.path()
        return path[-1].status if path else None

    def details(self, node_id: str) -> str:
        """Raw engine text behind a failed turn of this run of the program."""
        return self._details.get(node_id, "")

    def speculative_for(self, info: ModelInfo | None, backend: Backend) -> bool:
        """What the next message will use with this model."""
        if info is None:
            return False
        auto = self.context.auto_choice(info.path, backend)
        return turns.resolve_spec(self.settings.spec, info.supports_mtp, auto)

    def subscribe(self, listener: Callable[[ChatEvent], None]) -> Callable[[], None]:
        self._listeners.append(listener)

        def unsubscribe() -> None:
            with contextlib.suppress(ValueError):
                self._listeners.remove(listener)

        return unsubscribe

    # Changing the tree

    def delete_turn(self, node_id: str) -> turns.Removed | None:
        """Removes a turn; the result undoes it with `undo_delete`."""
        if self.busy:
            return None
        removed = turns.remove_turn(self.conversation, node_id)
        self.context.history.drop_nodes(self.conversation, removed.gone)
        self.context.history.save_soon(self.conversation, self.conversation.nodes.values())
        self._tell(ChatEvent.TURNS)
        return removed

    def undo_delete(self, removed: turns.Removed) -> None:
        changed = turns.put_back(self.conversation, removed)
        self.context.history.save_soon(self.conversation, changed)
        self._tell(ChatEvent.TURNS)

    def select_version(self, node_id: str) -> None:
        if self.busy:
            return
        self.conversation.select(node_id)
        self.gauge = stored_gauge(self.conversation.path())
        self.context.history.save_soon(self.conversation)
        self._tell(ChatEvent.TURNS)
        self._tell(ChatEvent.GAUGE)

    def drop_oldest(self, count: int = 1) -> bool:
        if self.busy or not turns.drop_oldest(self.conversation, count):
            return False
        self.context.history.save_soon(self.conversation)
        self._tell(ChatEvent.TURNS)
        return True

    def change_settings(self, settings: ChatSettings) -> None:
        """Takes effect with the next message."""
        if settings != self.settings:
            self.conversation.settings = settings
            self.context.history.save_soon(self.conversation)
            self._tell(ChatEvent.SETTINGS)

    def rename(self, title: str) -> None:
        self.conversation.title = title
        self.conversation.custom_title = bool(title)
        self.context.history.save_soon(self.conversation)
        self._tell(ChatEvent.SETTINGS)

    def set_draft(self, text: str) -> None:
        if text != self.conversation.draft:
            self.conversation.draft = text
            self.context.history.save_soon(self.conversation)

    def set_draft_files(self, files: tuple[Attachment, ...]) -> None:
        """What is attached to the message in the box; kept like the draft."""
        if files != self.conversation.draft_files:
            self.conversation.draft_files = files
            self.context.history.save_soon(self.conversation)

    def look_again(self) -> None:
        """Tells that what a busy chat waits for is another thing now."""
        if self.busy:
            self._tell(ChatEvent.STATE)

    def _go(self, state: ChatState) -> None:
        if state is not self.state:
            self.state = step(self.state, state)
            self.last_sign = time.monotonic()
            self._tell(ChatEvent.STATE)

    def _tell(self, event: ChatEvent) -> None:
        for listener in list(self._listeners):
            listener(event)
