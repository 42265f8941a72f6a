"""The history column of the Benchmark tab: filters and one card per comparison."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPoint, QRect, QSize, Qt, Signal
from PySide6.QtGui import QAction, QKeySequence, QPainter, QPen
from PySide6.QtWidgets import (
    QAbstractItemView,
    QComboBox,
    QHBoxLayout,
    QListWidget,
    QListWidgetItem,
    QMenu,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from engine.types import Backend
from ui import bench_strings as words
from ui import format as fmt
from ui import strings
from ui.bench_views import HistoryRow, HistoryView
from ui.controls import label, name_field
from ui.theme import theme

ROW = Qt.ItemDataRole.UserRole


class CardDelegate(QStyledItemDelegate):
    """Paints a card: title and speedup on one line, the rest muted below."""

    def sizeHint(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> QSize:
        return QSize(120, theme().px(62) + 8)

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        row: HistoryRow = index.data(ROW)
        box: QRect = option.rect.adjusted(1, 1, -2, -9)
        state: QStyle.StateFlag = option.state
        selected = bool(state & QStyle.StateFlag.State_Selected)
        focused = bool(state & QStyle.StateFlag.State_HasFocus)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        edge = theme().color("accent" if selected or focused else "line")
        painter.setPen(QPen(edge, 2 if focused else 1))
        painter.setBrush(theme().color("panel"))
        painter.drawRoundedRect(box, 12, 12)
        inner = box.adjusted(12, 9, -12, -9)
        half = inner.height() // 2
        top = QRect(inner.topLeft(), QSize(inner.width(), half))
        below = QRect(inner.left(), inner.top() + half, inner.width(), inner.height() - half)
        painter.setFont(theme().font(14, 700))
        painter.setPen(theme().color(row.tone or "text"))
        right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        left = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(top, right, row.value)
        taken = painter.fontMetrics().horizontalAdvance(row.value) + 8
        self._line(painter, top.adjusted(0, 0, -taken, 0), left, row.title, 13, 600, "text")
        self._line(painter, below, left, row.subtitle, 13, 400, "muted")
        painter.restore()

    def _line(
        self,
        painter: QPainter,
        rect: QRect,
        align: Qt.AlignmentFlag,
        text: str,
        size: int,
        weight: int,
        token: str,
    ) -> None:
        painter.setFont(theme().font(size, weight))
        painter.setPen(theme().color(token))
        shown = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, rect.width())
        painter.drawText(rect, align, shown)


class BenchHistory(QWidget):
    """Shows a `HistoryView`; emits what the person wants of a comparison."""

    selected = Signal(str)
    filter_changed = Signal(str, str)
    baseline_requested = Signal(str)
    delete_requested = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self._view = HistoryView()
        body = QVBoxLayout(self)
        body.setContentsMargins(0, 0, 0, 0)
        body.setSpacing(8)
        body.addWidget(label(words.HISTORY, "strong13"))
        self._model, self._backend = QComboBox(), QComboBox()
        name_field(self._model, words.FILTER_MODEL, self)
        name_field(self._backend, words.FILTER_BACKEND, self)
        for box in (self._model, self._backend):
            box.activated.connect(self._on_filter)
            box.setSizeAdjustPolicy(
                QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
            )
            box.setMinimumContentsLength(9 if box is self._model else 4)
        row = QHBoxLayout()
        row.setSpacing(6)
        row.addWidget(self._model, 2)
        row.addWidget(self._backend, 1)
        body.addLayout(row)
        self.list = QListWidget()
        self.list.setAccessibleName(words.HISTORY)
        self.list.setItemDelegate(CardDelegate(self.list))
        self.list.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setMouseTracking(True)
        self.list.currentItemChanged.connect(self._on_current)
        self.list.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.list.customContextMenuRequested.connect(self._on_menu)
        body.addWidget(self.list, 1)
        delete = QAction(words.DELETE, self.list)
        delete.setShortcut(QKeySequence(QKeySequence.StandardKey.Delete))
        delete.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
        delete.triggered.connect(lambda _=False: self._emit_delete())
        self.list.addAction(delete)
        theme().changed.connect(self._on_theme)
        self.set_view(self._view)

    def set_view(self, view: HistoryView) -> None:
        """Replaces the rows; keeps filters and the selection where they still exist."""
        self._view = view
        self._fill(self._model, [("", words.ALL_MODELS), *((m, m) for m in view.models)])
        backends = [(b.value, strings.BACKENDS[b]) for b in view.backends]
        self._fill(self._backend, [("", words.ALL_BACKENDS), *backends])
        self._model.setVisible(len(view.models) > 1)
        self._backend.setVisible(len(view.backends) > 1)
        self.list.blockSignals(True)
        self.list.clear()
        for row in view.rows:
            item = QListWidgetItem(f"{row.title}, {row.value}, {row.subtitle}")
            item.setData(ROW, row)
            item.setToolTip(fmt.tip(row.tip or f"{row.title} · {row.value}\n{row.subtitle}"))
            self.list.addItem(item)
            if row.id == view.selected:
                self.list.setCurrentItem(item)
        self.list.setEnabled(bool(view.rows))  # an empty one is no stop of the Tab key
        self.list.blockSignals(False)

    def current_id(self) -> str:
        item = self.list.currentItem()
        return str(item.data(ROW).id) if item is not None else ""

    def _fill(self, box: QComboBox, items: list[tuple[str, str]]) -> None:
        before = box.currentData()
        box.blockSignals(True)
        box.clear()
        for data, text in items:
            box.addItem(text, data)
        box.setCurrentIndex(max(0, box.findData(before)))
        box.blockSignals(False)

    def _on_filter(self, _: int) -> None:
        self.filter_changed.emit(self._model.currentData() or "", self._backend.currentData() or "")

    def filter(self) -> tuple[str, Backend | None]:
        """Chosen model name ("" for all) and backend."""
        value = self._backend.currentData()
        return self._model.currentData() or "", Backend(value) if value else None

    def _on_current(self, item: QListWidgetItem | None, _: QListWidgetItem | None) -> None:
        if item is not None:
            self.selected.emit(item.data(ROW).id)

    def _on_menu(self, at: QPoint) -> None:
        if not self.current_id():
            return
        item = self.list.currentItem()  # a click has made it so; the menu key has no place
        place = self.list.visualItemRect(item)
        at = at if place.contains(at) else place.center()
        row: HistoryRow = item.data(ROW)
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction(words.SET_BASELINE, lambda: self.baseline_requested.emit(row.id))
        menu.addAction(words.DELETE, lambda: self.delete_requested.emit(row.id))
        menu.popup(self.list.viewport().mapToGlobal(at))

    def _emit_delete(self) -> None:
        if self.current_id():
            self.delete_requested.emit(self.current_id())

    def _on_theme(self) -> None:
        self.list.scheduleDelayedItemsLayout()
