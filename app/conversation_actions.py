"""Rename, pin and delete conversations, open or not, with Undo. Main thread."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from app.conversation import Conversation
from app.notices import Action, Notice
from ui import strings
from ui import strings_history as words
from ui.dialogs import ask_text
from ui.main_window import MainWindow

if TYPE_CHECKING:
    from app.history_controller import HistoryController
    from app.services import Services

UNDO_S = 15.0


class ConversationActions(QObject):
    """What the sidebar's menu and the Chat menu ask for."""

    def __init__(self, window: MainWindow, services: Services, owner: HistoryController) -> None:
        super().__init__(window)
        self._window = window
        self._services = services
        self._owner = owner
        side, run = owner.sidebar, owner.run
        side.rename_requested.connect(lambda key, title: run(self.rename(key, title)))
        side.pin_requested.connect(lambda key, on: run(self.pin(key, on)))
        side.delete_requested.connect(lambda key: run(self.delete(key)))
        window.on_action("rename_chat", lambda: run(self._rename_current()))
        window.on_action("delete_chat", self._delete_current)

    async def rename(self, key: str, title: str) -> None:
        chat = self._services.chats.chat(key)
        if chat is not None:
            chat.rename(title)
            return
        conversation = await self._services.history.load(key)
        if conversation is not None:
            conversation.title, conversation.custom_title = title, True
            self._services.history.save_soon(conversation)
            self._owner.show(conversation)

    async def pin(self, key: str, on: bool) -> None:
        conversation = await self._owner.get(key)
        if conversation is not None:
            conversation.pinned = on
            self._services.history.save_soon(conversation)
            self._owner.show(conversation)

    async def delete(self, key: str) -> None:
        """Hides a conversation and offers Undo; it is purged when the program ends."""
        conversation = await self._owner.get(key)
        if conversation is None:
            return
        was_open = self._services.chats.chat(key) is not None
        self._services.history.save_soon(conversation)
        self._services.history.delete(key)
        if was_open:
            self._services.chats.close(key)
        self._owner.forget_closed(key)
        self._owner.sidebar.remove(key)
        title = conversation.title or words.UNTITLED
        undo = Action(
            strings.UNDO,
            lambda: self._owner.run(self._undelete(conversation, was_open)),
            primary=True,
        )
        self._services.notices.post(
            Notice(
                f"deleted_{key}",
                words.DELETED.format(title=title),
                actions=(undo,),
                seconds=UNDO_S,
            )
        )

    async def _undelete(self, conversation: Conversation, was_open: bool) -> None:
        self._services.history.restore(conversation.id)
        self._owner.show(conversation)
        if was_open:
            await self._owner.open(conversation.id)

    def _delete_current(self) -> None:
        chat = self._services.chats.current()
        if chat is not None and chat.conversation.nodes:
            self._owner.run(self.delete(chat.key))

    async def _rename_current(self) -> None:
        chat = self._services.chats.current()
        if chat is None:
            return
        title = await ask_text(
            self._window, words.RENAME, "", chat.conversation.title or words.UNTITLED
        )
        if title and title.strip():
            await self.rename(chat.key, " ".join(title.split())[:200])
