"""The window: menus, the row of tabs, one page per tab, and the chat inside the first.

It shows values and emits signals; controllers fill it. `close_requested` is emitted when the
person wants to quit; the window closes only after `allow_close()`, so that quitting can be
staged. Main thread only.
"""

from __future__ import annotations

import base64
from collections.abc import Callable

from PySide6.QtCore import QByteArray, Qt, Signal
from PySide6.QtGui import (
    QAction,
    QCloseEvent,
    QDragEnterEvent,
    QDropEvent,
    QKeySequence,
    QShowEvent,
)
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QMainWindow,
    QStackedWidget,
    QTabBar,
    QVBoxLayout,
    QWidget,
)

from ui import accessible, strings
from ui.actions import MENUS, SEPARATOR, ActionSpec
from ui.chat_tab import ChatTab
from ui.controls import button
from ui.icons import app_icon
from ui.notice_bar import NoticeBar
from ui.status_header import StatusHeader
from ui.views import HeaderView, NoticeView

CHAT = "chat"


class MainWindow(QMainWindow):
    """`add_tab(key, title, widget)` adds a page with its own header and notice bar; `widget`
    may be a function that makes it when the tab is first opened (heavy imports)."""

    close_requested = Signal()
    tab_changed = Signal(str)
    switch_model_requested = Signal()
    cancel_load_requested = Signal()
    model_dropped = Signal(str)
    notice_action = Signal(str, str)
    notice_dismissed = Signal(str)
    first_shown = Signal()

    def __init__(self) -> None:
        accessible.install()
        super().__init__()
        self.setWindowTitle(strings.APP_NAME)
        self.setWindowIcon(app_icon())
        self.setAcceptDrops(True)
        self.resize(1280, 800)
        self.setMinimumSize(560, 420)
        self._may_close = False
        self._was_shown = False
        self._keys: list[str] = []
        self._factories: dict[str, Callable[[], QWidget]] = {}
        self._headers: dict[str, StatusHeader] = {}
        self._notice_bars: list[NoticeBar] = []
        self._places: dict[str, QVBoxLayout] = {}
        self._widgets: dict[str, QWidget] = {}
        self.actions_by_name: dict[str, QAction] = {}
        self.tab_bar = QTabBar()
        self.tab_bar.setObjectName("maintabs")
        self.tab_bar.setAccessibleName("Sections")
        self.tab_bar.setDrawBase(False)
        self.tab_bar.setExpanding(False)
        self.tab_bar.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.tab_bar.currentChanged.connect(self._on_tab_changed)
        self._stack = QStackedWidget()
        self.settings_button = button("Settings", "flat13", self._on_settings)
        self.settings_button.setToolTip("Settings (Ctrl+,)")
        self._build_menus()
        self._build_body()
        self.chat = ChatTab()
        self._register(CHAT, "Chat", self.chat, self.chat.header, self.chat.notices)
        self._widgets[CHAT] = self.chat
        self._connect_own_actions()

    def _build_body(self) -> None:
        top = QFrame()
        top.setObjectName("topbar")
        row = QHBoxLayout(top)
        row.setContentsMargins(12, 0, 16, 0)
        row.addWidget(self.tab_bar)
        row.addStretch(1)
        row.addWidget(self.settings_button)
        center = QWidget()
        center.setObjectName("window")
        body = QVBoxLayout(center)
        body.setContentsMargins(0, 0, 0, 0)
        body.setSpacing(0)
        body.addWidget(top)
        body.addWidget(self._stack, 1)
        self.setCentralWidget(center)

    # Tabs
    def add_tab(
        self, key: str, title: str, widget: QWidget | Callable[[], QWidget]
    ) -> StatusHeader:
        """Adds a section at the end of the row; returns its header line."""
        header, notices = StatusHeader(), NoticeBar()
        page = QWidget()
        page.setProperty("kind", "panel")
        page.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        body = QVBoxLayout(page)
        body.setContentsMargins(0, 0, 0, 0)
        body.setSpacing(0)
        body.addWidget(header)
        body.addWidget(notices)
        self._places[key] = body
        if isinstance(widget, QWidget):
            body.addWidget(widget, 1)
            self._widgets[key] = widget
        else:
            self._factories[key] = widget
        self._register(key, title, page, header, notices)
        header.set_view(self.chat.header.view())
        return header

    def _register(
        self, key: str, title: str, page: QWidget, header: StatusHeader, notices: NoticeBar
    ) -> None:
        self._keys.append(key)
        self._headers[key] = header
        self._notice_bars.append(notices)
        header.switch_requested.connect(self.switch_model_requested)
        header.cancel_requested.connect(self.cancel_load_requested)
        notices.action_triggered.connect(self._on_notice_action)
        notices.dismissed.connect(self._on_notice_dismissed)
        self._stack.addWidget(page)
        self.tab_bar.addTab(title)

    def tab_widget(self, key: str) -> QWidget | None:
        """The widget of a section, None while it was not opened yet."""
        return self._widgets.get(key)

    def select_tab(self, key: str) -> None:
        self.tab_bar.setCurrentIndex(self._keys.index(key))

    def current_tab(self) -> str:
        return self._keys[self.tab_bar.currentIndex()]

    def header(self, key: str) -> StatusHeader:
        return self._headers[key]

    def set_header(self, view: HeaderView) -> None:
        """Shows one state in every header."""
        for header in self._headers.values():
            header.set_view(view)

    def set_sidebar(self, widget: QWidget) -> None:
        self.chat.set_sidebar(widget)

    # Notices
    def show_notice(self, notice: NoticeView) -> None:
        """Shows a notice under every header; the same id replaces."""
        for bar in self._notice_bars:
            bar.show_notice(notice)

    def clear_notice(self, notice_id: str) -> None:
        for bar in self._notice_bars:
            bar.clear(notice_id)

    # Actions
    def action(self, name: str) -> QAction:
        return self.actions_by_name[name]

    def on_action(self, name: str, slot: Callable[[], object]) -> QAction:
        """Connects a command and makes it visible."""
        action = self.actions_by_name[name]
        action.triggered.connect(lambda _=False: slot())
        action.setVisible(True)
        action.setEnabled(True)
        return action

    def _build_menus(self) -> None:
        for title, specs in MENUS:
            menu = self.menuBar().addMenu(title)
            for spec in specs:
                if spec is SEPARATOR:
                    menu.addSeparator()
                else:
                    menu.addAction(self._make_action(spec))

    def _make_action(self, spec: ActionSpec) -> QAction:
        action = QAction(spec.text, self)
        action.setObjectName(spec.name)
        action.setShortcuts([QKeySequence(k) for k in spec.keys])
        action.setCheckable(spec.checkable)
        action.setVisible(False)
        action.setEnabled(False)
        self.actions_by_name[spec.name] = action
        return action

    def _connect_own_actions(self) -> None:
        self.on_action("quit", self.close)
        self.on_action("sidebar", self.chat.toggle_sidebar)
        self.on_action("next_tab", lambda: self.chat.select_next(1))
        self.on_action("previous_tab", lambda: self.chat.select_next(-1))
        self.on_action("fullscreen", self._toggle_fullscreen)
        self.on_action("edit_last", self._edit_last)
        self.on_action("copy_last", self._copy_last)
        self.on_action("switch_model", self.switch_model_requested.emit)

    def _edit_last(self) -> None:
        page = self.chat.current_page()
        if page is not None:
            page.edit_last()

    def _copy_last(self) -> None:
        page = self.chat.current_page()
        answers = [t for t in page.turns() if t.role == "assistant"] if page else []
        if page is not None and answers:
            page.transcript.copy_text(answers[-1].text)

    def _toggle_fullscreen(self) -> None:
        if self.isFullScreen():
            self.showNormal()
        else:
            self.showFullScreen()

    # Layout that is remembered
    def layout_state(self) -> dict[str, str]:
        """Window geometry and panes as texts for the settings file."""
        return {
            "geometry": base64.b64encode(self.saveGeometry().data()).decode(),
            "splitter": base64.b64encode(self.chat.splitter.saveState().data()).decode(),
            "sidebar": "1" if self.chat.sidebar_wanted() else "0",
        }

    def restore_layout(self, state: dict[str, str]) -> None:
        """Restores what `layout_state` gave; anything unreadable is ignored."""
        try:
            geometry = base64.b64decode(state.get("geometry", ""))
            splitter = base64.b64decode(state.get("splitter", ""))
        except ValueError:
            return
        if geometry:
            self.restoreGeometry(QByteArray(geometry))
        if splitter:
            self.chat.splitter.restoreState(QByteArray(splitter))
        self.chat.set_sidebar_wanted(state.get("sidebar", "1") == "1")

    def allow_close(self) -> None:
        """The next close really closes."""
        self._may_close = True

    def closeEvent(self, event: QCloseEvent) -> None:
        if self._may_close:
            event.accept()
            return
        event.ignore()
        self.close_requested.emit()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if not self._was_shown:
            self._was_shown = True
            self.first_shown.emit()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if _dropped_models(event):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        for path in _dropped_models(event)[:1]:
            event.acceptProposedAction()
            self.model_dropped.emit(path)

    def _on_tab_changed(self, index: int) -> None:
        if not 0 <= index < len(self._keys):
            return
        key = self._keys[index]
        factory = self._factories.pop(key, None)
        if factory is not None:
            widget = factory()
            self._widgets[key] = widget
            self._places[key].addWidget(widget, 1)
        self._stack.setCurrentIndex(index)
        self.tab_changed.emit(key)

    def _on_settings(self) -> None:
        self.actions_by_name["settings"].trigger()

    def _on_notice_action(self, notice_id: str, action_id: str) -> None:
        self.notice_action.emit(notice_id, action_id)

    def _on_notice_dismissed(self, notice_id: str) -> None:
        self.clear_notice(notice_id)
        self.notice_dismissed.emit(notice_id)


def _dropped_models(event: QDropEvent) -> list[str]:
    paths = [u.toLocalFile() for u in event.mimeData().urls() if u.isLocalFile()]
    return [p for p in paths if p.lower().endswith(".litertlm")]
