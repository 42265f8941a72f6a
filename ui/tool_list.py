"""The list of tools with their switches and schemas. Shows `ToolGroupView`s, emits choices."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QHBoxLayout,
    QLabel,
    QPlainTextEdit,
    QVBoxLayout,
    QWidget,
)

from ui import format as fmt
from ui import tool_strings as words
from ui.controls import Card, button, flat_button, icon_button, label, pill, section_label
from ui.focus_kept import focus_kept
from ui.theme import theme
from ui.tool_page import PageArea, TallPage
from ui.tool_views import ToolGroupView, ToolView


class ToolRow(QWidget):
    """One tool: on/off, what it does, *ask before running*, its schema on demand."""

    enabled_changed = Signal(str, bool)
    ask_changed = Signal(str, bool)
    file_wanted = Signal(str)
    file_removed = Signal(str, str)

    def __init__(self, view: ToolView) -> None:
        super().__init__()
        self.view = view
        self.on = QCheckBox(view.name)
        self.on.setChecked(view.enabled)
        self.on.setAccessibleName(words.USE_TOOL.format(name=view.name))
        self.on.setAccessibleDescription(view.description)
        self.on.toggled.connect(self._on_toggled)
        self.ask = QCheckBox(words.ASK_FIRST)
        self.ask.setChecked(view.ask)
        self.ask.setAccessibleName(words.ASK_OF.format(name=view.name))
        self.ask.toggled.connect(lambda on: self.ask_changed.emit(view.name, on))
        self.show_schema = flat_button(words.SCHEMA, self._on_schema)
        self.show_schema.setAccessibleName(words.SCHEMA_OF.format(name=view.name))
        self.show_schema.setCheckable(True)
        self.schema = QPlainTextEdit(fmt.visible(view.schema))
        self.schema.setReadOnly(True)
        self.schema.setProperty("kind", "field")
        self.schema.setAccessibleName(words.SCHEMA_OF.format(name=view.name))
        self.schema.setTabChangesFocus(True)
        self.schema.hide()
        body = QVBoxLayout(self)
        body.setContentsMargins(0, 4, 0, 4)
        body.setSpacing(2)
        top = QHBoxLayout()
        top.setSpacing(8)
        top.addWidget(self.on, 1)
        top.addWidget(self.show_schema)
        body.addLayout(top)
        inner = QVBoxLayout()
        inner.setContentsMargins(28, 0, 0, 0)
        inner.setSpacing(2)
        if view.description:
            inner.addWidget(label(fmt.words(view.description), "muted", wrap=True))
        inner.addWidget(self.ask)
        if view.files is not None:
            self._add_files(inner, view.files)
        inner.addWidget(self.schema)
        body.addLayout(inner)
        self._set_off(not view.enabled)

    def _add_files(self, inner: QVBoxLayout, files: tuple[str, ...]) -> None:
        for name in files:
            row = QHBoxLayout()
            row.addWidget(label(fmt.plain(name, 120), "muted"), 1)
            remove = icon_button("close", words.REMOVE_FILE.format(name=name))
            remove.clicked.connect(
                lambda _=False, n=name: self.file_removed.emit(self.view.name, n)
            )
            row.addWidget(remove)
            inner.addLayout(row)
        pick = button(words.CHOOSE_FILE, "small")
        pick.clicked.connect(lambda _=False: self.file_wanted.emit(self.view.name))
        line = QHBoxLayout()
        line.addWidget(pick)
        if not files:
            line.addWidget(label(words.NO_FILES, "small"))
        line.addStretch(1)
        inner.addLayout(line)

    def _on_toggled(self, on: bool) -> None:
        self._set_off(not on)
        self.enabled_changed.emit(self.view.name, on)

    def _set_off(self, off: bool) -> None:
        self.ask.setEnabled(not off)

    def _on_schema(self) -> None:
        self.schema.setFont(theme().font(12, mono=True))
        lines = min(14, self.schema.blockCount())
        self.schema.setFixedHeight(self.schema.fontMetrics().lineSpacing() * lines + theme().px(26))
        self.schema.setVisible(self.show_schema.isChecked())


class ToolList(PageArea):
    """All groups; rebuilt only when something but a switch changed, so focus stays."""

    enabled_changed = Signal(str, bool)
    ask_changed = Signal(str, bool)
    file_wanted = Signal(str)
    file_removed = Signal(str, str)
    servers_wanted = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setAccessibleName(words.TOOLS)
        self.rows: dict[str, ToolRow] = {}
        self._groups: tuple[ToolGroupView, ...] = ()
        self.servers = button(words.SERVERS, "small", self.servers_wanted.emit)

    def set_groups(self, groups: tuple[ToolGroupView, ...]) -> None:
        if groups == self._groups:
            return
        if _without_switches(groups) == _without_switches(self._groups):
            self._groups = groups
            self._set_switches(groups)
            return
        self._groups = groups
        with focus_kept(self):
            self._fill(groups)

    def _fill(self, groups: tuple[ToolGroupView, ...]) -> None:
        opened = {n for n, r in self.rows.items() if r.show_schema.isChecked()}
        place = self.verticalScrollBar().value()
        self.servers.setParent(None)
        self.setWidget(self._made(groups))
        for name in opened & self.rows.keys():
            self.rows[name].show_schema.click()
        self.verticalScrollBar().setValue(place)

    def _set_switches(self, groups: tuple[ToolGroupView, ...]) -> None:
        for view in (t for g in groups for t in g.tools):
            row = self.rows[view.name]
            for box, on in ((row.on, view.enabled), (row.ask, view.ask)):
                box.blockSignals(True)
                box.setChecked(on)
                box.blockSignals(False)
            row.ask.setEnabled(view.enabled)

    def _made(self, groups: tuple[ToolGroupView, ...]) -> QWidget:
        page = TallPage()
        body = page.body
        body.setContentsMargins(0, 0, 12, 16)
        body.setSpacing(8)
        top = QHBoxLayout()
        top.addWidget(label(words.TOOLS, "title"), 1)
        top.addWidget(self.servers)
        self.servers.show()
        body.addLayout(top)
        self.rows = {}
        for group in groups:
            body.addLayout(self._heading(group))
            if group.reason:
                body.addWidget(label(fmt.words(group.reason), "bad", wrap=True))
            if group.tools:
                body.addWidget(self._card(group))
        if len(groups) == 1:
            body.addWidget(label(words.NO_SERVERS, "muted", wrap=True))
        body.addStretch(1)
        return page

    @staticmethod
    def _heading(group: ToolGroupView) -> QHBoxLayout:
        line = QHBoxLayout()
        line.addWidget(section_label(group.title))
        if group.phase:
            level = {"failed": "bad", "starting": "warn"}.get(group.phase, "")
            mark: QLabel = pill(
                words.SERVER_PHASES[group.phase], on=group.phase == "ready", level=level
            )
            line.addWidget(mark)
        line.addStretch(1)
        return line

    def _card(self, group: ToolGroupView) -> Card:
        card = Card(gap=6)
        for view in group.tools:
            row = ToolRow(view)
            row.enabled_changed.connect(self.enabled_changed)
            row.ask_changed.connect(self.ask_changed)
            row.file_wanted.connect(self.file_wanted)
            row.file_removed.connect(self.file_removed)
            self.rows[view.name] = row
            card.body.addWidget(row)
        return card


def _without_switches(groups: tuple[ToolGroupView, ...]) -> tuple[ToolGroupView, ...]:
    return tuple(
        replace(g, tools=tuple(replace(t, enabled=True, ask=True) for t in g.tools)) for g in groups
    )
