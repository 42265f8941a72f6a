"""The Chat tab: sidebar, header, notices, conversation tabs and their pages.

Conversations are known by an opaque key. Closing a tab is only asked for
(`close_requested`); the owner removes it. Below 900 px the sidebar folds to a button.
Main thread only.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt, QUrl, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QSplitter, QStackedWidget, QVBoxLayout, QWidget

from ui import links
from ui.controls import icon_button
from ui.conversation_page import ConversationPage
from ui.conversation_tabs import ConversationTabs
from ui.notice_bar import NoticeBar
from ui.outside import open_outside
from ui.resting_pages import RestingPages
from ui.status_header import StatusHeader
from ui.theme import theme
from ui.tool_page import PageArea, SnugPage
from ui.views import TabView

FOLD_BELOW = 900
PANEL_ALONE_BELOW = 640
LIST_ALONE_BELOW = 520
"""Widths before scaling."""
COMPACT_BELOW = 330
"""Height in px at 100 % text size under which everything around the words makes room."""


def open_link(target: str) -> None:
    """Hands an address the person agreed to over to the desktop."""
    link = links.check(target)
    if link is not None:
        open_outside(QUrl.fromEncoded(link.address.encode()))


class ChatTab(QWidget):
    """Holds `ConversationPage`s by key. `current_changed(key)` follows the selected tab."""

    current_changed = Signal(str)
    close_requested = Signal(str)
    new_requested = Signal()
    tab_moved = Signal(int, int)
    sidebar_toggled = Signal(bool)

    def __init__(self) -> None:
        super().__init__()
        self.header = StatusHeader(extras=True)
        self.notices = NoticeBar()
        self.tabs = ConversationTabs()
        self._pages: dict[str, ConversationPage] = {}
        self._resting = RestingPages(self)
        self._stack = QStackedWidget()
        self._welcome: QWidget | None = None
        self._sidebar: QWidget | None = None
        self._inspector: QWidget | None = None
        self._wanted = True
        self._folded = False
        self._compact = False
        self._fold_button = icon_button("sidebar", "Show conversations", self.toggle_sidebar)
        self._fold_button.hide()
        self.header.add_left(self._fold_button)
        main = SnugPage()
        column = main.body
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        for widget in (self.header, self.notices, self.tabs):
            column.addWidget(widget)
        self._find_place = QVBoxLayout()
        column.addLayout(self._find_place)
        column.addWidget(self._stack, 1)
        self.splitter = QSplitter(Qt.Orientation.Horizontal)
        self.splitter.setChildrenCollapsible(False)
        self.splitter.setHandleWidth(1)
        # With large text in a small window the bars alone may be taller than the window.
        self._main = PageArea()
        self._main.setWidget(main)
        self.splitter.addWidget(self._main)
        self.splitter.setStretchFactor(0, 1)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(self.splitter)
        self.tabs.current_changed.connect(self._on_tab_changed)
        self.tabs.close_requested.connect(self.close_requested)
        self.tabs.new_requested.connect(self.new_requested)
        self.tabs.moved.connect(self.tab_moved)
        self.tabs.hide()
        theme().changed.connect(self._refresh_compact)

    # Places for parts made elsewhere
    def set_sidebar(self, widget: QWidget) -> None:
        """The list of conversations, on the left; remembers its width."""
        frame = QFrame()
        frame.setObjectName("sidebar")
        box = QVBoxLayout(frame)
        box.setContentsMargins(0, 0, 0, 0)
        box.addWidget(widget)
        self._sidebar = frame
        theme().changed.connect(self._fit_sidebar)
        self._fit_sidebar()
        self.splitter.insertWidget(0, frame)
        self.splitter.setStretchFactor(0, 0)
        self.splitter.setStretchFactor(1, 1)
        self.splitter.setSizes([theme().px(248), 10_000])
        self._apply_fold()

    def set_inspector(self, widget: QWidget) -> None:
        """A panel on the right (settings of the conversation); hidden until asked for."""
        self.splitter.addWidget(widget)
        widget.hide()
        self._inspector = widget
        widget.installEventFilter(self)

    def set_find_bar(self, widget: QWidget) -> None:
        """A bar between the conversation tabs and the transcript."""
        self._find_place.addWidget(widget)

    def set_welcome(self, widget: QWidget) -> None:
        """Shown while no conversation is open."""
        self._welcome = widget
        self._stack.addWidget(widget)
        if not self._pages:
            self._stack.setCurrentWidget(widget)

    # Conversations
    def add_conversation(self, view: TabView, select: bool = True) -> ConversationPage:
        """Opens a tab; an open key is only selected."""
        page = self._pages.get(view.key)
        if page is None:
            page = ConversationPage(view.key)
            page.link_activated.connect(open_link)
            page.set_compact(self._compact)
            self._pages[view.key] = page
            self._stack.addWidget(page)
            self._resting.opened(view.key, page.transcript)
            self.tabs.add(view)
            self.tabs.show()
        if select:
            self.select(view.key)
        return page

    def page(self, key: str) -> ConversationPage | None:
        return self._pages.get(key)

    def keys(self) -> list[str]:
        """Keys of the open conversations in tab order."""
        return self.tabs.keys()

    def current_key(self) -> str:
        return self.tabs.current_key()

    def current_page(self) -> ConversationPage | None:
        return self._pages.get(self.current_key())

    def set_tab(self, view: TabView) -> None:
        self.tabs.set_tab(view)

    def select(self, key: str) -> None:
        """Shows a conversation and puts the cursor into its input box."""
        if not self._main.isVisibleTo(self) and self.sidebar_visible():
            self.toggle_sidebar()  # it stood in the place of the chat
        self.tabs.select(key)
        page = self._pages.get(key)
        if page is not None:
            page.focus_composer()

    def select_next(self, step: int = 1) -> None:
        keys = self.keys()
        if keys:
            self.select(keys[(keys.index(self.current_key()) + step) % len(keys)])

    def remove_conversation(self, key: str) -> None:
        page = self._pages.pop(key, None)
        if page is None:
            return
        self._resting.closed(key)
        self.tabs.remove(key)
        self._stack.removeWidget(page)
        page.deleteLater()
        if not self._pages:
            self.tabs.hide()
            if self._welcome is not None:
                self._stack.setCurrentWidget(self._welcome)

    # Sidebar
    def sidebar_visible(self) -> bool:
        return self._sidebar is not None and self._sidebar.isVisibleTo(self)

    def toggle_sidebar(self) -> None:
        show = not self.sidebar_visible()
        if not self._folded:
            self._wanted = show
        if self._sidebar is not None:
            self._sidebar.setVisible(show)
        self._update_fold_button()
        self._apply_panel()
        self.sidebar_toggled.emit(show)

    def set_sidebar_wanted(self, on: bool) -> None:
        """Restores the remembered choice."""
        self._wanted = on
        self._apply_fold()

    def sidebar_wanted(self) -> bool:
        return self._wanted

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        folded = self.width() < theme().px(FOLD_BELOW)
        if folded != self._folded:
            self._folded = folded
            self._apply_fold()
        self._apply_panel()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._inspector and event.type() in (QEvent.Type.Show, QEvent.Type.Hide):
            self._apply_panel(event.type() == QEvent.Type.Show)
        return super().eventFilter(watched, event)

    def _apply_panel(self, shown: bool | None = None) -> None:
        """Where there is no room for both, the panel stands in the place of the chat."""
        panel = self._inspector
        shown = bool(panel is not None and panel.isVisibleTo(self)) if shown is None else shown
        alone = shown and self.width() < theme().px(PANEL_ALONE_BELOW)
        listed = self.sidebar_visible() and self.width() < theme().px(LIST_ALONE_BELOW)
        self._main.setVisible(not alone and not listed)
        self._refresh_compact()

    def _refresh_compact(self) -> None:
        compact = self.height() < theme().px(COMPACT_BELOW)
        if compact != self._compact:
            self._compact = compact
            self.header.set_compact(compact)
            self.notices.set_compact(compact)
            self.tabs.set_compact(compact)
            for page in self._pages.values():
                page.set_compact(compact)

    def _fit_sidebar(self) -> None:
        if self._sidebar is not None:
            self._sidebar.setMinimumWidth(theme().px(200))
            self._sidebar.setMaximumWidth(theme().px(420))

    def _apply_fold(self) -> None:
        if self._sidebar is not None:
            self._sidebar.setVisible(self._wanted and not self._folded)
        self._update_fold_button()

    def _update_fold_button(self) -> None:
        visible = self.sidebar_visible()
        self._fold_button.setVisible(self._sidebar is not None and (self._folded or not visible))
        name = "Hide conversations" if visible else "Show conversations"
        self._fold_button.setAccessibleName(name)
        self._fold_button.setToolTip(f"{name} (Ctrl+B)")

    def _on_tab_changed(self, key: str) -> None:
        page = self._pages.get(key)
        if page is not None:
            self._stack.setCurrentWidget(page)
            self._resting.shown(key, page.transcript)
            self.current_changed.emit(key)
