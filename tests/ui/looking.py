"""Eyes for windows: what a screen reader is told, where Tab goes, what is cut off.

Each function returns findings as lines; an empty list is good. Used by tests and by hand.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QAccessible, QAccessibleInterface, QFont, QFontMetrics, QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractScrollArea,
    QAbstractSpinBox,
    QApplication,
    QCheckBox,
    QComboBox,
    QHeaderView,
    QLabel,
    QLineEdit,
    QListWidget,
    QPlainTextEdit,
    QScrollArea,
    QScrollBar,
    QSlider,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionComboBox,
    QTabBar,
    QTableWidget,
    QTextEdit,
    QToolButton,
    QWidget,
)

CONTROLS = (
    QAbstractButton, QAbstractItemView, QAbstractSpinBox, QComboBox, QLineEdit, QPlainTextEdit,
    QTextEdit, QSlider, QTabBar,
)  # fmt: skip
_WORDS = re.compile("[\\s\u200b]+")
_MARKUP = re.compile(r"</?(p|b|br|span|html|qt)\b")
_DULL = {
    QAccessible.Role.NoRole, QAccessible.Role.Client, QAccessible.Role.Border,
    QAccessible.Role.Pane, QAccessible.Role.Window,
}  # fmt: skip


def what(widget: QWidget) -> str:
    """A widget in words: class, text, and the classes around it."""
    around, at = [], widget.parentWidget()
    while at is not None and len(around) < 3:
        around.append(type(at).__name__)
        at = at.parentWidget()
    text = getattr(widget, "text", None)
    shown = text() if callable(text) and not isinstance(widget, QAbstractSpinBox) else ""
    return f"{type(widget).__name__}({str(shown)[:40]!r}) in {' < '.join(around)}"


def inner(widget: QWidget) -> bool:
    """A part of another control that people do not meet by itself."""
    if isinstance(widget, QScrollBar) or widget.objectName().startswith("qt_"):
        return True
    at = widget.parentWidget()
    while at is not None:
        if isinstance(at, QAbstractSpinBox | QComboBox) or (
            isinstance(at, QLineEdit) and isinstance(widget, QToolButton)
        ):
            return True
        if type(at).__name__ in ("PlotWidget", "QCalendarWidget"):
            return True
        if isinstance(at, QTableWidget) and isinstance(widget, QHeaderView):
            return True
        at = at.parentWidget()
    return type(widget).__name__ in ("PlotWidget", "QTableCornerButton")


def shown(top: QWidget) -> Iterator[QWidget]:
    for widget in top.findChildren(QWidget):
        if widget.isVisible() and not inner(widget) and widget.window() is top:
            yield widget


def can_tab(widget: QWidget) -> bool:
    policy = widget.focusPolicy()
    return widget.isEnabled() and bool(policy.value & Qt.FocusPolicy.TabFocus.value)


def name_of(widget: QWidget) -> str:
    found = QAccessible.queryAccessibleInterface(widget)
    return found.text(QAccessible.Text.Name).strip() if found is not None else ""


def labelled(widget: QWidget) -> bool:
    """On Linux the name of a combo box is its value: what it is for comes from its label."""
    found = QAccessible.queryAccessibleInterface(widget)
    return any(kind & QAccessible.RelationFlag.Label for _, kind in found.relations())


def unnamed(top: QWidget) -> list[str]:
    """Controls without a name or a role, and names that hold markup."""
    out = []
    for widget in shown(top):
        if not (isinstance(widget, CONTROLS) or can_tab(widget)):
            continue
        if isinstance(widget, QAbstractScrollArea) and not (
            isinstance(widget, CONTROLS) or can_tab(widget)
        ):
            continue
        name = name_of(widget)
        if not name or (isinstance(widget, QComboBox) and not labelled(widget)):
            out.append(f"no name: {what(widget)}")
        if _MARKUP.search(name):
            out.append(f"markup in name: {what(widget)}: {name[:60]}")
        role = QAccessible.queryAccessibleInterface(widget).role()
        if can_tab(widget) and role in _DULL:
            out.append(f"role {role.name}: {what(widget)}")
    return out


def tree(item: QAccessibleInterface | None, depth: int = 0) -> Iterator[QAccessibleInterface]:
    if item is None or not item.isValid() or depth > 40:
        return
    yield item
    for n in range(item.childCount()):
        yield from tree(item.child(n), depth + 1)


def tab_walk(top: QWidget, limit: int = 300) -> list[QWidget]:
    """The widgets Tab visits, in order, until it is back at the first."""
    top.activateWindow()
    top.raise_()
    QApplication.processEvents()
    focus = QApplication.focusWidget()
    if focus is None or focus.window() is not top:
        top.setFocus()
        top.focusNextPrevChild(True) if focus is None else None
    seen: list[QWidget] = []
    for _ in range(limit):
        focus = QApplication.focusWidget()
        if focus is None or (focus in seen and focus is not seen[-1]):
            break
        if focus not in seen:
            seen.append(focus)
        QTest.keyClick(focus, Qt.Key.Key_Tab)  # within a text: from link to link
    return seen


def exclusive_with(widget: QAbstractButton) -> list[QAbstractButton]:
    """Of a group in which one is checked Tab visits one; arrows move inside it."""
    group = widget.group()
    if group is not None and group.exclusive():
        return list(group.buttons())
    if widget.autoExclusive() and widget.parentWidget() is not None:
        return widget.parentWidget().findChildren(QAbstractButton)
    return []


def unreachable(top: QWidget) -> list[str]:
    """Traps, and controls Tab does not come to (of exclusive radio buttons one is enough)."""
    seen = tab_walk(top)
    if not seen:
        return ["nothing takes the focus"]
    out = []
    last = QApplication.focusWidget()
    if last is seen[-1] and len(seen) > 1:
        out.append(f"trap: {what(seen[-1])}")
    for widget in shown(top):
        if not isinstance(widget, CONTROLS) or not widget.isEnabled() or widget in seen:
            continue
        proxy = widget.focusProxy()
        if proxy is not None and proxy in seen:
            continue
        if isinstance(widget, QAbstractButton) and any(b in seen for b in exclusive_with(widget)):
            continue
        out.append(f"no Tab: {what(widget)}")
    return out


def scroll_to(widget: QWidget) -> None:
    at = widget.parentWidget()
    while at is not None:
        if isinstance(at, QScrollArea):
            at.ensureWidgetVisible(widget)
        at = at.parentWidget()


def unseen_focus(top: QWidget, margin: int = 16) -> list[str]:
    """Controls that look the same with the focus as without it."""
    out = []
    for widget in tab_walk(top):
        widget.setFocus(Qt.FocusReason.TabFocusReason)
        scroll_to(widget)
        QApplication.processEvents()
        if not widget.hasFocus():
            continue
        place = QRect(widget.mapTo(top, QPoint(0, 0)), widget.size())
        place = place.adjusted(-margin, -margin, margin, margin).intersected(top.rect())
        held = top.grab(place).toImage()
        widget.clearFocus()
        QApplication.processEvents()
        if top.grab(place).toImage() == held:
            out.append(f"focus is not seen: {what(widget)}")
    return out


# What is cut off


def _needs(widget: QWidget) -> tuple[int, int]:
    """The room a widget's own words need, as its style says."""
    hint = widget.minimumSizeHint() if isinstance(widget, QTabBar) else widget.sizeHint()
    if isinstance(widget, QLabel) and widget.wordWrap():
        longest = max(
            (widget.fontMetrics().horizontalAdvance(w) for w in _WORDS.split(widget.text())),
            default=0,
        )
        margins = widget.contentsMargins()
        room = widget.width() - margins.left() - margins.right()
        return min(longest, hint.width()), widget.heightForWidth(max(1, room))
    return hint.width(), hint.height()


