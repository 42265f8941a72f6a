"""Which model is in use: picking, loading, switching, failing and restarting, in the window.

Main thread. `picked` is what the next message uses (loaded lazily if it is not); the header
of every tab follows the shared state.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import msgspec
from PySide6.QtCore import QObject, QTimer, Signal

import resources
from app.chat_controller import ChatController
from app.engine_notices import EngineNotices
from app.engine_service import NOT_STOPPING, EngineService, same_engine
from app.engine_state import EngineState, Phase
from app.header_view import header_view
from app.kept_tasks import KeptTasks
from app.load_flow import LoadFlow
from app.log_view import show_logs
from app.model_facts import ModelFacts
from app.notices import Notices
from app.paths import Paths
from app.settings import SettingsStore
from app.state import AppState
from engine.errors import EngineCrashed, EngineError, LoadError
from engine.types import Backend, LoadedModel, LoadOptions, Modality, ModelInfo, SpecMode
from ui import strings_core
from ui.dialogs import confirm
from ui.main_window import MainWindow

log = logging.getLogger(__name__)

TICK_MS = 100


class EngineController(QObject):
    """`loaded(path)` after every finished load; `picked_changed` when another model or
    another setting of it is in use from now on."""

    loaded = Signal(str)
    picked_changed = Signal()

    def __init__(
        self,
        window: MainWindow,
        engine: EngineService,
        state: AppState,
        settings: SettingsStore,
        notices: Notices,
        facts: ModelFacts,
        paths: Paths,
    ) -> None:
        super().__init__(window)
        self.picked: LoadOptions | None = None
        self._window = window
        self._engine = engine
        self._state = state
        self._settings = settings
        self._facts = facts
        self._paths = paths
        self._chats: ChatController | None = None
        self._tasks = KeptTasks()
        self.notices = EngineNotices(self, notices)
        self.told_of_crash: Callable[[LoadOptions, EngineCrashed], None] = lambda _o, _e: None
        """Set by the problem report's owner."""
        self.flow = LoadFlow(window, self, facts, settings)
        self._ticker = QTimer(self)
        self._ticker.setInterval(TICK_MS)
        self._ticker.timeout.connect(self._show_header)
        engine.on_state = self._on_engine_state
        engine.on_crash = self._on_crash
        engine.on_loaded = self._on_loaded
        engine.on_not_back = lambda o, e: self.keep(self._failed(o, e, None))
        state.changed.connect(self._show_header)
        window.cancel_load_requested.connect(engine.cancel_load)
        window.switch_model_requested.connect(lambda: self.keep(self.flow.pick()))
        window.model_dropped.connect(lambda path: self.keep(self.flow.open_file(path)))
        window.on_action("open_model", lambda: self.keep(self.flow.ask_file()))
        window.on_action("load_settings", lambda: self.keep(self.flow.configure()))
        window.on_action("unload", lambda: self.keep(self.unload()))
        window.on_action("restart_engine", self.restart)
        window.on_action("logs", self.show_log)

    def attach_chats(self, chats: ChatController) -> None:
        self._chats = chats
        chats.offers.restart = self.restart
        chats.offers.worked = self.forget_crash
        chats.offers.larger_context = lambda: self.keep(self.flow.configure())

    # What others use

    def options_for(
        self, path: str, backend: Backend | None = None, **changes: object
    ) -> LoadOptions:
        """Load options for a file from the settings; `changes` win."""
        base = self._settings.load_options()
        own = msgspec.structs.replace(
            base,
            model_path=path,
            backend=backend or base.backend,
            cache_dir=str(self._paths.engine_cache(path)),
        )
        return msgspec.structs.replace(own, **changes)

    def fitting(self, options: LoadOptions, info: ModelInfo) -> LoadOptions:
        """`options` changed to what this file can do: backend, context, drafter, encoders."""
        backend = options.backend if options.backend in info.backends else info.backends[0]
        context = options.context_tokens
        if info.max_context and context > info.max_context:
            context = info.max_context
        return msgspec.structs.replace(
            options,
            backend=backend,
            context_tokens=context,
            speculative=options.speculative and bool(info.supports_mtp),
            vision=Modality.VISION in info.modalities,
            audio=Modality.AUDIO in info.modalities,
        )

    async def start(self, file: str | None) -> None:
        """What to load when the program starts: the given file, the last model, the demo."""
        last = self._settings.value.model_path
        path = _absolute(file) if file else last
        if not file and last and not _is_file(last):
            self.notices.model_gone(last)
            path = ""
        path = path or str(resources.DEMO_MODEL)
        backend = self._settings.value.backend if path == last else Backend.CPU
        try:
            info = await self._facts.inspect(path)
        except EngineError as problem:
            self.notices.load_failed(self.options_for(path, backend), problem, None)
            return
        options = self.fitting(self.options_for(path, backend), info)
        self._pick(options)
        crashed = self._settings.crashed_with(path, options.backend)
        if crashed is not None:
            self.notices.not_auto_loaded(options, info, crashed.exit)
        elif self._settings.value.load_at_start or file:
            await self.load(options)

    async def load(self, options: LoadOptions) -> LoadedModel | None:
        """Loads and uses a model from now on; failures become a notice. None on failure."""
        before = self.picked
        self.notices.clear()
        self._pick(options)
        try:
            return await self._engine.load(options)
        except LoadError as problem:
            if problem.code != "load_cancelled":
                await self._failed(options, problem, before)
            else:
                self._pick(before if before is not None else options)
        except EngineCrashed:
            pass  # told by `_on_crash`
        except EngineError as problem:
            await self._failed(options, problem, before)
        return None

    async def switch(self, options: LoadOptions, spec: SpecMode | None = None) -> bool:
        """Asks once if conversations are open, stops what runs, then loads. False if refused."""
        chats = self._chats
        other = not same_engine(self.picked, options) or self._state.phase is not Phase.READY
        if other and chats is not None and self._state.phase is Phase.READY and chats.has_content():
            text = strings_core.SWITCH_TEXT
            text += strings_core.SWITCH_BUSY if chats.busy() else ""
            if not await confirm(
                self._window, strings_core.SWITCH_TITLE, text, strings_core.SWITCH_YES
            ):
                return False
        if other and chats is not None:
            await chats.stop_all()
        if spec is not None and chats is not None:
            self._apply_spec(chats, spec)
        self._settings.change(
            context_tokens=options.context_tokens, threads=options.threads, cache=options.cache
        )
        await self.load(options)
        return True

    async def unload(self) -> None:
        if self._chats is not None:
            await self._chats.stop_all()
        with contextlib.suppress(EngineError):
            await self._engine.unload()

    def restart(self) -> None:
        """Ends the engine process and loads the model in use again."""
        self.keep(self._restart())

    async def _restart(self) -> None:
        if self.picked is None:
            return
        if self._state.phase in (Phase.READY, Phase.LOADING) or self._engine.busy:
            if self._chats is not None:
                for chat in self._chats.chats:
                    chat.stop()
            self._engine.cancel_load()
            await self.unload()
        await self.load(self.picked)

    def use(self, **changes: object) -> None:
        """Loads the model in use with something else: a backend, no cache."""
        if self.picked is not None:
            options = msgspec.structs.replace(self.picked, **changes)
            self.keep(self.load(options))

    def show_log(self) -> None:
        self.keep(show_logs(self._window, self._paths))

    def keep(self, work: Coroutine[Any, Any, Any]) -> None:
        """Runs a coroutine that nobody waits for; its failure is told."""
        self._tasks.keep(work)

    async def close(self) -> None:
        """Ends what is waiting for an answer of the person."""
        self._ticker.stop()
        await self._tasks.cancel()

    # Inside

    def _pick(self, options: LoadOptions | None) -> None:
        if options != self.picked:
            self.picked = options
            self.picked_changed.emit()
            if self._chats is not None:
                self._chats.refresh()

    async def _failed(
        self, options: LoadOptions, problem: EngineError, before: LoadOptions | None
    ) -> None:
        info = await self._facts.find(options.model_path)
        if problem.code == "no_gpu_adapter":
            self.flow.check.failed(options.backend, strings_core.NO_ADAPTER)
        self.notices.load_failed(options, problem, info)
        if before is not None and before.model_path != options.model_path:
            self._pick(before)

    def _apply_spec(self, chats: ChatController, spec: SpecMode) -> None:
        chat = chats.current()
        if chat is not None:
            chats.set_spec(chat.key, spec)
        default = msgspec.structs.replace(self._settings.value.chat, spec=spec)
        self._settings.change(chat=default)

    def _on_engine_state(self, engine: EngineState) -> None:
        self._state.set_engine(engine)
        if engine.phase is Phase.LOADING and not self._ticker.isActive():
            self._ticker.start()
        elif engine.phase is not Phase.LOADING:
            self._ticker.stop()

    def _on_loaded(self, model: LoadedModel) -> None:
        asked = model.options
        self._settings.remember_model(asked.model_path, asked.backend)
        self.flow.check.worked(asked.backend)
        self.notices.loaded(model)
        self.loaded.emit(asked.model_path)

    def _on_crash(self, options: LoadOptions, problem: EngineCrashed) -> None:
        info = self._facts.known(options.model_path)
        words = problem.params.get("exit", problem.code)
        log.warning("engine died: %s on %s: %s", options.model_path, options.backend, words)
        self.told_of_crash(options, problem)
        if problem.code == NOT_STOPPING:
            self.notices.unresponsive(problem.params["seconds"])
            return
        self._settings.remember_crash(options.model_path, options.backend, words)
        self.notices.crashed(options, problem, info)

    def forget_crash(self) -> None:
        """An answer came to its end: this model and backend work after all."""
        if self.picked is not None:
            self._settings.forget_crash(self.picked.model_path, self.picked.backend)

    def _show_header(self) -> None:
        info = self._facts.known(self.picked.model_path) if self.picked else None
        self._window.set_header(header_view(self._state, self.picked, info))
        loading = self._state.phase is Phase.LOADING
        self._window.action("unload").setEnabled(self._state.phase is Phase.READY)
        self._window.action("restart_engine").setEnabled(self.picked is not None and not loading)


def _absolute(path: str) -> str:
    return str(Path(path).expanduser().absolute())


def _is_file(path: str) -> bool:
    return Path(path).is_file()
