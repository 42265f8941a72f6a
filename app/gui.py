"""The composition root of the window: makes everything, joins it, runs until quit.

Main thread. Imports that only a tab needs happen when it opens. Exit code 0 for every
ordinary way to quit.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import warnings
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication

from app import (
    benchmark_controller,
    crash_report,
    freed_memory,
    help_controller,
    history_controller,
    logs,
    models_controller,
    privacy,
    report_controller,
    tools_controller,
)
from app import paths as app_paths
from app.appearance import follow_look
from app.chat_context import ChatContext
from app.chat_controller import ChatController
from app.engine_controller import EngineController
from app.engine_factory import hosted_engine
from app.engine_service import EngineService
from app.file_events import FileOpenEvents
from app.history import History
from app.lifecycle import Lifecycle
from app.main_thread_gc import MainThreadGc
from app.model_facts import ModelFacts
from app.notice_controller import NoticeController
from app.notices import Action, Level, Notice, Notices
from app.paths import Paths
from app.services import Services
from app.settings import SettingsNote, SettingsStore
from app.single_instance import SingleInstance
from app.state import AppState
from app.version import APP_NAME, DESKTOP_ID, VERSION
from app.worker import EngineFactory
from ui import format as fmt
from ui import outside
from ui import strings_core as words
from ui import strings_report as report_words
from ui.main_window import MainWindow

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import qasync

log = logging.getLogger(__name__)

Script = Callable[["Program"], Coroutine[Any, Any, None]]


def main(file: str | None, script: Script | None = None) -> int:
    """Runs the window; returns the exit code. A second start hands `file` to the first.

    `script` is run beside the window (tests, measurements); its failure is raised here.
    """
    privacy.begin()
    freed_memory.few_arenas()
    paths = app_paths.resolve()
    logs.setup(paths)
    app = make_application()
    opened = FileOpenEvents(app)
    instance = SingleInstance(paths.runtime)
    if not instance.start(file):
        return 0
    crash = crash_report.begin(paths)
    loop = qasync.QEventLoop(app)
    asyncio.set_event_loop(loop)
    try:
        with loop:
            loop.run_until_complete(_run(paths, loop, instance, opened, file, script, crash))
    finally:
        crash_report.end(paths)
        instance.stop()
        asyncio.set_event_loop(None)
        logs.shutdown()
    return 0


def make_application() -> QApplication:
    """The one QApplication, with its names."""
    found = QApplication.instance()
    app = found if isinstance(found, QApplication) else QApplication(sys.argv[:1])
    app.setApplicationName(APP_NAME)
    app.setApplicationVersion(VERSION)
    app.setDesktopFileName(DESKTOP_ID)
    app.setQuitOnLastWindowClosed(False)
    return app


async def _run(
    paths: Paths,
    loop: asyncio.AbstractEventLoop,
    instance: SingleInstance,
    opened: FileOpenEvents,
    file: str | None,
    script: Script | None,
    crash: crash_report.AppCrash | None,
) -> None:
    program = Program(paths, loop)
    program.start(file)
    if crash is not None:
        program.report.app_crashed(crash)
    instance.asked.connect(program.open_from_outside)
    opened.deliver_to(program.open_from_outside)
    life = program.services.lifecycle
    instance.closing = lambda: life.closing
    life.watch_signals()
    beside = asyncio.ensure_future(script(program)) if script is not None else None
    if beside is not None:
        beside.add_done_callback(lambda _task: life.quit())
    try:
        await life.run()
    finally:
        life.forget_signals()
        program.dispose()
    if beside is not None and beside.done():
        beside.result()


class Program:
    """The window and everything behind it. Tests make one with another engine factory."""

    def __init__(
        self,
        paths: Paths,
        loop: asyncio.AbstractEventLoop,
        engine_factory: EngineFactory | None = None,
    ) -> None:
        self._gc = MainThreadGc(loop)
        self._gc.start()
        self._executor = ThreadPoolExecutor(2, thread_name_prefix="aux")
        loop.set_default_executor(self._executor)
        settings = SettingsStore(paths.settings_file)
        notices = Notices()
        state = AppState()
        engine = EngineService(engine_factory or (lambda: hosted_engine(paths)), loop)
        history = History(paths.history_file)
        facts = ModelFacts(self._executor)
        lifecycle = Lifecycle(loop)
        follow_look(settings)
        self.window = MainWindow()
        models = EngineController(self.window, engine, state, settings, notices, facts, paths)
        context = ChatContext(
            engine=engine,
            options=lambda: models.picked,
            inspect=facts.find,
            known=facts.known,
            history=history,
            attachments_dir=str(paths.attachments),
            show_footer=lambda: settings.value.show_footer,
        )
        chats = ChatController(self.window, context, state, settings, notices)
        models.attach_chats(chats)
        self.services = Services(
            paths=paths,
            settings=settings,
            notices=notices,
            state=state,
            engine=engine,
            history=history,
            facts=facts,
            lifecycle=lifecycle,
            loop=loop,
            executor=self._executor,
            chat_context=context,
            chats=chats,
            models=models,
        )
        self._notice_controller = NoticeController(self.window, notices)
        settings.bind(loop, self._executor)
        settings.on_note = self._on_settings_note
        for note in settings.notes:
            self._on_settings_note(note)
        if paths.temporary:
            place = fmt.plain(str(paths.data.parent), 120)
            text = words.TEMPORARY_HOME.format(reason=paths.note, place=place)
            notices.post(Notice("temporary_home", text, level=Level.WARNING))
        self._stages()
        self.history = history_controller.attach(self.window, self.services)
        self.library = models_controller.attach(self.window, self.services)
        self.tools = tools_controller.attach(self.window, self.services)
        self.benchmark = benchmark_controller.attach(self.window, self.services)
        self.help = help_controller.attach(self.window, self.services)
        self.report = report_controller.attach(self.window, self.services)
        self._join()
        logs.on_uncaught = self._on_uncaught
        outside.on_failed = self._on_not_opened

    def _join(self) -> None:
        """What one part offers to another."""
        flow, library = self.services.models.flow, self.library.library
        flow.local_models = lambda: [m.path for m in library.found.models] if library.found else ()
        flow.browse = self.library.show
        flow.measured = self.benchmark.texts_for
        flow.measure = self.benchmark.measure
        self.services.models.told_of_crash = self.report.engine_died
        self.benchmark.changed.connect(self.services.chats.refresh)

    def start(self, file: str | None = None) -> None:
        """Shows the window, then opens the history and loads the model in the background."""
        services = self.services
        self.window.restore_layout(_layout(services.settings))
        services.chats.new_chat()
        self.window.show()
        self.help.welcome()
        self.history.run(self._open_history())
        services.models.keep(services.models.start(file))

    async def _open_history(self) -> None:
        await self.history.start()
        await self.benchmark.rates.open()

    def open_from_outside(self, path: str) -> None:
        """A second start: comes to the front, with its file if it brought one."""
        window = self.window
        window.setWindowState(window.windowState() & ~Qt.WindowState.WindowMinimized)
        window.show()
        window.raise_()
        window.activateWindow()
        if path:
            self.services.models.keep(self.services.models.flow.open_file(path))

    def dispose(self) -> None:
        """After quitting: frees the window and the threads."""
        logs.on_uncaught = None
        outside.on_failed = None
        self.window.allow_close()
        self.window.close()
        self.window.deleteLater()
        self._executor.shutdown(wait=False, cancel_futures=True)
        self._gc.stop()

    def _stages(self) -> None:
        s = self.services
        life = s.lifecycle
        life.on_closing = self._on_closing
        life.last_resort = s.engine.kill
        life.at_quit("dialogs", s.models.close, seconds=0.3, order=10)
        life.at_quit("answers", s.chats.stop_all, seconds=2.1, order=20)
        life.at_quit("settings", s.settings.flush, seconds=1.0, order=50)
        life.at_quit("history", s.history.close, seconds=1.8, order=50)
        life.at_quit("engine", s.engine.close, seconds=2.2, order=50)
        self.window.close_requested.connect(life.quit)

    def _on_closing(self) -> None:
        settings = self.services.settings
        layout = self.window.layout_state()
        settings.change(
            window_geometry=layout["geometry"],
            splitters={"main": layout["splitter"]},
            sidebar_visible=layout["sidebar"] == "1",
        )
        self.window.hide()

    def _on_settings_note(self, note: SettingsNote) -> None:
        text = {
            "settings_set_aside": words.SETTINGS_SET_ASIDE,
            "settings_value": words.SETTINGS_VALUE,
        }.get(note.code, words.SETTINGS_NOT_SAVED)
        self.services.notices.post(
            Notice(note.code, text.format(**note.params), words.SETTINGS_TITLE, Level.WARNING)
        )

    def _on_not_opened(self, what: str) -> None:
        text = words.NOT_OPENED.format(what=fmt.plain(what, 200))
        self.services.notices.post(Notice("not_opened", text, level=Level.WARNING, seconds=20))

    def _on_uncaught(self, problem: BaseException) -> None:
        self.services.notices.post(
            Notice(
                "uncaught",
                words.PROBLEM,
                words.PROBLEM_TITLE,
                Level.ERROR,
                repr(problem),
                (Action(report_words.SAVE_REPORT, self.report.open),),
            )
        )


def _layout(settings: SettingsStore) -> dict[str, str]:
    v = settings.value
    return {
        "geometry": v.window_geometry,
        "splitter": v.splitters.get("main", ""),
        "sidebar": "1" if v.sidebar_visible else "0",
    }