def seen_part(widget: QWidget) -> QRect:
    """What of a widget its parents leave; parents that scroll leave what they scroll to."""
    area = QRect(widget.rect())
    at: QWidget | None = widget
    while at is not None and not at.isWindow():
        area.translate(at.pos())
        at = at.parentWidget()
        if at is None:
            break
        around = at.parentWidget()
        if isinstance(around, QAbstractScrollArea) and around.viewport() is at:
            bar = around.verticalScrollBar()
            wide = around.horizontalScrollBar()
            if bar.maximum() > 0:
                tall = QRect(at.rect())
                tall.setTop(-100_000)
                tall.setBottom(100_000)
                if wide.maximum() > 0 and wide.isVisible():
                    tall.setLeft(-100_000)
                    tall.setRight(100_000)
                return area.intersected(tall)
        area = area.intersected(at.rect())
    return area


def sideways(top: QWidget) -> list[str]:
    """Pages that are wider than their window: words must flow instead."""
    areas = [a for a in top.findChildren(QScrollArea) if a.isVisible()]
    return [
        f"only a part, {a.horizontalScrollBar().maximum()} px are to the right: {what(a)}"
        for a in areas
        if a.horizontalScrollBar().maximum() > 0
    ]


def in_scrolled_tabs(widget: QWidget) -> bool:
    """A part of a tab in a row that is longer than its room: arrows bring the rest."""
    at = widget.parentWidget()
    while at is not None and not isinstance(at, QTabBar):
        at = at.parentWidget()
    if not isinstance(at, QTabBar):
        return False
    return sum(at.tabRect(n).width() for n in range(at.count())) > at.width()


