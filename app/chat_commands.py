"""What a person does with a chat: the commands of the window and the buttons of its page.

Main thread. Reaches the chats through `ChatController`, which owns them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from app.chat import Chat
from app.notices import Action, Notice, Notices
from engine.types import SpecMode
from ui import format as fmt
from ui import strings, strings_core
from ui.conversation_page import ConversationPage
from ui.main_window import MainWindow

if TYPE_CHECKING:
    from app.chat_controller import ChatController


class ChatCommands:
    """Commands act on the chat in front, buttons on the chat of their page."""

    def __init__(self, owner: ChatController, window: MainWindow, notices: Notices) -> None:
        self._owner = owner
        self._notices = notices
        on = window.on_action
        on("new_chat", owner.new_chat)
        on("close_tab", lambda: owner.close(window.chat.current_key()))
        on("stop", lambda: self._with_current(Chat.stop))
        on("regenerate", lambda: self._with_last(self._regenerate))
        on("continue", lambda: self._with_last(Chat.continue_))
        on("toggle_spec", self._toggle_spec)

    def connect_page(self, page: ConversationPage, chat: Chat) -> None:
        key, owner = chat.key, self._owner
        page.message_sent.connect(lambda text: owner.send(key, text))
        page.stop_requested.connect(chat.stop)
        page.regenerate_requested.connect(lambda node: self._regenerate(chat, node))
        page.edit_submitted.connect(lambda node, text: self._edit(page, chat, node, text))
        page.continue_requested.connect(chat.continue_)
        page.version_selected.connect(lambda node, step: step_version(chat, node, step))
        page.turn_deleted.connect(lambda node: self._delete_turn(chat, node))
        page.spec_changed.connect(lambda mode: owner.set_spec(key, SpecMode(mode)))
        page.draft_changed.connect(lambda _text: owner.drafts.changed(chat))
        page.measure_requested.connect(owner.measure_requested)
        page.sampling_requested.connect(lambda: owner.sampling_requested.emit(key))

    def _with_current(self, act: Callable[[Chat], object]) -> None:
        chat = self._owner.current()
        if chat is not None:
            act(chat)

    def _with_last(self, act: Callable[[Chat, str], object]) -> None:
        chat = self._owner.current()
        path = chat.conversation.path() if chat is not None else []
        if chat is not None and path:
            act(chat, path[-1].id)

    def _regenerate(self, chat: Chat, node_id: str) -> None:
        node = chat.conversation.nodes[node_id]
        asked = chat.conversation.nodes.get(node.parent or "") if node.role != "user" else node
        if asked is None or self._owner.attachments_fit(asked.attachments):
            chat.regenerate(node_id)

    def _edit(self, page: ConversationPage, chat: Chat, node_id: str, text: str) -> None:
        """What the model in use cannot be asked goes into the box, so that it is not lost."""
        text = fmt.clean_text(text)
        if self._owner.attachments_fit(chat.conversation.nodes[node_id].attachments):
            chat.edit(node_id, text)
        elif not page.draft().strip():
            page.set_draft(text)
            self._owner.drafts.changed(chat)

    def _toggle_spec(self) -> None:
        chat = self._owner.current()
        speculative = self._owner.views.speculative(chat) if chat is not None else None
        if chat is not None and speculative is not None:
            self._owner.set_spec(chat.key, SpecMode.OFF if speculative else SpecMode.ON)

    def _delete_turn(self, chat: Chat, node_id: str) -> None:
        removed = chat.delete_turn(node_id)
        if removed is None:
            return
        undo = Action(strings.UNDO, lambda: chat.undo_delete(removed), primary=True)
        self._notices.post(
            Notice("turn_deleted", strings_core.TURN_DELETED, actions=(undo,), seconds=10)
        )


def step_version(chat: Chat, node_id: str, step: int) -> None:
    """Shows the next or the previous version of a turn, if there is one."""
    versions = chat.conversation.versions(node_id)
    index = versions.index(node_id) + step
    if 0 <= index < len(versions):
        chat.select_version(versions[index])
