"""Offers the problem report: from the Help menu, after a crash, from a notice. Main thread."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from app import crash_report, export_markdown
from app.crash_report import AppCrash
from app.notices import Action, Level, Notice
from engine.errors import EngineCrashed
from engine.types import LoadOptions
from ui import strings_report as words
from ui.dialogs import ask_file
from ui.main_window import MainWindow

if TYPE_CHECKING:
    from app.services import Services
    from ui.crash_dialog import CrashDialog


def attach(window: MainWindow, services: Services) -> ReportController:
    return ReportController(window, services)


class ReportController:
    """`engine_died` is told of every crash, so that a later report can name it."""

    def __init__(self, window: MainWindow, services: Services) -> None:
        self._window = window
        self._services = services
        self._trace = ""
        self._exit = ""
        self._options: LoadOptions | None = None
        self.dialog: CrashDialog | None = None
        self._files: dict[str, str] = {}
        services.models.notices.report = self.open
        window.on_action("save_report", self.open)

    def app_crashed(self, crash: AppCrash) -> None:
        """The program fell over last time: says so and offers the report."""
        self._trace = crash.trace
        cause = words.CAUSES.get(crash_report.cause(crash.trace), "")
        text = words.CRASHED_TEXT
        if cause:
            text += " " + words.LIKELY.format(cause=cause)
        save = Action(words.SAVE_REPORT, self.open, primary=True)
        self._services.notices.post(
            Notice(
                "app_crashed",
                text,
                title=words.CRASHED_TITLE,
                level=Level.WARNING,
                detail=crash.trace,
                actions=(save,),
            )
        )

    def engine_died(self, options: LoadOptions, problem: EngineCrashed) -> None:
        self._options = options
        self._exit = problem.params.get("exit", problem.code)
        self._trace = problem.detail

    def open(self) -> None:
        """Opens the dialog; the files are read in the background."""
        self._services.models.keep(self._open())

    async def _open(self) -> None:
        from ui.crash_dialog import CrashDialog

        if self.dialog is not None:
            self.dialog.raise_()
            return
        await self._collect(include=False)
        error = self._services.state.engine.error
        told = f"{error.code} {error.detail}" if error is not None else ""
        likely = crash_report.cause(self._exit, self._trace, told)
        has_text = self._services.chats.has_content()
        dialog = CrashDialog(self._window, words.CAUSES.get(likely, ""), has_text)
        self.dialog = dialog
        dialog.set_files(tuple(self._files.items()))
        keep = self._services.models.keep
        dialog.include_changed.connect(lambda on: keep(self._include(on)))
        dialog.save_requested.connect(lambda: keep(self._save()))
        dialog.finished.connect(self._on_closed)
        dialog.open()

    def _on_closed(self, _result: int) -> None:
        self.dialog = None

    async def _include(self, on: bool) -> None:
        await self._collect(include=on)
        if self.dialog is not None:
            self.dialog.set_files(tuple(self._files.items()))

    async def _collect(self, include: bool) -> None:
        from PySide6.QtCore import qVersion

        s = self._services
        chats = [c.conversation for c in s.chats.chats if c.conversation.nodes] if include else []
        texts = [(c.title, export_markdown.to_markdown(c)) for c in chats]
        settings, trace, exit_words = s.settings.value, self._trace, self._exit
        picked, loaded = self._options or s.models.picked, s.state.loaded

        def work() -> dict[str, str]:
            known = crash_report.facts(
                picked,
                loaded if exit_words == "" else None,
                qt=qVersion(),
                exit_words=exit_words,
                likely=crash_report.cause(exit_words, trace),
            )
            return crash_report.contents(s.paths, known, settings, crash=trace, conversations=texts)

        self._files = await s.loop.run_in_executor(s.executor, work)

    async def _save(self) -> None:
        files = dict(self._files)
        name = words.FILE_NAME.format(date=time.strftime("%Y%m%d-%H%M%S"))
        chosen = await ask_file(self.dialog or self._window, words.TITLE, words.FILES, save_as=name)
        if chosen:
            await self.write(Path(chosen[0]), files)

    async def write(self, target: Path, files: dict[str, str]) -> bool:
        """Writes and tells how it went; closes the dialog after a success."""
        s = self._services
        target = (
            target if target.suffix.lower() == ".zip" else target.with_name(target.name + ".zip")
        )
        try:
            await s.loop.run_in_executor(s.executor, crash_report.write, target, files)
        except OSError as problem:
            reason = problem.strerror or str(problem)
            text = words.NOT_SAVED.format(reason=reason)
            s.notices.post(Notice("report", text, level=Level.WARNING))
            return False
        s.notices.dismiss("app_crashed")
        s.notices.post(Notice("report", words.SAVED.format(name=target.name), seconds=8))
        if self.dialog is not None:
            self.dialog.accept()
        return True
