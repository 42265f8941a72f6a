"""Joins the model library, the Models tab and the engine.

Main thread. Files are checked by their header before any load; loading itself is the engine
controller's. The tab is made when it is first opened; the library starts with the program,
so that downloads an earlier run left unfinished are known at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from app.auto_spec import OnCard, on_card
from app.desktop import open_folder, open_page
from app.engine_state import EngineState, Phase
from app.kept_tasks import tell_failure
from app.library import presenter
from app.library.download_cards import sentence
from app.library.download_types import DownloadStatus
from app.library.knowledge import Engine, Knowledge
from app.library.service import Library
from app.model_dialogs import ModelDialogs
from app.model_opening import ModelOpening
from app.model_removal import ModelRemoval
from app.model_storage import ModelStorage
from app.notices import Action, Level, Notice
from app.services import Services
from app.wording import explain
from engine.types import ErrorInfo, LoadOptions, ModelInfo
from ui import model_strings as words
from ui import strings
from ui.controls import announce
from ui.main_window import MainWindow
from ui.model_views import ModelsView
from ui.models_tab import ModelsTab

KEY = "models"


def attach(
    window: MainWindow, services: Services, library: Library | None = None
) -> ModelsController:
    """Adds the tab and starts the library. Tests bring a library of their own."""
    return ModelsController(window, services, library)


class ModelsController(QObject):
    """`changed` after every difference in what is known of models."""

    changed = Signal()

    def __init__(self, window: MainWindow, services: Services, library: Library | None) -> None:
        super().__init__(window)
        self.window = window
        self.services = services
        self.library = library or Library(services.paths, services.settings, services.loop)
        self.tab: ModelsTab | None = None
        self._failed: dict[str, str] = {}
        self._last: EngineState = services.state.engine
        self._speculation: dict[str, OnCard] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self.dialogs = ModelDialogs(self)
        self.opening = ModelOpening(self)
        self.removal = ModelRemoval(self)
        self.storage = ModelStorage(self)
        services.library = self
        self.library.subscribe(self._on_library)
        self.library.on_downloaded = self._on_downloaded
        self.library.on_problem = self._on_problem
        self.library.fetch.failed = self._on_download_failed
        flow = services.models.flow
        flow.gate, flow.browse = self.opening.admit, self.show
        flow.local_models = self._loadable_paths
        services.state.changed.connect(self._on_engine)
        services.models.loaded.connect(self._on_loaded)
        services.lifecycle.at_quit("library", self.close, seconds=2.5, order=30)
        self._follows_auto = False
        window.add_tab(KEY, words.TITLE, self._make_tab)
        self.keep(self.library.start())

    # ---- what others use ----

    async def open_file(self, path: str) -> None:
        """Checks a file and hands it to the engine's load path."""
        await self.opening.open(path)

    async def check(self, path: str) -> ModelInfo | None:
        """The facts of a file worth loading; otherwise None, and the person knows why."""
        return await self.opening.check(path)

    def show(self, key: str = "") -> None:
        """Brings the tab to the front, with one card in focus."""
        self.window.select_tab(KEY)
        if self.tab is not None and key:
            self.tab.reveal(key)

    def _loadable_paths(self) -> tuple[str, ...]:
        found = self.library.found
        return tuple(m.path for m in found.models if m.info is not None) if found else ()

    def keep(self, work: Coroutine[Any, Any, Any]) -> None:
        """Runs a coroutine that nobody waits for; its failure is told."""
        task = self.services.loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(tell_failure)

    async def close(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await self.library.close()

    # ---- the tab ----

    def _make_tab(self) -> QWidget:
        self.tab = tab = ModelsTab()
        tab.triggered.connect(self._on_triggered)
        tab.open_file_requested.connect(lambda: self.keep(self.opening.ask()))
        tab.add_requested.connect(self.dialogs.add_model)
        tab.storage_requested.connect(self.storage.open)
        tab.files_dropped.connect(lambda paths: self.keep(self.opening.add(paths)))
        self._refresh()
        self.keep(self.library.rescan())
        return tab

    def _refresh(self) -> None:
        if self.tab is not None:
            rows = presenter.rows(self.knowledge())
            self.tab.set_view(ModelsView(rows=rows, scanning=self.library.found is None))

    def knowledge(self) -> Knowledge:
        """Everything known of models now, as the cards need it."""
        lib, found = self.library, self.library.found
        return Knowledge(
            models=found.models if found else (),
            catalogue=lib.catalogue,
            downloads=dict(lib.fetch.status),
            engine=self._engine(),
            machine=found.machine if found else None,
            cache_bytes=lib.cache_bytes(),
            speculation=self._speculation,
            used=lib.records.used,
            origins={path: origin.key for path, origin in lib.records.origins.items()},
            orphans=found.orphans if found else (),
            problems=lib.known.found,
        )

    def _engine(self) -> Engine:
        state = self.services.state.engine
        loaded = state.loaded.options if state.loaded is not None else None
        loading = state.wanted if state.phase is Phase.LOADING else None
        return Engine(
            loaded=loaded.model_path if loaded is not None else "",
            backend=loaded.backend if loaded is not None else None,
            loading=loading.model_path if loading is not None else "",
            failed=dict(self._failed),
        )

    # ---- what changes ----

    def _on_library(self) -> None:
        self._measure_again()
        self._refresh()
        self.changed.emit()

    def _on_measured(self) -> None:
        self._measure_again()
        self._refresh()

    def _measure_again(self) -> None:
        auto, found = self.services.auto, self.library.found
        choice = getattr(auto, "choice", None)
        if choice is not None and not self._follows_auto:
            self._follows_auto = True  # the benchmark may be attached after us
            auto.changed.connect(self._on_measured)
        if choice is None or found is None:
            return
        backend = self.services.settings.value.backend
        self._speculation = {
            model.path: on_card({b: choice(model.path, b) for b in model.info.backends}, backend)
            for model in found.models
            if model.info is not None and model.info.supports_mtp
        }

    def _on_engine(self) -> None:
        before, now = self._last, self.services.state.engine
        self._last = now
        if before.phase is Phase.LOADING and before.wanted is not None:
            path = before.wanted.model_path
            if now.phase is Phase.READY:
                self._failed.pop(path, None)
            elif now.phase is not Phase.LOADING and now.error is not None:
                self._note_failure(path, now.error, before.wanted)
        if (before.phase, before.loaded) != (now.phase, now.loaded):
            self._refresh()

    def _note_failure(self, path: str, error: ErrorInfo, options: LoadOptions) -> None:
        if error.code != "load_cancelled":
            self._failed[path] = explain(error, options).headline.lower()

    def _on_loaded(self, path: str) -> None:
        self.keep(self.library.used(path))
        self.keep(self.opening.tell_known_problem(path))

    def _on_problem(self, reason: str) -> None:
        text = words.RECORDS_NOT_WRITTEN.format(reason=reason)
        self.services.notices.post(Notice("models:records", text, level=Level.WARNING))

    def _on_downloaded(self, status: DownloadStatus) -> None:
        text = words.DOWNLOADED.format(name=status.name)
        load = Action(words.LOAD, lambda: self.keep(self.open_file(status.target)), primary=True)
        self.services.notices.post(Notice(f"download:{status.key}", text, actions=(load,)))

    def _on_download_failed(self, status: DownloadStatus) -> None:
        self.keep(self.dialogs.help_download(status))
        if self.window.current_tab() == KEY:
            announce(self.window, sentence(status.failure), assertive=True)
            return
        title = words.DOWNLOAD_FAILED_TITLE.format(name=status.name)
        show = Action(strings.DETAILS, lambda: self.show(status.key), primary=True)
        text = sentence(status.failure)
        key = f"download:{status.key}"
        self.services.notices.post(Notice(key, text, title, Level.WARNING, actions=(show,)))

    # ---- what a person asks for ----

    def _on_triggered(self, key: str, action: str) -> None:
        lib, fetch, download = self.library, self.library.fetch, self._download_key(key)
        jobs: dict[str, Callable[[], object]] = {
            "load": lambda: self.keep(self.open_file(key)),
            "try_anyway": lambda: self.keep(self.open_file(key)),
            "unload": lambda: self.keep(self.services.models.unload()),
            "cancel_load": self.services.engine.cancel_load,
            "measure": lambda: self._measure(key),
            "details": lambda: self.dialogs.details(key),
            "show": lambda: open_folder(key),
            "copy_path": lambda: QGuiApplication.clipboard().setText(key),
            "clear_cache": lambda: self.keep(self.removal.clear_cache(key)),
            "copy_in": lambda: self.keep(self.removal.copy_in(key)),
            "forget": lambda: self.keep(lib.forget(key)),
            "delete": lambda: self.keep(self.removal.delete(key)),
            "download": lambda: self.keep(self._download(key)),
            "download_again": lambda: self.download_again(key),
            "pause": lambda: fetch.pause(download),
            "resume": lambda: fetch.resume(download),
            "anyway": lambda: fetch.resume(download, despite_cache=True),
            "cancel_download": lambda: fetch.cancel(download),
            "page": lambda: open_page(lib.page_of(download)),
            "token": lambda: self.dialogs.token(download),
        }
        job = jobs.get(action)
        if job is not None:
            self.services.notices.dismiss(f"download:{download}")
            job()

    def _download_key(self, key: str) -> str:
        """Cards of damaged files are keyed by path, their downloads by where they come from."""
        return next((s.key for s in self.library.fetch.status.values() if s.target == key), key)

    async def _download(self, key: str) -> None:
        entry = self.library.entry(key)
        if entry is not None:
            if entry.gated:
                await self.library.fetch.tokens.load()
            self.library.download(entry)

    def download_again(self, path: str) -> None:
        model = self.library.model(path)
        if model is not None:
            self.library.download_again(model)

    def _measure(self, path: str) -> None:
        measure = getattr(self.services.auto, "measure", None)
        if measure is not None:
            measure(path)
