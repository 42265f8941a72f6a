"""Find in chat: joins the find bar with the page in front. Main thread."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from app.history_search import words as words_of
from ui.conversation_page import ConversationPage
from ui.find_bar import FindBar
from ui.main_window import MainWindow

if TYPE_CHECKING:
    from app.services import Services


class FindController(QObject):
    """One bar for all conversations; changing the tab searches the other page."""

    def __init__(self, window: MainWindow, services: Services) -> None:
        super().__init__(window)
        self._window = window
        self._chats = services.chats
        self._page: ConversationPage | None = None
        self._count = 0
        self._at = 0
        self.bar = FindBar()
        window.chat.set_find_bar(self.bar)
        window.on_action("find", self.open)
        self.bar.query_changed.connect(lambda text: self._search(text))
        self.bar.next_requested.connect(lambda: self._step(1))
        self.bar.previous_requested.connect(lambda: self._step(-1))
        self.bar.closed.connect(self._on_closed)
        services.chats.current_changed.connect(lambda _key: self._on_current())
        services.chats.closed.connect(lambda _key: self._on_page_gone())
        services.chats.changed.connect(self._on_changed)

    def open(self) -> None:
        if self._window.chat.current_page() is not None:
            self._window.select_tab("chat")
            self.bar.open()

    def open_at(self, text: str, node_id: str) -> None:
        """Opens the bar for a hit of the search over everything, at its turn."""
        found = words_of(text)
        page = self._window.chat.current_page()
        if not found or page is None:
            return
        term = text.strip()
        if len(found) > 1 and not any(term.lower() in t.text.lower() for t in page.turns()):
            term = max(found, key=len)
        self.bar.open(term)
        before = 0
        for turn in page.turns():
            if turn.node_id == node_id:
                break
            before += turn.text.lower().count(term.lower())
        self._search(term, start=before)

    def _search(self, text: str, start: int = 0) -> None:
        page = self._window.chat.current_page()
        if page is not self._page and self._page is not None:
            self._page.highlight("")
        self._page = page
        if page is None:
            return
        self._count = page.highlight(text) if text else 0
        self._at = min(start, max(0, self._count - 1))
        self._show()

    def _show(self) -> None:
        if self._count and self._page is not None:
            self._page.goto(self._at)
            self.bar.set_count(self._at + 1, self._count)
        else:
            self.bar.set_count(0, 0)

    def _step(self, step: int) -> None:
        if self._count:
            self._at = (self._at + step) % self._count
            self._show()

    def _on_closed(self) -> None:
        if self._page is not None:
            self._page.highlight("")
            self._page.focus_composer()
        self._page = None
        self._count = 0

    def _on_current(self) -> None:
        if self.bar.isVisible() and self.bar.field.text():
            self._search(self.bar.field.text())

    def _on_page_gone(self) -> None:
        """The page of a closed tab is deleted by Qt; nothing may be called on it."""
        self._page = None

    def _on_changed(self, key: str) -> None:
        """An answer ended or a turn changed: the number of matches may be another."""
        chat = self._chats.chat(key)
        page = self._window.chat.page(key)
        text = self.bar.field.text()
        if page is None or page is not self._page or chat is None or chat.busy or not text:
            return
        if self.bar.isVisible():
            self._count = page.highlight(text)
            self._at = min(self._at, max(0, self._count - 1))
            self.bar.set_count(self._at + 1 if self._count else 0, self._count)
