"""The Tools tab: the list of tools on the left, asking and structured answers on the right.

The header line above belongs to the window. Shows values, emits signals; knows no service.
"""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QButtonGroup,
    QHBoxLayout,
    QPushButton,
    QSplitter,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from ui import tool_strings as words
from ui.controls import button
from ui.theme import theme
from ui.tool_ask import AskPage
from ui.tool_list import ToolList
from ui.tool_page import PageArea, SnugPage
from ui.tool_structured import StructuredPage
from ui.tool_views import AskView

STACK_BELOW = 700
"""Width before scaling below which the list stands above the rest."""


class ToolsTab(QWidget):
    """Parts: `tools` (list), `ask` (questions), `structured` (forced answers).
    `model_wanted` asks for the model picker."""

    model_wanted = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.tools = ToolList()
        self.ask = AskPage()
        self.structured = StructuredPage()
        self.pages = QStackedWidget()
        self.pages.addWidget(self.ask)
        self.pages.addWidget(self.structured)
        self.switches: list[QPushButton] = []
        group = QButtonGroup(self)
        row = QHBoxLayout()
        row.setSpacing(4)
        for index, text in enumerate((words.ASK_TAB, words.STRUCTURED_TAB)):
            switch = button(text, "tab")
            switch.setCheckable(True)
            switch.clicked.connect(lambda _=False, i=index: self.show_page(i))
            group.addButton(switch)
            self.switches.append(switch)
            row.addWidget(switch)
        row.addStretch(1)
        right = SnugPage()
        body = right.body
        body.setContentsMargins(20, 14, 24, 16)
        body.setSpacing(12)
        body.addLayout(row)
        body.addWidget(self.pages, 1)
        left = QWidget()
        inner = QVBoxLayout(left)
        inner.setContentsMargins(24, 16, 4, 0)
        inner.addWidget(self.tools)
        self._left = left
        self.splitter = QSplitter(Qt.Orientation.Horizontal)
        self.splitter.setObjectName("tools")
        self.splitter.setChildrenCollapsible(False)
        self.splitter.addWidget(left)
        area = PageArea()
        area.setWidget(right)
        self.splitter.addWidget(area)
        self.splitter.setStretchFactor(1, 1)
        self.splitter.setSizes([360, 920])
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(self.splitter)
        self.ask.problem.structured_wanted.connect(lambda: self.show_page(1))
        self.ask.problem.model_wanted.connect(self.model_wanted)
        theme().changed.connect(self._set_widths)
        self._set_widths()
        self.show_page(0)

    def _set_widths(self) -> None:
        """Beside each other, or one above the other where that would be too narrow."""
        narrow = self.width() < theme().px(STACK_BELOW)
        ways = Qt.Orientation
        if (self.splitter.orientation() is ways.Vertical) != narrow:
            self.splitter.setOrientation(ways.Vertical if narrow else ways.Horizontal)
            self.splitter.setSizes([1, 2] if narrow else [360, 920])
        self._left.setMinimumWidth(0 if narrow else theme().px(270))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._set_widths()

    def show_page(self, index: int) -> None:
        """0: ask with tools, 1: structured answer."""
        self.pages.setCurrentIndex(index)
        self.switches[index].setChecked(True)

    def set_view(self, view: AskView) -> None:
        self.ask.set_view(view)
        self.structured.set_view(view)
