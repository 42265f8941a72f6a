"""The rows of the sidebar: conversations under day headings, or search results.

Main thread. The model holds plain values only, so 10 000 conversations are one list; rows
have one height, so the view never measures them all.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from PySide6.QtCore import QAbstractListModel, QModelIndex, QPersistentModelIndex, Qt, Signal

from ui import format as fmt
from ui import strings_history as words

Index = QModelIndex | QPersistentModelIndex


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatItem:
    """One conversation. `updated` in seconds since the epoch; `busy`: being answered."""

    id: str
    title: str
    updated: float
    pinned: bool = False
    preview: str = ""
    busy: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class HitItem:
    """One search result; `marks` are (start, length) of found words in `snippet`."""

    id: str
    title: str
    node: str = ""
    snippet: str = ""
    marks: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Heading:
    text: str


Row = ChatItem | HitItem | Heading


def grouped(items: Iterable[ChatItem], now: float) -> list[Row]:
    """Rows with headings: pinned first, then by the day of the last change (local time)."""
    today = datetime.fromtimestamp(now).astimezone().replace(hour=0, minute=0, second=0)
    start = today.replace(microsecond=0)
    limits = (
        (words.GROUP_TODAY, start.timestamp()),
        (words.GROUP_YESTERDAY, (start - timedelta(days=1)).timestamp()),
        (words.GROUP_WEEK, (start - timedelta(days=7)).timestamp()),
        (words.GROUP_OLDER, float("-inf")),
    )
    ordered = sorted(items, key=lambda i: i.updated, reverse=True)
    rows: list[Row] = []
    pinned = [i for i in ordered if i.pinned]
    if pinned:
        rows += [Heading(words.GROUP_PINNED), *pinned]
    last = ""
    for item in ordered:
        if item.pinned:
            continue
        name = next(n for n, limit in limits if item.updated >= limit)
        if name != last:
            rows.append(Heading(name))
            last = name
        rows.append(item)
    return rows


class SidebarModel(QAbstractListModel):
    """`renamed(id, title)` when a person edited a title in place."""

    renamed = Signal(str, str)

    def __init__(self) -> None:
        super().__init__()
        self._items: dict[str, ChatItem] = {}
        self._hits: list[HitItem] | None = None
        self._rows: list[Row] = []
        self._row_of: dict[str, int] = {}
        self._day = time.localtime()[:3]

    @property
    def searching(self) -> bool:
        return self._hits is not None

    def items(self) -> dict[str, ChatItem]:
        return dict(self._items)

    def set_items(self, items: Iterable[ChatItem]) -> None:
        """Replaces all conversations."""
        self._items = {i.id: i for i in items}
        self.regroup()

    def put(self, item: ChatItem) -> None:
        """Adds or replaces one; the list is sorted again only when its place may change."""
        old = self._items.get(item.id)
        if old == item:
            return
        self._items[item.id] = item
        row = self._row_of.get(item.id)
        stays = old is not None and (
            (old.pinned, old.updated) == (item.pinned, item.updated)
            or (row is not None and self._tops_today(row, old, item))
        )
        if row is not None and stays and self._hits is None:
            self._rows[row] = item
            self.dataChanged.emit(self.index(row), self.index(row))
        elif self._hits is None:
            self.regroup()

    def _tops_today(self, row: int, old: ChatItem, item: ChatItem) -> bool:
        """The row on top of today's group does not move when its time grows."""
        above = self._rows[row - 1] if row else None
        return (
            isinstance(above, Heading)
            and above.text == words.GROUP_TODAY
            and item.updated >= old.updated
            and not item.pinned
        )

    def remove(self, item_id: str) -> ChatItem | None:
        item = self._items.pop(item_id, None)
        if self._hits is not None:
            self._hits = [h for h in self._hits if h.id != item_id]
        self.regroup()
        return item

    def set_hits(self, hits: Iterable[HitItem] | None) -> None:
        """Shows search results; None goes back to the conversations."""
        self._hits = None if hits is None else list(hits)
        self.regroup()

    def stale(self) -> bool:
        """True when the day changed since the rows were built."""
        return self._day != time.localtime()[:3]

    def regroup(self, now: float | None = None) -> None:
        """Builds the rows anew (also right after midnight)."""
        self._day = time.localtime()[:3]
        self.beginResetModel()
        if self._hits is not None:
            self._rows = [Heading(words.GROUP_RESULTS), *self._hits] if self._hits else []
        else:
            self._rows = grouped(self._items.values(), time.time() if now is None else now)
        self._row_of = {r.id: n for n, r in enumerate(self._rows) if not isinstance(r, Heading)}
        self.endResetModel()

    def row(self, index: Index) -> Row | None:
        return self._rows[index.row()] if 0 <= index.row() < len(self._rows) else None

    def index_of(self, item_id: str) -> QModelIndex:
        row = self._row_of.get(item_id)
        return QModelIndex() if row is None else self.index(row)

    # -- Qt --------------------------------------------------------------------------

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self._rows)

    def flags(self, index: Index) -> Qt.ItemFlag:
        row = self.row(index)
        if row is None or isinstance(row, Heading):
            return Qt.ItemFlag.ItemIsEnabled
        flags = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
        return flags | Qt.ItemFlag.ItemIsEditable if isinstance(row, ChatItem) else flags

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        row = self.row(index)
        if row is None:
            return None
        if isinstance(row, Heading):
            return row.text if role == Qt.ItemDataRole.DisplayRole else None
        title = fmt.plain(row.title, 200) or words.UNTITLED
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.EditRole):
            return title
        if role == Qt.ItemDataRole.AccessibleTextRole:
            extra = row.snippet if isinstance(row, HitItem) else ""
            if isinstance(row, ChatItem) and row.pinned:
                extra = words.PINNED_WORD
            return f"{title}, {extra}" if extra else title
        if role == Qt.ItemDataRole.ToolTipRole:
            extra = row.snippet if isinstance(row, HitItem) else row.preview
            return fmt.tip(f"{title}\n{fmt.plain(extra, 160)}" if extra else title)
        return None

    def setData(self, index: Index, value: object, role: int = Qt.ItemDataRole.EditRole) -> bool:
        row = self.row(index)
        title = fmt.plain(str(value), 200)
        if role != Qt.ItemDataRole.EditRole or not isinstance(row, ChatItem) or not title:
            return False
        if title != row.title:
            self.renamed.emit(row.id, title)
        return True
