"""Joins the tools with the window: the Tools tab, tools in chats, tool servers, and quit.

Main thread. The tab is built when it is first opened, the MCP SDK imported when the first
server starts. In a chat a call that asks is a notice; on the tab it is a card in the log.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtWidgets import QWidget

from app import tools_views as views
from app.chat_forms import ChatForms
from app.chat_tools_switch import ChatToolsSwitch
from app.conversation import ToolStep
from app.kept_tasks import tell_failure
from app.model_names import display_name
from app.services import Services
from app.settings import McpServer
from app.tools import mcp_settings
from app.tools.arguments import Prepared
from app.tools.builtin import builtin_tools
from app.tools.calls import CallRunner, Consent
from app.tools.consent import ask_by_notice
from app.tools.loop import EventKind, LoopEvent
from app.tools.mcp_waits import log_file
from app.tools.picked_files import PickedFiles
from app.tools.regex_wire import NotSpellable
from app.tools.registry import BUILTIN, Registry, ToolFailure
from app.tools.servers import ToolServers
from app.tools.structured import to_wire
from app.tools_asking import Asking
from engine.types import Constraint, ToolCall
from ui import strings
from ui import tool_strings as words
from ui.dialogs import ask, ask_file
from ui.main_window import MainWindow
from ui.tool_servers_dialog import ServersDialog
from ui.tool_views import AskView, ConsentView, FormResultView, LogEntryView, ServerView
from ui.tools_tab import ToolsTab
from ui.views import NoticeAction

if TYPE_CHECKING:
    from app.chat import Chat

START_SERVERS_S = 2.0
"""After the start of the program, so that the window comes first."""
FRAME_S = 0.033
LOG_TAIL_CHARS = 20_000


def attach(window: MainWindow, services: Services) -> ToolsController:
    """Adds the tab and makes the tools known to chats."""
    return ToolsController(window, services)


class ToolsController:
    """See the module text. `registry` holds all tools."""

    def __init__(self, window: MainWindow, services: Services) -> None:
        self._window = window
        self._services = services
        self._tab: ToolsTab | None = None
        self._dialog: ServersDialog | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._consents: dict[str, asyncio.Future[Consent]] = {}
        self._numbers = itertools.count(1)
        self._entry_key = ""
        self._text_at = 0.0
        self._executor = ThreadPoolExecutor(max_workers=2, thread_name_prefix="tools")
        store = services.settings
        self.files = PickedFiles()
        self.registry = Registry(
            choices=mcp_settings.choices(store),
            choice_made=lambda key, choice: mcp_settings.save_choice(store, key, choice),
        )
        self.registry.set_source(BUILTIN, builtin_tools(self._executor, self.files))
        self.servers = ToolServers(
            store, self.registry, services.paths.logs, services.loop, self._refresh
        )
        self.registry.changed = self._refresh
        self.asking = Asking(
            services,
            self.registry,
            self._ask_on_tab,
            on_state=self._show_state,
            on_event=self._on_event,
            on_result=self._on_result,
        )
        services.tools = self
        services.chat_context.tool_specs = lambda _chat: self.registry.specs()
        services.chat_context.tool_runner = self._run_for_chat
        self.switch = ChatToolsSwitch(window, services)
        self.forms = ChatForms(window, services)
        services.state.changed.connect(self._show_state)
        services.lifecycle.at_quit("tools", self._stop, seconds=1.0, order=20)
        services.lifecycle.at_quit("tool servers", self._close, seconds=2.5, order=60)
        window.add_tab("tools", words.TOOLS, self._make_tab)
        if any(s.enabled for s in self.servers.configured()):
            services.loop.call_later(START_SERVERS_S, self.servers.start_enabled)

    # The tab

    def _make_tab(self) -> ToolsTab:
        tab = ToolsTab()
        self._tab = tab
        tab.tools.enabled_changed.connect(lambda n, on: self.registry.choose(n, enabled=on))
        tab.tools.ask_changed.connect(lambda n, on: self.registry.choose(n, ask=on))
        tab.tools.file_wanted.connect(lambda _name: self._spawn(self._pick_file()))
        tab.tools.file_removed.connect(lambda _tool, name: self._forget_file(name))
        tab.tools.servers_wanted.connect(lambda: self.open_servers())
        tab.ask.asked.connect(self.asking.question)
        tab.ask.stopped.connect(self.asking.stop)
        tab.ask.consent_answered.connect(self._on_consent)
        tab.structured.sent.connect(self.asking.structured)
        tab.structured.stopped.connect(self.asking.stop)
        tab.structured.form_changed.connect(self._check_form)
        tab.model_wanted.connect(self._window.switch_model_requested)
        self._check_form(tab.structured.constraint())
        self._refresh()
        return tab

    def _refresh(self) -> None:
        """Shows tools and servers as they are now."""
        if self._tab is not None:
            files = self.files.names()
            self._tab.tools.set_groups(views.groups(self.registry, self.servers, files))
        if self._dialog is not None:
            self._dialog.set_servers(views.server_views(self.servers))
        self._show_state()

    def _show_state(self) -> None:
        if self._tab is None:
            return
        options = self._services.chat_context.options()
        loaded = self._services.state.loaded
        info = self._services.facts.known(options.model_path) if options else None
        if options and loaded and loaded.info.path == options.model_path:
            info = loaded.info
        problem = ""
        if options is None:
            problem = "no_model"
        elif info is not None and not info.supports_tools:
            problem = "no_support"
        elif not self.registry.enabled():
            problem = "no_tools"
        name = display_name(info.path) if info else ""
        self._tab.set_view(AskView(state=self.asking.state, problem=problem, model=name))

    def _on_event(self, event: LoopEvent) -> None:
        """Puts one event into the log; a streaming answer replaces its own entry."""
        if self._tab is None:
            return
        log, now = self._tab.ask.log, self._services.loop.time()
        if event.kind is EventKind.TEXT and now - self._text_at < FRAME_S:
            return
        log.remove("waiting")
        if event.kind in (EventKind.TEXT, EventKind.ANSWER):
            key = self._entry_key or f"model-{next(self._numbers)}"
            self._entry_key = key if event.kind is EventKind.TEXT else ""
            self._text_at = now
        else:
            key = f"{event.kind}-{next(self._numbers)}"
        shown = views.entry(event, key, self.asking.options)
        if shown is not None:
            log.put(shown)
        if event.kind in (EventKind.QUESTION, EventKind.RESULT):
            self._entry_key = ""
            log.put(LogEntryView(key="waiting", kind="waiting", text=words.WAITING))

    def _on_result(self, view: FormResultView) -> None:
        if self._tab is not None:
            self._tab.structured.set_result(view)

    def _check_form(self, form: Constraint) -> None:
        """Says at once what is wrong with a form, also for the model that is picked."""
        if self._tab is None:
            return
        options = self._services.chat_context.options()
        info = self._services.facts.known(options.model_path) if options else None
        try:
            to_wire(form, info)
        except NotSpellable as problem:
            self._tab.structured.set_form_problem(str(problem))
        else:
            self._tab.structured.set_form_problem("")

    # Consent

    async def _ask_on_tab(self, prepared: Prepared) -> Consent:
        tab = self._tab
        if tab is None:
            return Consent.REFUSE
        key = f"consent-{next(self._numbers)}"
        answer: asyncio.Future[Consent] = self._services.loop.create_future()
        self._consents[key] = answer
        source = "" if prepared.tool.source == BUILTIN else prepared.tool.source
        tab.ask.log.remove("waiting")
        tab.ask.log.set_consent(
            ConsentView(
                id=key,
                name=prepared.tool.name,
                source=source,
                arguments=prepared.arguments_json,
            )
        )
        try:
            return await answer
        finally:
            del self._consents[key]
            tab.ask.log.set_consent(None)

    def _on_consent(self, key: str, answer: str) -> None:
        waiting = self._consents.get(key)
        if waiting is not None and not waiting.done():
            waiting.set_result(Consent(answer))

    # Chats

    async def _run_for_chat(self, chat: Chat, call: ToolCall) -> ToolStep:
        """One call of a chat; cancelled when its answer is stopped. The transcript says what
        is waited for."""
        waiting = self._services.chat_context.at_tools

        def waits_for(what: str) -> None:
            waiting[chat.key] = what
            chat.look_again()

        async def ask_person(prepared: Prepared) -> Consent:
            waits_for("deciding")
            try:
                return await ask_by_notice(self._services.notices, prepared)
            finally:
                waits_for("tool")

        waits_for("tool")
        try:
            runner = CallRunner(self.registry, ask_person)
            steps = await runner.run((call,), lambda _event: None, asyncio.Event())
            return steps[0]
        finally:
            waiting.pop(chat.key, None)
            chat.look_again()

    # Files

    async def _pick_file(self) -> None:
        for path in await ask_file(self._window, words.CHOOSE_FILE, "", many=True):
            try:
                self.files.add(path)
            except ToolFailure as problem:
                actions = (NoticeAction("ok", strings.OK, primary=True),)
                await ask(self._window, words.CHOOSE_FILE, str(problem), actions)
        self._refresh()

    def _forget_file(self, name: str) -> None:
        self.files.remove(name)
        self._refresh()

    # Servers

    def open_servers(self, above: QWidget | None = None) -> None:
        """Shows the dialog of tool servers; `above` is the dialog that asks, if one does."""
        if self._dialog is not None:
            self._dialog.raise_()
            return
        dialog = ServersDialog(above or self._window)
        self._dialog = dialog
        dialog.set_servers(views.server_views(self.servers))
        dialog.added.connect(self._on_server_added)
        dialog.removed.connect(self.servers.remove)
        dialog.restarted.connect(self.servers.restart)
        dialog.switched.connect(self.servers.switch)
        dialog.log_wanted.connect(lambda name: self._spawn(self._show_log(name)))
        dialog.finished.connect(self._on_dialog_closed)
        dialog.open()

    def _on_server_added(self, view: ServerView) -> None:
        self.servers.add(
            McpServer(name=view.name, command=view.command, args=view.args, env=dict(view.env))
        )

    def _on_dialog_closed(self) -> None:
        if self._dialog is not None:
            self._dialog.deleteLater()
            self._dialog = None

    async def _show_log(self, name: str) -> None:
        path = log_file(self._services.paths.logs, name)
        loop, executor = self._services.loop, self._services.executor
        text = await loop.run_in_executor(executor, _tail, path)
        actions = (NoticeAction("ok", words.CLOSE, primary=True),)
        title = f"{words.SHOW_LOG}: {name}"
        await ask(self._dialog or self._window, title, str(path), actions, text or "—")

    # The end

    async def _stop(self) -> None:
        self.servers.begin_close()
        self.asking.stop()
        for task in tuple(self._tasks):
            task.cancel()
        await self.asking.wait()

    async def _close(self) -> None:
        self._executor.shutdown(wait=False, cancel_futures=True)
        await self._services.loop.run_in_executor(self._services.executor, self.servers.close)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._services.loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(tell_failure)


def _tail(path: Path) -> str:
    """The end of a log file; "" when there is none. Any thread."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")[-LOG_TAIL_CHARS:]
    except OSError:
        return ""
