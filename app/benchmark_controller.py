"""Joins the Benchmark tab, the engine slot, the history of measurements and Auto.

Main thread. A comparison holds the engine slot (`EngineService.run_exclusive`): chats queue
behind it, and it refuses to start while an answer is being written. Nothing of it appears in
a chat. The tab is made when it is first opened, pyqtgraph comes with its first picture.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from app.auto_spec import AutoChoice, AutoSpec
from app.bench.library import BenchmarkLibrary
from app.bench_run import BenchRun
from app.bench_target import BenchTarget
from app.kept_tasks import tell_failure
from app.notices import Level, Notice
from app.observed_rates import ObservedRates
from app.services import Services
from engine.types import Backend, SpecMode
from ui import bench_strings as words
from ui.bench_views import BenchChoice, ProgressView
from ui.main_window import MainWindow

if TYPE_CHECKING:
    from app.bench_pages import BenchPages

KEY = "benchmark"


def attach(window: MainWindow, services: Services) -> BenchmarkController:
    """Adds the tab and makes Auto follow the measurements."""
    return BenchmarkController(window, services)


class BenchmarkController(QObject):
    """`changed` whenever what was measured (and so what Auto does) may be different."""

    changed = Signal()

    def __init__(self, window: MainWindow, services: Services) -> None:
        super().__init__(window)
        self._window = window
        self._services = services
        self._tasks: set[asyncio.Task[Any]] = set()
        self.library = BenchmarkLibrary(services.paths.benchmark_file)
        self.library.on_changed = self._on_library
        self.library.on_problem = self._on_problem
        self.auto = AutoSpec()
        self.target = BenchTarget(services, self._show_target)
        self.run = BenchRun(services)
        self.run.on_progress = self._on_progress
        self.pages: BenchPages | None = None
        self.rates = ObservedRates(services.history, self._show_rates)
        self._since = time.time()
        self._counted: set[str] = set()
        services.auto = self
        services.benchmarks = self.library
        services.chat_context.auto_choice = lambda path, on: self.choice(path, on).on
        services.chats.spec_texts = self.spec_texts
        services.chats.measure_requested.connect(self.measure)
        services.state.changed.connect(self._on_state)
        services.lifecycle.at_quit("comparison", self.run.close, seconds=2.0, order=12)
        services.lifecycle.at_quit("benchmarks", self.library.close, seconds=1.0, order=60)
        window.add_tab(KEY, words.TAB, self._make_tab)
        window.on_action("measure", self.measure)
        services.chats.changed.connect(self._on_chat)
        services.chats.opened.connect(lambda _key: self._show_rates())
        self._keep(self.library.open())

    # What others use

    def choice(self, model_path: str, backend: Backend) -> AutoChoice:
        """What was measured here for this file and backend, and what Auto does with it."""
        return self.auto.choice(model_path, backend)

    def texts_for(self, model_path: str, backend: Backend) -> dict[SpecMode, str]:
        """Texts of the speculative picker for a model that is not loaded yet."""
        return self.choice(model_path, backend).texts

    def spec_texts(self) -> dict[SpecMode, str]:
        """The same for the model in use; empty without one."""
        picked = self._services.models.picked
        return self.texts_for(picked.model_path, picked.backend) if picked is not None else {}

    def measure(self, path: str = "", backend: Backend | None = None) -> None:
        """`Measure…`: opens the tab, aimed at the model in use or the given one."""
        self._window.select_tab(KEY)
        self._keep(self.target.choose(path, backend))

    # The tab

    def _make_tab(self) -> QWidget:
        from app.bench_pages import BenchPages

        self.pages = BenchPages(self._window, self._services, self.library, self._keep)
        tab = self.pages.tab
        tab.compare_requested.connect(self.compare)
        tab.cancel_requested.connect(self.run.cancel)
        tab.target_chosen.connect(
            lambda path, backend: self._keep(self.target.choose(path, Backend(backend)))
        )
        tab.open_requested.connect(lambda: self._keep(self.target.open_file(self._window)))
        self.pages.refresh()
        self._show_target()
        self._show_rates()
        if self.library.entries:
            self._keep(self.pages.select(self.library.entries[0].id))
        self._keep(self.target.follow())
        return tab

    def compare(self, choice: BenchChoice) -> None:
        """Starts a comparison of the chosen target, or says why not."""
        if self.run.running:
            self._say(words.RUNNING_ELSEWHERE)
        elif self._services.state.engine.busy_run is not None or self._services.chats.busy():
            self._say(words.BUSY)
        else:
            self._say("")
            self._keep(self._compare(choice))

    async def _compare(self, choice: BenchChoice) -> None:
        plan = await self.target.plan(choice)
        record, sentence = await self.run.compare(plan)
        if self.pages is not None:
            self.pages.tab.set_progress(None)
        if record is not None:
            await self.library.add(record)
            if self.pages is not None:
                await self.pages.select(record.id)
        self._say(sentence)

    def _on_progress(self, view: ProgressView) -> None:
        if self.pages is not None:
            self.pages.tab.set_progress(view)

    def _say(self, sentence: str) -> None:
        if self.pages is not None:
            self.pages.tab.set_message(sentence)

    def _show_target(self) -> None:
        if self.pages is not None:
            self.pages.tab.set_target(self.target.view())

    def _on_state(self) -> None:
        self._show_rates()
        if self.pages is not None and not self.run.running:
            self._keep(self.target.follow())

    def _on_chat(self, key: str) -> None:
        """Counts an answer that has just ended, once."""
        chat = self._services.chats.chat(key)
        for node in chat.conversation.path()[-1:] if chat is not None else ():
            run = node.run
            if run is not None and run.finished > self._since and node.id not in self._counted:
                self._counted.add(node.id)
                self.rates.add(run)

    def _show_rates(self) -> None:
        """Tells under the chats, and in the tab, what real use reached off and on."""
        picked = self._services.models.picked
        text = self.rates.of(picked.model_path, picked.backend).text if picked else ""
        for chat in self._services.chats.chats:
            page = self._services.chats.page(chat.key)
            if page is not None:
                page.set_hint(text)
        if self.pages is not None:
            self.pages.tab.set_hint(text)

    def _on_library(self) -> None:
        self.auto.update(self.library.entries)
        if self.pages is not None:
            self.pages.refresh()
        self._services.chats.refresh()
        self.changed.emit()

    def _on_problem(self, reason: str) -> None:
        text = words.STORE_FAILED.format(reason=reason)
        self._services.notices.post(Notice("benchmarks", text, level=Level.WARNING))

    def _keep(self, work: Coroutine[Any, Any, object]) -> None:
        task = self._services.loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(tell_failure)
