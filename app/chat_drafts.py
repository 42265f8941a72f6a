"""Autosave of what is typed and not sent: a second after the first change, and on leaving.

Main thread. The conversation keeps the draft; its history saves it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from app.chat import Chat
from ui.conversation_page import ConversationPage

DRAFT_S = 1.0


class ChatDrafts:
    """`page` finds the page of a chat; `saved(key)` is called after each change kept."""

    def __init__(
        self, page: Callable[[str], ConversationPage | None], saved: Callable[[str], None]
    ) -> None:
        self._page = page
        self._saved = saved
        self._timers: dict[str, asyncio.TimerHandle] = {}

    def changed(self, chat: Chat) -> None:
        if chat.key not in self._timers:
            chat.expect()
            loop = asyncio.get_running_loop()
            self._timers[chat.key] = loop.call_later(DRAFT_S, self.save, chat)

    def save(self, chat: Chat) -> None:
        timer = self._timers.pop(chat.key, None)
        if timer is not None:
            timer.cancel()
        page = self._page(chat.key)
        if page is not None and page.draft() != chat.conversation.draft:
            chat.set_draft(page.draft())
            self._saved(chat.key)
