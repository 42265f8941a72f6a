"""The Models tab: what is on this computer, and what could be fetched.

Shows a `ModelsView`; searching, sorting and filtering happen here. Model files dropped
anywhere on it are reported, never copied. Main thread only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import (
    QAction,
    QActionGroup,
    QDragEnterEvent,
    QDragLeaveEvent,
    QDropEvent,
    QKeySequence,
    QShortcut,
)
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QMenu,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from ui import model_strings as words
from ui.controls import button, flat_button, label, primary_button, secondary_button, section_label
from ui.file_drops import let_files_through
from ui.layouts import FlowLayout
from ui.model_card import ModelCard
from ui.model_views import ModelRowView, ModelsView
from ui.theme import theme

GROUPS = (("local", words.ON_THIS_COMPUTER), ("catalogue", words.CATALOGUE))


class ModelsTab(QWidget):
    """`triggered(key, action)` from cards; the other signals from the head of the page."""

    triggered = Signal(str, str)
    open_file_requested = Signal()
    add_requested = Signal()
    storage_requested = Signal()
    files_dropped = Signal(list)

    def __init__(self) -> None:
        super().__init__()
        self.setAcceptDrops(True)
        self._view = ModelsView(scanning=True)
        self._cards: dict[str, ModelCard] = {}
        self._order: list[str] = []
        self._sort, self._filter = "name", "all"
        self._titles: dict[str, QLabel] = {}
        self._empty: dict[str, QLabel] = {}
        self._lists: dict[str, QVBoxLayout] = {}
        self._build_head()
        self._build_body()
        QShortcut(
            QKeySequence.StandardKey.Find,
            self,
            self.search.setFocus,
            context=Qt.ShortcutContext.WidgetWithChildrenShortcut,
        )
        self._on_theme()
        self._refresh()

    # ---- building ----

    def _build_head(self) -> None:
        self._head = QWidget()
        flow = FlowLayout(self._head, gap=8, line_gap=8)
        self.search = QLineEdit()
        let_files_through(self.search)
        self.search.setPlaceholderText(words.SEARCH)
        self.search.setAccessibleName(words.SEARCH_NAME)
        self.search.setClearButtonEnabled(True)
        theme().changed.connect(self._on_theme)
        self.search.textChanged.connect(lambda _: self._refresh())
        self.add_button = secondary_button(words.ADD_FROM_HUB, self.add_requested.emit)
        self.open_button = primary_button(words.OPEN_FILE, self.open_file_requested.emit)
        flow.addWidget(label(words.TITLE, "title"))
        for widget in (self.search, self.add_button, self.open_button):
            flow.addWidget(widget)
        flow.push_from = 1

    def _on_theme(self) -> None:
        self.search.setFixedWidth(theme().px(220))

    def _build_body(self) -> None:
        page = QWidget()
        body = QVBoxLayout(page)
        body.setContentsMargins(28, 20, 28, 24)
        body.setSpacing(10)
        body.addWidget(self._head)
        for group, title in GROUPS:
            self._titles[group] = section_label(title)
            if group == "local":
                body.addWidget(self._tools(self._titles[group]))
            else:
                body.addWidget(self._titles[group])
            self._lists[group] = cards = QVBoxLayout()
            cards.setSpacing(10)
            self._empty[group] = hint = label("", "muted", wrap=True)
            hint.setContentsMargins(6, 2, 6, 6)
            body.addWidget(hint)
            body.addLayout(cards)
        body.addStretch(1)
        self._scroll = QScrollArea()
        self._scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._scroll.setWidgetResizable(True)
        self._scroll.setFrameShape(QFrame.Shape.NoFrame)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._scroll.setWidget(page)
        self._drop_hint = label(words.DROP_HERE, "accent")
        self._drop_hint.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._drop_hint.setContentsMargins(12, 8, 12, 8)
        self._drop_hint.hide()
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.setSpacing(0)
        outer.addWidget(self._drop_hint)
        outer.addWidget(self._scroll, 1)

    def _tools(self, title: QLabel) -> QWidget:
        """The heading of the local list, with sorting, filter and storage on its right."""
        out = QWidget()
        row = QHBoxLayout(out)
        row.setContentsMargins(0, 2, 0, 0)
        row.setSpacing(10)
        row.addWidget(title)
        row.addStretch(1)
        self.sort_button = self._choice(words.SORTS, self.set_sort)
        self.filter_button = self._choice(words.FILTERS, self.set_filter)
        self.storage_button = flat_button(words.STORAGE, self.storage_requested.emit)
        for widget in (self.sort_button, self.filter_button, self.storage_button):
            row.addWidget(widget)
        return out

    def _choice(self, options: dict[str, str], choose: Callable[[str], None]) -> QPushButton:
        out = button("", "flat")
        menu = QMenu(out)
        group = QActionGroup(menu)
        for key, text in options.items():
            action = QAction(text, menu)
            action.setCheckable(True)
            action.setData(key)
            action.triggered.connect(lambda _=False, k=key: choose(k))
            group.addAction(action)
            menu.addAction(action)
        out.setMenu(menu)
        return out

    # ---- what is shown ----

    def set_view(self, view: ModelsView) -> None:
        self._view = view
        self._refresh()

    def set_sort(self, how: str) -> None:
        self._sort = how if how in words.SORTS else "name"
        self._refresh()

    def set_filter(self, what: str) -> None:
        self._filter = what if what in words.FILTERS else "all"
        self._refresh()

    def card(self, key: str) -> ModelCard | None:
        return self._cards.get(key)

    def shown_keys(self, group: str) -> list[str]:
        """Keys of the cards of a group as shown, top to bottom."""
        return [k for k in self._order if self._cards[k].view().group == group]

    def reveal(self, key: str) -> None:
        """Scrolls to a card and gives it the focus; a filter that hides it is lifted."""
        if key not in self._cards and any(r.key == key for r in self._view.rows):
            self.search.clear()
            self.set_filter("all")
        card = self._cards.get(key)
        if card is not None:
            self._scroll.ensureWidgetVisible(card)
            card.setFocus(Qt.FocusReason.OtherFocusReason)

    def _refresh(self) -> None:
        text = self.search.text().strip()
        self._label_choices()
        order: list[str] = []
        for group, _ in GROUPS:
            rows = [r for r in self._view.rows if r.group == group]
            fitting = [r for r in rows if r.matches(text) and self._passes(r)]
            if group == "local":
                fitting = self._sorted(fitting)
            order += [r.key for r in fitting]
            self._show_rows(fitting)
            self._show_hint(group, rows, fitting, text)
        if order != self._order:
            self._arrange(order)

    def _label_choices(self) -> None:
        sort = words.SORT.format(how=words.SORTS[self._sort])
        shown = words.SHOW.format(what=words.FILTERS[self._filter])
        for target, text, chosen in (
            (self.sort_button, sort, self._sort),
            (self.filter_button, shown, self._filter),
        ):
            target.setText(f"{text} ▾")
            target.setAccessibleName(text)
            for action in target.menu().actions():
                action.setChecked(action.data() == chosen)

    def _passes(self, row: ModelRowView) -> bool:
        return self._filter == "all" or self._filter in row.abilities

    def _sorted(self, rows: Sequence[ModelRowView]) -> list[ModelRowView]:
        keys: dict[str, Callable[[ModelRowView], tuple[float, str]]] = {
            "name": lambda r: (r.order, r.name.casefold()),
            "size": lambda r: (-r.size, r.name.casefold()),
            "used": lambda r: (-r.used, r.name.casefold()),
            "speedup": lambda r: (-(r.speedup or 0), r.name.casefold()),
        }
        return sorted(rows, key=keys[self._sort])

    def _show_rows(self, rows: Sequence[ModelRowView]) -> None:
        for row in rows:
            card = self._cards.get(row.key)
            if card is None:
                card = self._cards[row.key] = ModelCard(row)
                card.triggered.connect(self.triggered)
            else:
                card.set_view(row)

    def _show_hint(
        self, group: str, rows: Sequence[ModelRowView], fitting: Sequence[ModelRowView], text: str
    ) -> None:
        hint = ""
        if group == "local" and not rows:
            hint = words.LOOKING if self._view.scanning else words.EMPTY_LOCAL
        elif group == "local" and not fitting:
            hint = words.NO_HITS.format(text=text) if text else words.NO_HITS_FILTER
        self._empty[group].setText(hint)
        self._empty[group].setVisible(bool(hint))
        self._titles[group].setVisible(group == "local" or bool(fitting))

    def _arrange(self, order: list[str]) -> None:
        """Rebuilds the lists in the new order; cards that stay keep their state."""
        wanted = set(order)
        for key in [k for k in self._cards if k not in wanted]:
            gone = self._cards.pop(key)
            gone.setParent(None)
            gone.deleteLater()
        self._order = order
        for group, _ in GROUPS:
            cards = [self._cards[k] for k in order if self._cards[k].view().group == group]
            for place, card in enumerate(cards):
                if self._lists[group].indexOf(card) != place:
                    self._lists[group].insertWidget(place, card)
        previous: QWidget = self.storage_button
        for key in order:
            QWidget.setTabOrder(previous, self._cards[key])
            previous = self._cards[key]

    # ---- drag and drop ----

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if _dropped(event):
            event.acceptProposedAction()
            self._drop_hint.show()

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        self._drop_hint.hide()

    def dropEvent(self, event: QDropEvent) -> None:
        self._drop_hint.hide()
        paths = _dropped(event)
        if paths:
            event.acceptProposedAction()
            self.files_dropped.emit(paths)


def _dropped(event: QDropEvent) -> list[str]:
    """Any local files: what is no model is told by name, not silently ignored."""
    return [u.toLocalFile() for u in event.mimeData().urls() if u.isLocalFile()]
