"""Joins the sidebar, the history store and the open conversations.

Main thread. `attach` makes the widgets; `start` opens the store and brings back the tabs
that were open. The open chats belong to `ChatController`; a conversation that is not open
is loaded, changed and saved here.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Coroutine
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer

from app.attachments_controller import AttachmentsController
from app.chat import Chat
from app.conversation import Conversation
from app.conversation_actions import ConversationActions
from app.find_controller import FindController
from app.history import OpenTabs
from app.inspector_controller import InspectorController
from app.kept_tasks import tell_failure
from app.notices import Level, Notice
from app.settings_controller import SettingsController
from app.transfer_controller import TransferController
from ui import strings_history
from ui import strings_history as words
from ui.main_window import MainWindow
from ui.sidebar import Sidebar
from ui.sidebar_model import ChatItem, HitItem

if TYPE_CHECKING:
    from app.services import Services

log = logging.getLogger(__name__)

MINUTE_MS = 60_000
MAX_CLOSED = 20


def attach(window: MainWindow, services: Services) -> HistoryController:
    """Builds the sidebar, find bar, inspector, settings, palette, export and attachments."""
    return HistoryController(window, services)


class HistoryController(QObject):
    """See the module text."""

    def __init__(self, window: MainWindow, services: Services) -> None:
        super().__init__(window)
        self._window = window
        self._services = services
        self._history = services.history
        self._chats = services.chats
        self._tasks: set[asyncio.Task[object]] = set()
        self._closed: list[str] = []
        self._tabs: OpenTabs | None = None
        self.ready = False
        """True once the tabs of the last time are back."""
        self._days = QTimer(self)
        self._history.on_problem = self._on_problem
        self.sidebar = Sidebar()
        window.set_sidebar(self.sidebar)
        self.find = FindController(window, services)
        self.inspector = InspectorController(window, services, self.run)
        self.attachments = AttachmentsController(window, services, self.run)
        self.transfer = TransferController(window, services, self)
        self.actions = ConversationActions(window, services, self)
        self.settings = SettingsController(window, services, self)
        self._connect()

    def run(self, work: Coroutine[object, object, object]) -> None:
        """Keeps a task until it ends; a failure is told."""
        task = asyncio.get_running_loop().create_task(self._told(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(tell_failure)

    async def _told(self, work: Coroutine[object, object, object]) -> None:
        """A history that cannot be read is one sentence; writing tells by itself."""
        try:
            await work
        except sqlite3.Error as problem:
            log.warning("the history could not be read: %s", problem)
            self._on_problem("history_not_read", {"detail": str(problem)})

    def _connect(self) -> None:
        side, chats = self.sidebar, self._chats
        side.new_chat_requested.connect(chats.new_chat)
        side.chat_opened.connect(lambda key: self.run(self.open(key)))
        side.hit_opened.connect(lambda key, node, text: self.run(self._open_hit(key, node, text)))
        side.search_changed.connect(lambda text: self.run(self._search(text)))
        side.export_requested.connect(
            lambda key, form: self.run(self.transfer.export_one(key, form))
        )
        chats.opened.connect(lambda _key: self._keep_tabs())
        chats.closed.connect(self._on_closed)
        chats.changed.connect(self._on_changed)
        chats.current_changed.connect(self._on_current)
        chats.drafted.connect(lambda _key: self._keep_tabs())
        self._window.chat.tab_moved.connect(lambda _a, _b: self._keep_tabs())
        on = self._window.on_action
        on("find_everywhere", self._find_everywhere)
        on("reopen_tab", lambda: self.run(self._reopen()))
        self._days.setInterval(MINUTE_MS)
        self._days.timeout.connect(self._on_minute)
        self._days.start()

    # -- start and end ---------------------------------------------------------------

    async def start(self) -> None:
        """Opens the store, fills the sidebar and brings back the open tabs."""
        report = await self._history.open()
        summaries = await self._history.summaries()
        self.sidebar.set_items(
            ChatItem(id=s.id, title=s.title, updated=s.updated, pinned=s.pinned, preview=s.preview)
            for s in summaries
        )
        tabs = await self._history.open_tabs()
        known = {s.id for s in summaries}
        blank = self._chats.current()
        for key in tabs.ids:
            conversation = await self._history.load(key) if key in known else None
            if conversation is not None:
                self._chats.open(conversation, select=False)
        if self._chats.chat(tabs.selected) is not None:
            self._window.chat.select(tabs.selected)
        elif not self._chats.chats:
            self._chats.new_chat()
        if blank is not None and len(self._chats.chats) > 1:
            self._drop_blank(blank)
        self.ready = True
        self._on_current(self._window.chat.current_key())
        if report.interrupted:
            self._services.notices.post(
                Notice("history_interrupted", words.INTERRUPTED_NOTE, seconds=12)
            )
        in_use = await self._history.files_in_use()
        await self.attachments.sweep(in_use)

    def _drop_blank(self, blank: Chat) -> None:
        """Closes the empty chat the window started with, unless something was typed."""
        page = self._chats.page(blank.key)
        typed = page is not None and page.draft()
        if blank.conversation.blank and not typed:
            self._chats.close(blank.key)
            self.forget_closed(blank.key)

    async def stop(self) -> bool:
        """Writes everything and ends the history thread; False when something was lost."""
        self.ready = False
        self._days.stop()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=2)
        return await self._history.close()

    def _on_problem(self, code: str, params: dict[str, str]) -> None:
        text = strings_history.problem(code, params)
        if code == "history_saved_again":
            self._services.notices.dismiss("history_not_saved")
            self._services.notices.post(Notice(code, text, seconds=6))
            return
        self._services.notices.post(Notice(code, text, level=Level.WARNING))

    # -- opening ---------------------------------------------------------------------

    async def open(self, key: str) -> Chat | None:
        """Opens a conversation in a tab, loading it when needed."""
        chat = self._chats.chat(key)
        if chat is not None:
            return self._chats.open(chat.conversation)
        conversation = await self._history.load(key)
        if conversation is None:
            self.sidebar.remove(key)
            return None
        return self._chats.open(conversation)

    async def get(self, key: str) -> Conversation | None:
        """A conversation, open or not."""
        chat = self._chats.chat(key)
        return chat.conversation if chat is not None else await self._history.load(key)

    async def _open_hit(self, key: str, node: str, text: str) -> None:
        chat = await self.open(key)
        if chat is None:
            return
        if node:
            show_node(chat, node)
            self.find.open_at(text, node)

    async def _search(self, text: str) -> None:
        if not text.strip():
            return
        hits = await self._history.search(text)
        self.sidebar.set_hits(
            text,
            [
                HitItem(
                    id=h.conversation, title=h.title, node=h.node, snippet=h.snippet, marks=h.marks
                )
                for h in hits
            ],
        )

    def forget_closed(self, key: str) -> None:
        """A closed tab that cannot be reopened any more."""
        self._closed = [k for k in self._closed if k != key]

    async def _reopen(self) -> None:
        while self._closed:
            if await self.open(self._closed.pop()) is not None:
                return

    # -- following the chats ---------------------------------------------------------

    def imported(self, conversations: list[Conversation]) -> None:
        for conversation in conversations:
            self.show(conversation)

    def show(self, conversation: Conversation, busy: bool = False) -> None:
        self.sidebar.put(item_of(conversation, busy))

    def _on_changed(self, key: str) -> None:
        chat = self._chats.chat(key)
        if chat is not None and chat.conversation.nodes:
            new = key not in self.sidebar.model.items()
            self.show(chat.conversation, chat.busy)
            if new:
                self._keep_tabs()
                self.sidebar.set_current(self._window.chat.current_key())

    def _on_current(self, key: str) -> None:
        self.sidebar.set_current(key)
        self._keep_tabs()

    def _on_closed(self, key: str) -> None:
        self._closed = [*self._closed, key][-MAX_CLOSED:]
        item = self.sidebar.model.items().get(key)
        if item is not None and item.busy:
            self.sidebar.put(
                ChatItem(
                    id=item.id,
                    title=item.title,
                    updated=item.updated,
                    pinned=item.pinned,
                    preview=item.preview,
                )
            )
        self._keep_tabs()

    def _keep_tabs(self) -> None:
        """Remembers which conversations are open; empty ones are not worth coming back."""
        if not self.ready:
            return
        keys = tuple(c.key for c in self._chats.chats if not c.conversation.blank)
        current = self._window.chat.current_key()
        tabs = OpenTabs(keys, current if current in keys else "")
        if tabs != self._tabs:
            self._tabs = tabs
            self._history.set_open_tabs(tabs)

    def _find_everywhere(self) -> None:
        if not self._window.chat.sidebar_visible():
            self._window.chat.toggle_sidebar()
        self._window.select_tab("chat")
        self.sidebar.focus_search()

    def _on_minute(self) -> None:
        """Past midnight today's conversations are yesterday's."""
        if not self.sidebar.model.searching and self.sidebar.model.stale():
            self.sidebar.model.regroup()


def item_of(conversation: Conversation, busy: bool = False) -> ChatItem:
    return ChatItem(
        id=conversation.id,
        title=conversation.title,
        updated=conversation.updated,
        pinned=conversation.pinned,
        busy=busy,
    )


def show_node(chat: Chat, node_id: str) -> None:
    """Makes the active path go through a turn, whatever version it belongs to."""
    nodes = chat.conversation.nodes
    wanted: list[str] = []
    at: str | None = node_id
    while at is not None and at in nodes:
        wanted.append(at)
        at = nodes[at].parent
    on_path = {n.id for n in chat.conversation.path()}
    for name in reversed(wanted):
        if name not in on_path:
            chat.select_version(name)
