"""The row of open conversations: title, `spec on`/`spec off` as a pill, close, and `+`."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QSize, Qt, Signal
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QSizePolicy, QTabBar, QWidget

from ui import format as fmt
from ui import strings
from ui.controls import icon_button, pill, set_pill
from ui.views import TabView

LETTERS = 8
"""So many letters of a title more than Qt would leave are always seen."""


class _Tail(QWidget):
    """What follows a tab's title: the pill and the close button.

    A tab bar gives it the size it has, so it takes its new one when text grows or shrinks.
    """

    resized = Signal()

    def __init__(self, view: TabView) -> None:
        super().__init__()
        row = QHBoxLayout(self)
        row.setContentsMargins(2, 0, 4, 0)
        row.setSpacing(6)
        self.pill: QLabel = pill("")
        self.close_button = icon_button("close", "", size=11)
        row.addWidget(self.pill)
        row.addWidget(self.close_button)
        self.set_view(view)

    def set_view(self, view: TabView) -> None:
        shown = view.speculative is not None
        on = bool(view.speculative)
        set_pill(self.pill, strings.spec_words(on), on=on)
        self.pill.setVisible(shown)
        self.close_button.setAccessibleName(f"Close {fmt.plain(view.title, 40)}")
        self.close_button.setToolTip("Close (Ctrl+W)")
        self.adjustSize()

    def event(self, event: QEvent) -> bool:
        done = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest and self.size() != self.sizeHint():
            self.adjustSize()
            self.resized.emit()
        return done


class _Bar(QTabBar):
    """Tabs shrink only as far as their titles can still be told apart; then the row scrolls."""

    def minimumTabSizeHint(self, index: int) -> QSize:
        least, wanted = super().minimumTabSizeHint(index), self.tabSizeHint(index)
        letters = LETTERS * self.fontMetrics().averageCharWidth()
        return QSize(min(wanted.width(), least.width() + letters), least.height())


class ConversationTabs(QFrame):
    """Tabs by key. Titles are neutralised and elided; the accessible name holds the pill."""

    current_changed = Signal(str)
    close_requested = Signal(str)
    new_requested = Signal()
    moved = Signal(int, int)

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("chattabs")
        self._views: dict[str, TabView] = {}
        self.bar: QTabBar = _Bar()
        self.bar.setObjectName("chattabbar")
        self.bar.setAccessibleName("Open conversations")
        self.bar.setExpanding(False)
        self.bar.setDrawBase(False)
        self.bar.setMovable(True)
        self.bar.setUsesScrollButtons(True)
        self.bar.setElideMode(Qt.TextElideMode.ElideRight)
        self.bar.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.bar.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.bar.currentChanged.connect(self._on_current_changed)
        self.bar.tabMoved.connect(self.moved)
        self.bar.installEventFilter(self)
        self.plus = icon_button("plus", "New chat", self.new_requested.emit, size=14)
        self.plus.setToolTip("New chat (Ctrl+N)")
        self._row = row = QHBoxLayout(self)
        row.setContentsMargins(16, 8, 12, 0)
        row.setSpacing(8)
        row.addWidget(self.bar, 0, Qt.AlignmentFlag.AlignBottom)
        row.addWidget(self.plus)
        row.addStretch(1)

    def set_compact(self, on: bool) -> None:
        """Less room above, in a small window."""
        self._row.setContentsMargins(16, 1 if on else 8, 12, 0)

    def keys(self) -> list[str]:
        return [str(self.bar.tabData(i)) for i in range(self.bar.count())]

    def current_key(self) -> str:
        index = self.bar.currentIndex()
        return str(self.bar.tabData(index)) if index >= 0 else ""

    def view(self, key: str) -> TabView:
        return self._views[key]

    def add(self, view: TabView) -> None:
        self._views[view.key] = view
        blocked = self.bar.blockSignals(True)
        index = self.bar.addTab("")
        self.bar.setTabData(index, view.key)
        tail = _Tail(view)
        tail.close_button.clicked.connect(lambda _=False: self.close_requested.emit(view.key))
        tail.resized.connect(self._measure)
        self.bar.setTabButton(index, QTabBar.ButtonPosition.RightSide, tail)
        self.set_tab(view)
        self.bar.blockSignals(blocked)
        self._show_close(self.bar.currentIndex())

    def set_tab(self, view: TabView) -> None:
        index = self._index(view.key)
        if index < 0:
            return
        self._views[view.key] = view
        title = fmt.plain(view.title, 80) or "New chat"
        short = title if len(title) <= 32 else title[:31].rstrip() + "…"
        text = short.replace("&", "&&")
        self.bar.setTabToolTip(index, title)
        self.bar.setAccessibleTabName(index, view.text())
        tail = self.bar.tabButton(index, QTabBar.ButtonPosition.RightSide)
        before = tail.size() if isinstance(tail, _Tail) else None
        if isinstance(tail, _Tail):
            tail.set_view(view)
        if self.bar.tabText(index) != text or (tail is not None and tail.size() != before):
            self.bar.setTabText(index, text)  # which measures every tab
            self.bar.updateGeometry()

    def select(self, key: str) -> None:
        index = self._index(key)
        if index >= 0 and index != self.bar.currentIndex():
            self.bar.setCurrentIndex(index)
        elif index >= 0:
            self._on_current_changed(index)

    def remove(self, key: str) -> None:
        index = self._index(key)
        if index >= 0:
            self._views.pop(key, None)
            self.bar.removeTab(index)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if (
            event.type() == QEvent.Type.MouseButtonRelease
            and isinstance(event, QMouseEvent)
            and event.button() == Qt.MouseButton.MiddleButton
        ):
            index = self.bar.tabAt(event.position().toPoint())
            if index >= 0:
                self.close_requested.emit(str(self.bar.tabData(index)))
                return True
        return super().eventFilter(watched, event)

    def _index(self, key: str) -> int:
        return next((i for i in range(self.bar.count()) if self.bar.tabData(i) == key), -1)

    def _show_close(self, index: int) -> None:
        """Only the current tab has a close button; others close by middle click."""
        for at in range(self.bar.count()):
            tail = self.bar.tabButton(at, QTabBar.ButtonPosition.RightSide)
            if isinstance(tail, _Tail) and tail.close_button.isHidden() == (at == index):
                tail.close_button.setVisible(at == index)
                tail.adjustSize()
        self._measure()

    def _measure(self) -> None:
        # Setting a text again is what makes QTabBar measure its tabs anew: all of them, so once
        # is enough, and once for each would take seconds with fifty.
        if self.bar.count():
            self.bar.setTabText(0, self.bar.tabText(0))
        self.bar.updateGeometry()

    def _on_current_changed(self, index: int) -> None:
        self._show_close(index)
        if index >= 0:
            self.current_changed.emit(str(self.bar.tabData(index)))
