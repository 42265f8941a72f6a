"""Joins the open conversations with their pages in the window.

Main thread. Owns the `Chat`s that are open; other controllers reach them by key and hear of
changes by the signals. Knows nothing of files of models: that is `EngineController`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec
from PySide6.QtCore import QObject, Signal

from app import presets
from app.chat import Chat
from app.chat_commands import ChatCommands
from app.chat_context import ChatContext, ChatEvent
from app.chat_drafts import ChatDrafts
from app.chat_offers import ChatOffers
from app.chat_page import ChatPage
from app.chat_state import ChatState
from app.chat_views import Box, ChatViews
from app.conversation import Attachment, ChatSettings, Conversation
from app.notices import Notices
from app.settings import SettingsStore
from app.state import AppState
from engine.types import ModelInfo, SpecMode
from ui import format as fmt
from ui import strings
from ui.conversation_page import ConversationPage
from ui.main_window import MainWindow


class ChatController(QObject):
    """Signals carry conversation keys. `changed`: title, settings, state or turns of an open
    chat are different now; `drafted`: what is not sent yet is."""

    opened = Signal(str)
    closed = Signal(str)
    changed = Signal(str)
    drafted = Signal(str)
    current_changed = Signal(str)
    measure_requested = Signal()
    sampling_requested = Signal(str)

    def __init__(
        self,
        window: MainWindow,
        context: ChatContext,
        state: AppState,
        settings: SettingsStore,
        notices: Notices,
    ) -> None:
        super().__init__(window)
        self._window = window
        self._tab = window.chat
        self._context = context
        self._state = state
        self._settings = settings
        self._notices = notices
        self._chats: dict[str, Chat] = {}
        self._leaving: set[asyncio.Task[None]] = set()
        self._shown: dict[str, ChatPage] = {}
        self._footers = settings.value.show_footer
        self.views = ChatViews(context, state)
        self.drafts = ChatDrafts(self.page, self.drafted.emit)
        self.offers = ChatOffers(self, context, notices)
        self.take_attachments: Callable[[str], tuple[Attachment, ...] | None] = lambda _key: ()
        """Set by the attachments' owner: the pending files of a chat, taken out of the strip;
        None when the model in use cannot take them."""
        self.return_attachments: Callable[[str, tuple[Attachment, ...]], None] = (
            lambda _key, _files: None
        )
        self.attachments_fit: Callable[[tuple[Attachment, ...]], bool] = lambda _files: True
        """Set by the attachments' owner: whether the model in use takes these; says why not."""
        self.spec_texts: Callable[[], dict[SpecMode, str]] = dict
        """Set by the benchmark: what was measured for the model in use."""
        self.attach_allowed = False
        """Set to True by the attachments' owner."""
        self._tab.new_requested.connect(self.new_chat)
        self._tab.close_requested.connect(self.close)
        self._tab.current_changed.connect(self._on_current_changed)
        state.changed.connect(self.refresh)
        settings.subscribe(lambda _settings: self._on_settings())
        self._commands = ChatCommands(self, window, notices)

    # What others use

    @property
    def chats(self) -> tuple[Chat, ...]:
        """The open chats in the order of their tabs."""
        keys = self._tab.keys()
        return tuple(self._chats[key] for key in keys if key in self._chats)

    def chat(self, key: str) -> Chat | None:
        return self._chats.get(key)

    def current(self) -> Chat | None:
        return self._chats.get(self._tab.current_key())

    def page(self, key: str) -> ConversationPage | None:
        return self._tab.page(key)

    def new_chat(self, settings: ChatSettings | None = None) -> Chat:
        """Opens an empty conversation; an open one that is still empty is used again."""
        for chat in self.chats:
            if chat.conversation.blank and settings is None:
                self._tab.select(chat.key)
                self._focus(chat.key)
                return chat
        return self.open(Conversation.new(settings or presets.for_new_chat(self._settings.value)))

    def open(self, conversation: Conversation, *, select: bool = True) -> Chat:
        """Opens a conversation in a tab, or selects the tab it has."""
        chat = self._chats.get(conversation.id)
        if chat is not None:
            if select:
                self._tab.select(chat.key)
            return chat
        chat = Chat(conversation, self._context)
        self._chats[chat.key] = chat
        page = self._tab.add_conversation(self.views.tab(chat), select=False)
        self._commands.connect_page(page, chat)
        page.composer.set_enter_sends(self._settings.value.enter_sends)
        page.set_empty(strings.EMPTY_CHAT_TITLE, strings.EMPTY_CHAT_TEXT)
        self._shown[chat.key] = ChatPage(chat, page)
        page.set_composer(self.views.composer(chat, self._box()))
        page.set_draft(conversation.draft)
        chat.subscribe(lambda event: self._on_event(chat, event))
        self.opened.emit(chat.key)
        if select:
            self._tab.select(chat.key)
            self._focus(chat.key)
        return chat

    def close(self, key: str) -> None:
        """Closes a tab. A running answer is stopped and saved first, out of sight."""
        chat = self._chats.pop(key, None)
        if chat is None:
            return
        self.drafts.save(chat)
        self._tab.remove_conversation(key)
        self._shown.pop(key, None)
        self.offers.closed(chat)
        task = asyncio.get_running_loop().create_task(self._leave(chat))
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)
        self.closed.emit(key)
        if not self._chats:
            self.new_chat()

    async def stop_all(self) -> None:
        """Stops every running answer and waits for all of them to be saved."""
        for chat in list(self._chats.values()):
            self.drafts.save(chat)
            chat.stop()
        await asyncio.gather(*(chat.wait() for chat in self._chats.values()))
        if self._leaving:
            await asyncio.wait(self._leaving)

    def busy(self) -> bool:
        return any(chat.busy for chat in self._chats.values())

    def has_content(self) -> bool:
        return any(chat.conversation.nodes for chat in self._chats.values())

    def send(self, key: str, text: str) -> bool:
        """Sends what is in the box of a chat, as the Send button does."""
        chat, page = self._chats[key], self._tab.page(key)
        if chat.busy:
            return False
        files = self.take_attachments(key)
        if files is None:
            return False
        if not chat.send(fmt.clean_text(text), files):
            self.return_attachments(key, files)
            return False
        if page is not None:
            page.clear_draft()
        self.drafts.save(chat)
        return True

    def refresh(self) -> None:
        """Shows again what depends on the engine: tabs, boxes, the chat's header parts."""
        box = self._box()
        for chat in self._chats.values():
            self._refresh_chat(chat, box)
        self._tell_state()

    # Events of chats

    def _on_event(self, chat: Chat, event: ChatEvent) -> None:
        page = self._tab.page(chat.key)
        if page is None or chat.key not in self._chats:
            return
        shown = self._shown[chat.key]
        if event is ChatEvent.TEXT:
            shown.stream()
        elif event is ChatEvent.GAUGE:
            shown.show_gauge()
        elif event is ChatEvent.TURNS:
            shown.show_turns()
            self.changed.emit(chat.key)
        else:
            if event is ChatEvent.STATE:
                self._on_state(chat, page)
            self._refresh_chat(chat, self._box())
            self._tell_state()
            self.changed.emit(chat.key)

    def _on_state(self, chat: Chat, page: ConversationPage) -> None:
        self._shown[chat.key].show_state()
        if chat.rejected is not None and chat.state is ChatState.FAILED:
            self.offers.message_too_long(chat, page)
        self.offers.watch(chat)

    # Views

    def info(self) -> ModelInfo | None:
        """Facts of the model in use, known without waiting."""
        return self.views.info()

    def _box(self) -> Box:
        return self.views.box(self.spec_texts(), self.attach_allowed)

    def _refresh_chat(self, chat: Chat, box: Box) -> None:
        page = self._tab.page(chat.key)
        if page is not None:
            view = self.views.composer(chat, box)
            if page.composer.view() != view:
                page.set_composer(view)
            tab = self.views.tab(chat)
            if self._tab.tabs.view(chat.key) != tab:
                self._tab.set_tab(tab)

    def _tell_state(self) -> None:
        chat = self.current()
        if chat is None:
            return
        info = self.info()
        self._state.set_chat(
            speculative=bool(self.views.speculative(chat)),
            thinking=chat.settings.thinking and bool(info and info.supports_thinking),
        )

    # Settings

    def set_spec(self, key: str, mode: SpecMode) -> None:
        """The choice of one conversation, from its next message on."""
        chat = self._chats.get(key)
        if chat is not None:
            chat.change_settings(msgspec.structs.replace(chat.settings, spec=mode))

    def _on_current_changed(self, key: str) -> None:
        self._tell_state()
        self.current_changed.emit(key)

    def _on_settings(self) -> None:
        footers = self._settings.value.show_footer
        redraw, self._footers = footers != self._footers, footers
        for key in self._chats:
            page = self._tab.page(key)
            if page is not None:
                page.composer.set_enter_sends(self._settings.value.enter_sends)
                if redraw:
                    self._shown[key].show_turns()

    def _focus(self, key: str) -> None:
        page = self._tab.page(key)
        if page is not None:
            page.focus_composer()

    async def _leave(self, chat: Chat) -> None:
        chat.stop()
        await chat.wait()
        self._context.engine.forget(chat.key)