def cut(top: QWidget, slack: int = 2) -> list[str]:
    """Labels, buttons and fields that have less room than their words need."""
    out = []
    room = top.screen().availableGeometry()
    if top.width() > room.width() or top.height() > room.height():
        out.append(f"larger than the screen, {top.width()}×{top.height()}: {what(top)}")
    for widget in shown(top):
        if not isinstance(widget, QLabel | QAbstractButton | QComboBox | QAbstractSpinBox):
            continue
        words = widget.text() if isinstance(widget, QLabel | QAbstractButton) else "x"
        if not words and not (isinstance(widget, QAbstractButton) and not widget.icon().isNull()):
            continue
        if type(widget).__name__ in ("ElidedLabel", "HeaderText"):
            if "…" in words and not widget.toolTip():
                out.append(f"shortened without a tooltip: {what(widget)}")
            need_w, need_h = 0, widget.fontMetrics().height()
        else:
            need_w, need_h = _needs(widget)
        short = []
        if widget.width() + slack < need_w:
            short.append(f"width {widget.width()} < {need_w}")
        if widget.height() + slack < need_h:
            short.append(f"height {widget.height()} < {need_h}")
        part = widget.rect() if in_scrolled_tabs(widget) else seen_part(widget)
        if part.width() + slack < min(widget.width(), max(need_w, 1)):
            short.append(f"only {part.width()} of {widget.width()} px wide is seen")
        if part.height() + slack < min(widget.height(), need_h):
            short.append(f"only {part.height()} of {widget.height()} px high is seen")
        if short:
            out.append(f"{', '.join(short)}: {what(widget)}")
    return out + shortened(top) + sideways(top)


def shortened(top: QWidget) -> list[str]:
    """Words that lists, tables, tabs and fields paint with fewer letters than they have, where
    nothing tells the rest (no tooltip)."""
    out = []
    for widget in shown(top):
        for text, room, tip, font in painted(widget):
            measure = QFontMetrics(font or widget.font()).horizontalAdvance
            if text and measure(text) > room + 2 and not tip:
                out.append(f"shortened to {room} px: {text[:40]!r} in {what(widget)}")
    return out


