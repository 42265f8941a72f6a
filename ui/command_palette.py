"""The command palette (Ctrl+K): type a few letters, choose a command or a conversation.

Letters must occur in order; a match at the start of words counts more. Main thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import (
    QEvent,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QKeyEvent, QPainter
from PySide6.QtWidgets import (
    QDialog,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from ui import format as fmt
from ui import strings_history as words
from ui.controls import label
from ui.dialog_size import open_at
from ui.input_method import KeysOfInputMethod
from ui.theme import theme

MOST = 60
KEYS_ROLE = Qt.ItemDataRole.UserRole + 1


@dataclass(frozen=True, slots=True)
class Command:
    """`hint` is its shortcut, or what it is ("Conversation")."""

    id: str
    text: str
    hint: str = ""


def score(query: str, text: str) -> int:
    """How well `query` matches, 0 for not at all. Case does not matter."""
    low, rest = text.lower(), query.lower().split()
    total = 0
    for word in rest:
        at = low.find(word)
        if at >= 0:
            starts = at == 0 or not low[at - 1].isalnum()
            total += 100 + 40 * starts - min(at, 30)
            continue
        found = _letters(word, low)
        if not found:
            return 0
        total += found
    return max(total, 1)


def _letters(word: str, text: str) -> int:
    """The letters of `word` in order; gaps cost."""
    at, gaps = -1, 0
    for letter in word:
        nxt = text.find(letter, at + 1)
        if nxt < 0:
            return 0
        gaps += nxt - at - 1 if at >= 0 else 0
        at = nxt
    return max(0, 50 - 2 * gaps)


class _Delegate(QStyledItemDelegate):
    def sizeHint(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> QSize:
        return QSize(theme().px(200), theme().px(36))

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        look = theme()
        rect = option.rect.adjusted(4, 1, -4, -1)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if option.state & QStyle.StateFlag.State_Selected:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(look.color("accent_soft"))
            painter.drawRoundedRect(rect, 8, 8)
        inner = rect.adjusted(10, 0, -10, 0)
        hint = str(index.data(KEYS_ROLE) or "")
        painter.setFont(look.font(12))
        painter.setPen(look.color("muted"))
        right = int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight)
        painter.drawText(inner, right, hint)
        room = inner.width() - painter.fontMetrics().horizontalAdvance(hint) - 16
        painter.setFont(look.font(14))
        painter.setPen(look.color("text"))
        text = painter.fontMetrics().elidedText(
            str(index.data() or ""), Qt.TextElideMode.ElideRight, room
        )
        painter.drawText(inner, int(Qt.AlignmentFlag.AlignVCenter), text)
        painter.restore()


class CommandPalette(QDialog):
    """`chosen(id)` once, after the dialog closed itself."""

    chosen = Signal(str)

    def __init__(self, parent: QWidget | None, commands: Sequence[Command]) -> None:
        super().__init__(parent)
        self.setWindowTitle(words.PALETTE)
        self.setModal(True)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowFlag(Qt.WindowType.FramelessWindowHint)
        self._commands = list(commands)
        self.field = QLineEdit()
        self.field.setPlaceholderText(words.PALETTE_HINT)
        self.field.setAccessibleName(words.PALETTE)
        self.field.installEventFilter(self)
        KeysOfInputMethod(self.field)
        self.field.textChanged.connect(self._fill)
        self.list = QListWidget()
        self.list.setAccessibleName(words.PALETTE)
        self.list.setItemDelegate(_Delegate(self.list))
        self.list.setUniformItemSizes(True)
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.itemClicked.connect(self._on_clicked)
        self.none = label(words.PALETTE_NONE, "muted")
        self.none.setAlignment(Qt.AlignmentFlag.AlignCenter)
        body = QVBoxLayout(self)
        body.setContentsMargins(10, 10, 10, 10)
        body.setSpacing(8)
        body.addWidget(self.field)
        body.addWidget(self.none, 1)
        body.addWidget(self.list, 1)
        open_at(self, 520, 380)
        self._fill("")

    def place(self) -> None:
        """Near the top of the window it belongs to."""
        parent = self.parentWidget()
        if parent is not None:
            at = parent.mapToGlobal(parent.rect().center())
            top = parent.mapToGlobal(parent.rect().topLeft()).y()
            self.move(at.x() - self.width() // 2, top + theme().px(72))

    def _fill(self, query: str) -> None:
        scored = [(score(query, c.text) if query.strip() else 1, c) for c in self._commands]
        best = sorted((s for s in scored if s[0] > 0), key=lambda s: -s[0])[:MOST]
        self.list.clear()
        for _, command in best:
            item = QListWidgetItem(fmt.plain(command.text, 200))
            item.setData(Qt.ItemDataRole.UserRole, command.id)
            item.setData(KEYS_ROLE, command.hint)
            spoken = f"{command.text}, {command.hint}" if command.hint else command.text
            item.setData(Qt.ItemDataRole.AccessibleTextRole, spoken)
            self.list.addItem(item)
        self.list.setVisible(bool(best))
        self.none.setVisible(not best)
        self.list.setCurrentRow(0)

    def _on_clicked(self, item: QListWidgetItem) -> None:
        self._choose(item)

    def _choose(self, item: QListWidgetItem | None) -> None:
        if item is not None:
            command = str(item.data(Qt.ItemDataRole.UserRole))
            self.finished.connect(lambda _=0: self.chosen.emit(command))
            self.accept()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            step = {
                Qt.Key.Key_Down: 1,
                Qt.Key.Key_Up: -1,
                Qt.Key.Key_PageDown: 8,
                Qt.Key.Key_PageUp: -8,
            }.get(Qt.Key(event.key()))
            if step is not None and self.list.count():
                last = self.list.count() - 1
                self.list.setCurrentRow(min(last, max(0, self.list.currentRow() + step)))
                return True
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                self._choose(self.list.currentItem())
                return True
        return super().eventFilter(watched, event)
