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
from app.chat_context import ChatContext, ChatEvent
from app.chat_offers import ChatOffers
from app.chat_page import ChatPage
from app.chat_state import ChatState
from app.conversation import Attachment, ChatSettings, Conversation
from app.notices import Action, Notice, Notices
from app.settings import SettingsStore
from app.state import AppState
from engine.types import Modality, ModelInfo, SpecMode
from ui import format as fmt
from ui import strings, strings_core
from ui.conversation_page import ConversationPage
from ui.main_window import MainWindow
from ui.views import ComposerView, SpecChoice, TabView

DRAFT_S = 1.0


class ChatController(QObject):
    """Signals carry conversation keys. `changed`: title, settings, state or turns of an open
    chat are different now."""

    opened = Signal(str)
    closed = Signal(str)
    changed = Signal(str)
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
        self._drafts: dict[str, asyncio.TimerHandle] = {}
        self.offers = ChatOffers(self, context, notices)
        self.take_attachments: Callable[[str], tuple[Attachment, ...]] = lambda _key: ()
        """Set by the attachments' owner: the pending files of a chat, taken out of the strip."""
        self.return_attachments: Callable[[str, tuple[Attachment, ...]], None] = (
            lambda _key, _files: None
        )
        self.spec_texts: Callable[[], dict[SpecMode, str]] = dict
        """Set by the benchmark: what was measured for the model in use."""
        self.attach_allowed = False
        """Set to True by the attachments' owner."""
        self._tab.new_requested.connect(self.new_chat)
        self._tab.close_requested.connect(self.close)
        self._tab.current_changed.connect(self._on_current_changed)
        state.changed.connect(self.refresh)
        settings.subscribe(lambda _settings: self._on_settings())
        self._connect_actions()

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
            if not chat.conversation.nodes and not chat.conversation.draft and settings is None:
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
        page = self._tab.add_conversation(self._tab_view(chat), select=False)
        self._connect_page(page, chat)
        page.composer.set_enter_sends(self._settings.value.enter_sends)
        page.set_empty(strings.EMPTY_CHAT_TITLE, strings.EMPTY_CHAT_TEXT)
        self._shown[chat.key] = ChatPage(chat, page)
        page.set_composer(self._composer_view(chat))
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
        self._save_draft(chat)
        self._tab.remove_conversation(key)
        self._shown.pop(key, None)
        task = asyncio.get_running_loop().create_task(self._leave(chat))
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)
        self.closed.emit(key)
        if not self._chats:
            self.new_chat()

    async def stop_all(self) -> None:
        """Stops every running answer and waits for all of them to be saved."""
        for chat in list(self._chats.values()):
            self._save_draft(chat)
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
        if not chat.send(fmt.clean_text(text), files):
            self.return_attachments(key, files)
            return False
        if page is not None:
            page.clear_draft()
        self._save_draft(chat)
        return True

    def refresh(self) -> None:
        """Shows again what depends on the engine: tabs, boxes, the chat's header parts."""
        for chat in self._chats.values():
            self._refresh_chat(chat)
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
            self._refresh_chat(chat)
            self._tell_state()
            self.changed.emit(chat.key)

    def _on_state(self, chat: Chat, page: ConversationPage) -> None:
        self._shown[chat.key].show_state()
        if chat.rejected is not None and chat.state is ChatState.FAILED:
            self.offers.message_too_long(chat, page)
        self.offers.watch(chat)

    # Views

    def _speculative(self, chat: Chat) -> bool | None:
        """None when the model in use has no drafter, so that nothing is shown."""
        options = self._context.options()
        info = self.info()
        if options is None or info is None or not info.supports_mtp:
            return None
        return chat.speculative_for(info, options.backend)

    def info(self) -> ModelInfo | None:
        """Facts of the model in use, known without waiting."""
        options = self._context.options()
        if options is None:
            return None
        return self._context.known(options.model_path)

    def _tab_view(self, chat: Chat) -> TabView:
        return TabView(
            key=chat.key,
            title=chat.conversation.title,
            speculative=self._speculative(chat),
            busy=chat.busy,
        )

    def _composer_view(self, chat: Chat) -> ComposerView:
        info = self.info()
        able = tuple(
            kind
            for kind, modality in (("image", Modality.VISION), ("audio", Modality.AUDIO))
            if modality in self._state.modalities and self.attach_allowed
        )
        name = fmt.plain(info.name) if info else strings.NO_MODEL
        return ComposerView(
            state=str(chat.state),
            can_send=self._context.options() is not None,
            spec=SpecChoice(
                available=bool(info and info.supports_mtp),
                mode=chat.settings.spec,
                texts=self.spec_texts(),
            ),
            attach=able,
            attach_reason=""
            if able
            else strings.ATTACH_REFUSED.format(model=name, kind="images or audio"),
        )

    def _refresh_chat(self, chat: Chat) -> None:
        page = self._tab.page(chat.key)
        if page is not None:
            view = self._composer_view(chat)
            if page.composer.view() != view:
                page.set_composer(view)
            tab = self._tab_view(chat)
            if self._tab.tabs.view(chat.key) != tab:
                self._tab.set_tab(tab)

    def _tell_state(self) -> None:
        chat = self.current()
        if chat is None:
            return
        info = self.info()
        self._state.set_chat(
            speculative=bool(self._speculative(chat)),
            thinking=chat.settings.thinking and bool(info and info.supports_thinking),
        )

    # What people do

    def _connect_page(self, page: ConversationPage, chat: Chat) -> None:
        key = chat.key
        page.message_sent.connect(lambda text: self.send(key, text))
        page.stop_requested.connect(chat.stop)
        page.regenerate_requested.connect(chat.regenerate)
        page.edit_submitted.connect(lambda node, text: chat.edit(node, fmt.clean_text(text)))
        page.continue_requested.connect(chat.continue_)
        page.version_selected.connect(lambda node, step: self._step_version(chat, node, step))
        page.turn_deleted.connect(lambda node: self._delete_turn(chat, node))
        page.spec_changed.connect(lambda mode: self.set_spec(key, SpecMode(mode)))
        page.draft_changed.connect(lambda _text: self._on_draft(chat))
        page.measure_requested.connect(self.measure_requested)
        page.sampling_requested.connect(lambda: self.sampling_requested.emit(key))

    def _connect_actions(self) -> None:
        on = self._window.on_action
        on("new_chat", self.new_chat)
        on("close_tab", lambda: self.close(self._tab.current_key()))
        on("stop", lambda: self._with_current(Chat.stop))
        on("regenerate", lambda: self._with_last(Chat.regenerate))
        on("continue", lambda: self._with_last(Chat.continue_))
        on("toggle_spec", self._toggle_spec)

    def _with_current(self, act: Callable[[Chat], object]) -> None:
        chat = self.current()
        if chat is not None:
            act(chat)

    def _with_last(self, act: Callable[[Chat, str], object]) -> None:
        chat = self.current()
        path = chat.conversation.path() if chat is not None else []
        if chat is not None and path:
            act(chat, path[-1].id)

    def set_spec(self, key: str, mode: SpecMode) -> None:
        """The choice of one conversation, from its next message on."""
        chat = self._chats.get(key)
        if chat is not None:
            chat.change_settings(msgspec.structs.replace(chat.settings, spec=mode))

    def _toggle_spec(self) -> None:
        chat = self.current()
        if chat is not None and self._speculative(chat) is not None:
            on = bool(self._speculative(chat))
            self.set_spec(chat.key, SpecMode.OFF if on else SpecMode.ON)

    def _step_version(self, chat: Chat, node_id: str, step: int) -> None:
        versions = chat.conversation.versions(node_id)
        index = versions.index(node_id) + step
        if 0 <= index < len(versions):
            chat.select_version(versions[index])

    def _delete_turn(self, chat: Chat, node_id: str) -> None:
        removed = chat.delete_turn(node_id)
        if removed is None:
            return
        undo = Action(strings.UNDO, lambda: chat.undo_delete(removed), primary=True)
        self._notices.post(
            Notice("turn_deleted", strings_core.TURN_DELETED, actions=(undo,), seconds=10)
        )

    def _on_draft(self, chat: Chat) -> None:
        if chat.key not in self._drafts:
            loop = asyncio.get_running_loop()
            self._drafts[chat.key] = loop.call_later(DRAFT_S, self._save_draft, chat)

    def _save_draft(self, chat: Chat) -> None:
        timer = self._drafts.pop(chat.key, None)
        if timer is not None:
            timer.cancel()
        page = self._tab.page(chat.key)
        if page is not None:
            chat.set_draft(page.draft())

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
