"""Adds, shows and removes tool servers. Emits what the person wants; never blocks."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QDialog,
    QFormLayout,
    QHBoxLayout,
    QLineEdit,
    QPlainTextEdit,
    QVBoxLayout,
    QWidget,
)

from ui import format as fmt
from ui import strings
from ui import tool_strings as words
from ui.controls import Card, button, flat_button, label, pill
from ui.dialog_size import open_at
from ui.focus_kept import focus_kept
from ui.layouts import FlowLayout
from ui.theme import theme
from ui.tool_page import PageArea, TallPage
from ui.tool_views import ServerView


class ServerForm(Card):
    """The fields of one server. `accepted(ServerView)`; a wrong field is named below."""

    accepted = Signal(object)

    def __init__(self) -> None:
        super().__init__(gap=8)
        self.taken: frozenset[str] = frozenset()
        self.name, self.command = QLineEdit(), QLineEdit()
        self.args, self.env = QPlainTextEdit(), QPlainTextEdit()
        for box, hint in (
            (self.args, words.SERVER_ARGUMENTS_HINT),
            (self.env, words.SERVER_ENV_HINT),
        ):
            box.setProperty("kind", "field")
            box.setPlaceholderText(hint)
            box.setTabChangesFocus(True)
            box.setFixedHeight(theme().px(62))
        self.problem = label("", "bad", wrap=True)
        self.problem.hide()
        form = QFormLayout()
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        form.setHorizontalSpacing(12)
        rows: tuple[tuple[str, QWidget], ...] = (
            (words.SERVER_NAME, self.name),
            (words.SERVER_COMMAND, self.command),
            (words.SERVER_ARGUMENTS, self.args),
            (words.SERVER_ENV, self.env),
        )
        for text, field in rows:
            field.setAccessibleName(text)
            form.addRow(label(text), field)
        self.add = button(words.ADD, "primary", self._on_add)
        line = QHBoxLayout()
        line.addWidget(self.problem, 1)
        line.addStretch(0)
        line.addWidget(self.add)
        self.body.addWidget(label(words.ADD_SERVER, "strong"))
        self.body.addLayout(form)
        self.body.addLayout(line)

    def _on_add(self) -> None:
        name, command = fmt.plain(self.name.text(), 60), self.command.text().strip()
        env = [line.partition("=") for line in self.env.toPlainText().splitlines() if line.strip()]
        problem = ""
        if not name:
            problem = words.NAME_MISSING
        elif name in self.taken or name.casefold() == strings.APP_NAME.casefold():
            problem = words.NAME_TAKEN
        elif not command:
            problem = words.COMMAND_MISSING
        elif any(not sign or not key.strip() for key, sign, _ in env):
            problem = words.ENV_WRONG
        self.problem.setText(problem)
        self.problem.setVisible(bool(problem))
        if problem:
            return
        view = ServerView(
            name=name,
            command=command,
            args=tuple(a for a in self.args.toPlainText().splitlines() if a.strip()),
            env=tuple((key.strip(), value) for key, _, value in env),
        )
        for field in (self.name, self.command, self.args, self.env):
            field.clear()
        self.accepted.emit(view)


class ServersDialog(QDialog):
    """`set_servers` shows; `added(ServerView)`, `removed(name)`, `restarted(name)`,
    `switched(name, on)`, `log_wanted(name)` tell. Open it with `open()`."""

    added = Signal(object)
    removed = Signal(str)
    restarted = Signal(str)
    switched = Signal(str, bool)
    log_wanted = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(words.SERVERS_TITLE)
        self.setModal(True)
        self.form = ServerForm()
        self.form.accepted.connect(self.added)
        self.rows: dict[str, Card] = {}
        self._servers: tuple[ServerView, ...] | None = None
        self._page = TallPage()
        self._list = self._page.body
        self._list.setContentsMargins(0, 0, 8, 0)
        self._list.setSpacing(8)
        area = PageArea()
        area.setWidget(self._page)
        self.close_button = button(words.CLOSE, "", self.accept)
        body = QVBoxLayout(self)
        body.setContentsMargins(24, 20, 24, 20)
        body.setSpacing(12)
        body.addWidget(label(words.SERVERS_TITLE, "title"))
        body.addWidget(label(words.SERVERS_TEXT, "muted", wrap=True))
        body.addWidget(area, 1)
        row = QHBoxLayout()
        row.addStretch(1)
        row.addWidget(self.close_button)
        body.addLayout(row)
        open_at(self, 620, 620)
        self.set_servers(())

    def set_servers(self, servers: tuple[ServerView, ...]) -> None:
        if servers == self._servers:
            return
        self._servers = servers
        with focus_kept(self):
            self._fill(servers)

    def _fill(self, servers: tuple[ServerView, ...]) -> None:
        self.form.taken = frozenset(s.name for s in servers)
        self._list.removeWidget(self.form)
        while (item := self._list.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        self.rows = {}
        for server in servers:
            self.rows[server.name] = self._row(server)
            self._list.addWidget(self.rows[server.name])
            self.rows[server.name].show()
        self._list.addWidget(self.form)
        self.form.show()
        self._list.addStretch(1)

    def _row(self, server: ServerView) -> Card:
        card = Card(gap=4)
        on = QCheckBox(server.name)
        on.setChecked(server.enabled)
        on.setAccessibleName(words.SERVER_ON.format(name=server.name))
        on.toggled.connect(lambda state, n=server.name: self.switched.emit(n, state))
        level = {"failed": "bad", "starting": "warn"}.get(server.phase, "")
        state = pill(words.SERVER_PHASES[server.phase], on=server.phase == "ready", level=level)
        head = QWidget()
        top = FlowLayout(head, gap=8, line_gap=4)
        top.addWidget(on)
        top.addWidget(state)
        if server.phase == "ready":
            count = words.ONE_TOOL if server.tools == 1 else words.SERVER_TOOLS
            top.addWidget(label(count.format(count=server.tools), "small"))
        top.push_from = top.count()
        for text, signal in (
            (words.SHOW_LOG, self.log_wanted),
            (words.RESTART, self.restarted),
            (words.REMOVE, self.removed),
        ):
            out = flat_button(text, lambda s=signal, n=server.name: s.emit(n))  # type: ignore[misc]
            out.setAccessibleName(f"{text}: {server.name}")
            out.setEnabled(text != words.RESTART or server.enabled)
            top.addWidget(out)
        card.body.addWidget(head)
        card.body.addWidget(label(" ".join((server.command, *server.args)), "muted", wrap=True))
        if server.reason:
            card.body.addWidget(label(fmt.words(server.reason), "bad", wrap=True))
        return card
