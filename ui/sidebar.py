"""The sidebar: new chat, search, all conversations by day, and what can be done with each.

Shows `ChatItem`s and emits what a person asks for; it changes nothing itself. Main thread.
Keys in the list: Enter opens, F2 renames, Delete deletes, the menu key opens the menu.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from PySide6.QtCore import QEvent, QModelIndex, QObject, QPoint, Qt, QTimer, Signal
from PySide6.QtGui import QContextMenuEvent, QKeyEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QLineEdit,
    QListView,
    QMenu,
    QSizePolicy,
    QVBoxLayout,
)

from ui import strings
from ui import strings_history as words
from ui.controls import label, primary_button
from ui.file_drops import let_files_through
from ui.icons import icon
from ui.input_method import KeysOfInputMethod
from ui.sidebar_delegate import SidebarDelegate
from ui.sidebar_model import ChatItem, HitItem, SidebarModel
from ui.theme import theme

SEARCH_DELAY_MS = 160
WIDTH = 248


class ChatList(QListView):
    """The list itself; tells which row a key or the menu means."""

    opened = Signal(QModelIndex)
    delete_pressed = Signal(QModelIndex)
    menu_asked = Signal(QModelIndex, QPoint)

    def __init__(self, model: SidebarModel) -> None:
        super().__init__()
        self.setModel(model)
        self.setUniformItemSizes(True)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.EditKeyPressed)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.setMouseTracking(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setAccessibleName(words.CONVERSATIONS)
        self.viewport().setAutoFillBackground(False)
        self.setStyleSheet("QListView { background: transparent; }")
        self.clicked.connect(self.opened)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        index = self.currentIndex()
        if self.state() != QAbstractItemView.State.EditingState and index.isValid():
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                self.opened.emit(index)
                return
            if event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
                self.delete_pressed.emit(index)
                return
        super().keyPressEvent(event)

    def event(self, event: QEvent) -> bool:
        """F2 and Delete mean the row here, not the conversation in front (menu Chat)."""
        asked = isinstance(event, QKeyEvent) and event.type() == QEvent.Type.ShortcutOverride
        if asked and event.key() in (Qt.Key.Key_F2, Qt.Key.Key_Delete):  # type: ignore[attr-defined]
            event.accept()
            return True
        return super().event(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        by_mouse = event.reason() == QContextMenuEvent.Reason.Mouse
        index = self.indexAt(event.pos()) if by_mouse else self.currentIndex()
        if index.isValid():
            at = event.pos() if by_mouse else self.visualRect(index).center()
            self.menu_asked.emit(index, self.viewport().mapToGlobal(at))


class Sidebar(QFrame):
    """`set_items`, `put`, `remove`, `set_hits` fill it; `set_current` marks the chat in front."""

    new_chat_requested = Signal()
    chat_opened = Signal(str)
    hit_opened = Signal(str, str, str)
    """Conversation id, node id ("" for a title), the words searched for."""
    search_changed = Signal(str)
    rename_requested = Signal(str, str)
    pin_requested = Signal(str, bool)
    export_requested = Signal(str, str)
    """Conversation id and "markdown", "json" or "pdf"."""
    delete_requested = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("sidebar")
        self.setAccessibleName(words.CONVERSATIONS)
        self.model = SidebarModel()
        self.model.renamed.connect(self.rename_requested)
        self._current = ""
        self.new_chat = primary_button(words.NEW_CHAT, self.new_chat_requested.emit)
        self.new_chat.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.new_chat.setToolTip(f"{words.NEW_CHAT} (Ctrl+N)")
        self.search = QLineEdit()
        let_files_through(self.search)
        self.search.setPlaceholderText(words.SEARCH_CHATS)
        self.search.setAccessibleName(words.SEARCH_CHATS)
        self.search.setToolTip(f"{words.SEARCH_CHATS} (Ctrl+Shift+F)")
        self.search.setClearButtonEnabled(True)
        self.search.installEventFilter(self)
        KeysOfInputMethod(self.search)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(SEARCH_DELAY_MS)
        self._timer.timeout.connect(lambda: self.search_changed.emit(self.search.text()))
        self.search.textChanged.connect(self._on_typed)
        self.list = ChatList(self.model)
        self.list.setItemDelegate(SidebarDelegate(self.list))
        self.list.opened.connect(self._on_opened)
        self.list.delete_pressed.connect(self._on_delete)
        self.list.menu_asked.connect(self._on_menu)
        self.empty = label("", "muted", wrap=True)
        self.empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.privacy = label(strings.PRIVACY_LINE, "small", wrap=True)
        self._lay_out()
        self.model.modelReset.connect(self._on_reset)
        theme().changed.connect(self._on_theme)
        self._on_reset()
        self._on_theme()

    def _lay_out(self) -> None:
        body = QVBoxLayout(self)
        body.setContentsMargins(12, 12, 12, 12)
        body.setSpacing(8)
        body.addWidget(self.new_chat)
        body.addWidget(self.search)
        body.addWidget(self.empty)
        body.addWidget(self.list, 1)
        body.addWidget(self.privacy)

    # -- what it shows ---------------------------------------------------------------

    def set_items(self, items: Iterable[ChatItem]) -> None:
        self.model.set_items(items)

    def put(self, item: ChatItem) -> None:
        self.model.put(item)

    def remove(self, item_id: str) -> ChatItem | None:
        return self.model.remove(item_id)

    def set_hits(self, query: str, hits: Iterable[HitItem]) -> None:
        """Results of the search for `query`; ignored when the box says something else now."""
        if query == self.search.text() and query.strip():
            self.model.set_hits(hits)

    def set_current(self, item_id: str) -> None:
        """Marks the conversation in front ("" for none)."""
        self._current = item_id
        self._select_current()

    def focus_search(self) -> None:
        self.search.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.search.selectAll()

    def rename(self, item_id: str) -> None:
        """Opens the title for editing in place."""
        index = self.model.index_of(item_id)
        if index.isValid():
            self.list.setCurrentIndex(index)
            self.list.edit(index)

    def _select_current(self) -> None:
        index = self.model.index_of(self._current)
        if index.isValid():
            self.list.setCurrentIndex(index)
        else:
            self.list.clearSelection()
            self.list.setCurrentIndex(QModelIndex())

    def _on_reset(self) -> None:
        empty = self.model.rowCount() == 0
        self.list.setVisible(not empty)
        self.empty.setVisible(empty)
        layout = self.layout()
        if isinstance(layout, QVBoxLayout):
            layout.setStretchFactor(self.empty, 1 if empty else 0)
        query = self.search.text().strip()
        self.empty.setText(words.NO_HITS.format(query=query) if query else words.NO_CHATS)
        if not self.model.searching:
            self._select_current()

    def _on_theme(self) -> None:
        self.list.scheduleDelayedItemsLayout()

    # -- what a person does ----------------------------------------------------------

    def _on_typed(self, text: str) -> None:
        if text.strip():
            self._timer.start()
        else:
            self._timer.stop()
            self.model.set_hits(None)
            self.search_changed.emit("")

    def _on_opened(self, index: QModelIndex) -> None:
        row = self.model.row(index)
        if isinstance(row, ChatItem):
            self.chat_opened.emit(row.id)
        elif isinstance(row, HitItem):
            self.hit_opened.emit(row.id, row.node, self.search.text())

    def _on_delete(self, index: QModelIndex) -> None:
        row = self.model.row(index)
        if isinstance(row, ChatItem | HitItem):
            self.delete_requested.emit(row.id)

    def menu_for(self, item: ChatItem | HitItem) -> QMenu:
        """The context menu of one conversation."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        pinned = isinstance(item, ChatItem) and item.pinned
        name = item.id
        menu.addAction(words.OPEN, lambda: self.chat_opened.emit(name))
        if isinstance(item, ChatItem):
            rename = menu.addAction(icon("edit"), words.RENAME, lambda: self.rename(name))
            rename.setShortcut(Qt.Key.Key_F2)
            menu.addAction(
                icon("pin"),
                words.UNPIN if pinned else words.PIN,
                lambda: self.pin_requested.emit(name, not pinned),
            )
        menu.addSeparator()
        for text, form in (
            (words.EXPORT_MARKDOWN, "markdown"),
            (words.EXPORT_JSON, "json"),
            (words.SAVE_PDF, "pdf"),
        ):
            action = menu.addAction(text)
            action.setData(form)
            action.triggered.connect(partial(self.export_requested.emit, name, form))
        menu.addSeparator()
        delete = menu.addAction(
            icon("trash", "bad"), words.DELETE, lambda: self.delete_requested.emit(name)
        )
        delete.setShortcut(Qt.Key.Key_Delete)
        return menu

    def _on_menu(self, index: QModelIndex, at: QPoint) -> None:
        row = self.model.row(index)
        if isinstance(row, ChatItem | HitItem):
            self.menu_for(row).popup(at)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self.search and isinstance(event, QKeyEvent):
            if event.type() == QEvent.Type.KeyPress and event.key() == Qt.Key.Key_Escape:
                if self.search.text():
                    self.search.clear()
                    return True
            elif event.type() == QEvent.Type.KeyPress and event.key() in (
                Qt.Key.Key_Down,
                Qt.Key.Key_Return,
            ):
                self._enter_list()
                return True
        return super().eventFilter(watched, event)

    def _enter_list(self) -> None:
        if self.model.rowCount() > 1:
            if not self.list.currentIndex().isValid():
                self.list.setCurrentIndex(self.model.index(1))
            self.list.setFocus(Qt.FocusReason.TabFocusReason)
