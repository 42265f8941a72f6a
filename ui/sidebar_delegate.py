"""Draws sidebar rows: headings, conversations, and search results with marked words."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPen, QTextCharFormat, QTextLayout, QTextOption
from PySide6.QtWidgets import (
    QLineEdit,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from ui import format as fmt
from ui import strings_history as words
from ui.icons import icon
from ui.sidebar_model import ChatItem, Heading, HitItem, SidebarModel
from ui.theme import theme

ROW, HIT_ROW = 40, 62
PAD = 10


class SidebarDelegate(QStyledItemDelegate):
    """All rows of one model state have the same height (`setUniformItemSizes`)."""

    def sizeHint(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> QSize:
        model = index.model()
        searching = isinstance(model, SidebarModel) and model.searching
        return QSize(theme().px(120), theme().px(HIT_ROW if searching else ROW))

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        model = index.model()
        row = model.row(index) if isinstance(model, SidebarModel) else None
        rect: QRect = option.rect
        state: QStyle.StateFlag = option.state
        look = theme()
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if isinstance(row, Heading):
            painter.setFont(look.font(12))
            painter.setPen(look.color("muted"))
            bottom = rect.adjusted(6, 0, -6, -look.px(7))
            flags = Qt.AlignmentFlag.AlignBottom | Qt.AlignmentFlag.AlignLeft
            painter.drawText(bottom, int(flags), row.text)
        elif row is not None:
            box = QRectF(rect).adjusted(0.5, 2.5, -0.5, -2.5)
            self._box(painter, box, state)
            inner = rect.adjusted(PAD, 2, -PAD, -2)
            if isinstance(row, ChatItem):
                self._chat(painter, inner, row, bool(state & QStyle.StateFlag.State_Selected))
            else:
                self._hit(painter, inner, row)
        painter.restore()

    @staticmethod
    def _box(painter: QPainter, box: QRectF, state: QStyle.StateFlag) -> None:
        look = theme()
        selected = bool(state & QStyle.StateFlag.State_Selected)
        focused = bool(state & QStyle.StateFlag.State_HasFocus)
        hovered = bool(state & QStyle.StateFlag.State_MouseOver)
        if not (selected or hovered or focused):
            return
        painter.setPen(QPen(look.color("accent"), 2) if focused else Qt.PenStyle.NoPen)
        token = "accent_soft" if selected else "line" if hovered else "side"
        painter.setBrush(look.color(token))
        painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), 8, 8)

    @staticmethod
    def _chat(painter: QPainter, rect: QRect, item: ChatItem, selected: bool) -> None:
        look = theme()
        painter.setFont(look.font(14, 500 if selected else 400))
        painter.setPen(look.color("text"))
        if item.pinned:
            side = look.px(14)
            at = QRect(rect.right() - side, rect.center().y() - side // 2, side, side)
            icon("pin", "muted", 14).paint(painter, at)
            rect = rect.adjusted(0, 0, -side - 6, 0)
        title = fmt.plain(item.title, 200) or words.UNTITLED
        if item.busy:
            title = f"{title} · {words.ANSWERING}"
        shown = painter.fontMetrics().elidedText(title, Qt.TextElideMode.ElideRight, rect.width())
        painter.drawText(rect, int(Qt.AlignmentFlag.AlignVCenter), shown)

    @staticmethod
    def _hit(painter: QPainter, rect: QRect, item: HitItem) -> None:
        look = theme()
        painter.setFont(look.font(14, 500))
        painter.setPen(look.color("text"))
        metrics = painter.fontMetrics()
        title = fmt.plain(item.title, 200) or words.UNTITLED
        line = QRect(rect.left(), rect.top() + look.px(4), rect.width(), metrics.height())
        shown = metrics.elidedText(title, Qt.TextElideMode.ElideRight, rect.width())
        painter.drawText(line, int(Qt.AlignmentFlag.AlignVCenter), shown)
        start = max(0, item.marks[0][0] - 18) if item.marks else 0
        text = ("…" if start else "") + item.snippet[start:]
        shift = start - (1 if start else 0)
        layout = QTextLayout(text, look.font(12))
        option = QTextOption()
        option.setWrapMode(QTextOption.WrapMode.NoWrap)
        layout.setTextOption(option)
        base = QTextCharFormat()
        base.setForeground(look.color("muted"))
        ranges = [_range(0, len(text), base)]
        strong = QTextCharFormat()
        strong.setForeground(look.color("accent"))
        strong.setFontWeight(700)
        ranges += [_range(at - shift, size, strong) for at, size in item.marks if at >= start]
        layout.setFormats(ranges)
        layout.beginLayout()
        made = layout.createLine()
        made.setLineWidth(10_000)
        layout.endLayout()
        painter.setClipRect(rect)
        layout.draw(painter, QPointF(rect.left(), line.bottom() + look.px(3)))

    def createEditor(
        self,
        parent: QWidget,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> QWidget:
        editor = QLineEdit(parent)
        editor.setMaxLength(200)
        editor.setAccessibleName(words.RENAME)
        return editor

    def updateEditorGeometry(
        self,
        editor: QWidget,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        editor.setGeometry(option.rect.adjusted(0, 1, 0, -1))


def _range(start: int, length: int, form: QTextCharFormat) -> QTextLayout.FormatRange:
    out = QTextLayout.FormatRange()
    out.start = start
    out.length = length
    out.format = form
    return out