def painted(widget: QWidget) -> Iterator[tuple[str, int, str, QFont | None]]:
    """(text, width it has, tooltip, font) of what a widget paints itself."""
    if isinstance(widget, QTabBar):
        for n in range(widget.count()):
            sides = (QTabBar.ButtonPosition.LeftSide, QTabBar.ButtonPosition.RightSide)
            beside = sum(b.width() for s in sides if (b := widget.tabButton(n, s)) is not None)
            yield widget.tabText(n), widget.tabRect(n).width() - beside, widget.tabToolTip(n), None
    elif isinstance(widget, QTableWidget):
        for c in range(widget.columnCount()):
            head = widget.horizontalHeaderItem(c)
            if head is not None:
                yield head.text(), widget.columnWidth(c), head.toolTip(), head.font()
            for r in range(widget.rowCount()):
                if (item := widget.item(r, c)) is not None and not widget.isRowHidden(r):
                    yield item.text(), widget.columnWidth(c), item.toolTip(), item.font()
    elif isinstance(widget, QListWidget):
        plain = type(widget.itemDelegate()) is QStyledItemDelegate
        for n in range(widget.count()) if plain else ():
            item = widget.item(n)
            yield item.text(), widget.visualItemRect(item).width() - 8, item.toolTip(), None
    elif isinstance(widget, QComboBox):
        option = QStyleOptionComboBox()
        widget.initStyleOption(option)
        room = widget.style().subControlRect(
            QStyle.ComplexControl.CC_ComboBox, option,
            QStyle.SubControl.SC_ComboBoxEditField, widget)  # fmt: skip
        yield widget.currentText(), room.width(), widget.toolTip(), None
    elif isinstance(widget, QLineEdit) and not widget.text():
        yield widget.placeholderText(), widget.width() - 12, "", None


# What is hard to read


def luminance(colors: NDArray[np.uint32]) -> NDArray[np.float64]:
    """Of 0xRRGGBB, as the Web Content Accessibility Guidelines count it."""
    parts = np.stack([(colors >> s) & 255 for s in (16, 8, 0)]) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    out: NDArray[np.float64] = np.tensordot([0.2126, 0.7152, 0.0722], linear, 1)
    return out


def strongest(image: QImage) -> float:
    """The most contrast any pixel has with what fills most of the picture."""
    image = image.convertToFormat(QImage.Format.Format_RGB32)
    rows = np.frombuffer(image.constBits(), np.uint32).reshape(image.height(), -1)
    colors, counts = np.unique(rows[:, : image.width()] & 0xFFFFFF, return_counts=True)
    light = luminance(colors)
    ground = light[counts.argmax()]
    return float(((np.maximum(light, ground) + 0.05) / (np.minimum(light, ground) + 0.05)).max())


def faint(top: QWidget) -> list[str]:
    """Words with less than 4.5:1, pictures with less than 3:1 and what cannot be used with less
    than 2.5:1, as they are painted. To be asked where letters are large: thin ones are paler than
    their ink."""
    whole = top.grab()
    image, dense = whole.toImage(), whole.devicePixelRatio()
    out = []
    for widget in shown(top):
        if isinstance(widget, QLineEdit):
            words = widget.text() or widget.placeholderText()
        elif isinstance(widget, QPlainTextEdit):
            words = widget.toPlainText() or widget.placeholderText()
        elif isinstance(widget, QComboBox):
            words = widget.currentText()
        elif isinstance(widget, QLabel | QAbstractButton):
            words = widget.text()
        else:
            continue
        part = widget.visibleRegion().boundingRect()
        icon = isinstance(widget, QAbstractButton) and not widget.icon().isNull()
        if not (words or icon) or part != widget.rect():
            continue  # what is scrolled away is looked at where it is in sight
        part = part.translated(widget.mapTo(top, QPoint(0, 0)))
        cropped = image.copy(QRect(part.topLeft() * dense, part.size() * dense))
        need = 2.5 if not widget.isEnabled() else 4.5 if words else 3
        if (found := strongest(cropped)) < need:
            out.append(f"faint, {found:.1f}:1 and not {need}:1: {what(widget)}")
    return out


def overlapping(top: QWidget) -> list[str]:
    """Sibling controls that lie over each other."""
    out = []
    for parent in [top, *shown(top)]:
        kids = [
            w
            for w in parent.children()
            if isinstance(w, QLabel | QAbstractButton | QComboBox | QLineEdit | QCheckBox)
            and w.isVisible()
            and not inner(w)
        ]
        for n, one in enumerate(kids):
            for other in kids[n + 1 :]:
                both = one.geometry().intersected(other.geometry())
                if both.width() > 2 and both.height() > 2:
                    out.append(f"over each other: {what(one)} and {what(other)}")
    return out
