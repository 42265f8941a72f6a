"""The slot itself: what is loaded, loading, dying, and who watches. Base of `EngineService`.

Loop thread. Methods here expect that the caller holds the turnstile, except the watchers.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import time
from collections.abc import Callable, Coroutine
from typing import Any

from app import processes
from app.engine_run import Run, Stopper, same_engine
from app.engine_state import EngineState, Phase
from app.kept_tasks import tell_failure
from app.turnstile import Turnstile
from app.worker import EngineFactory, EngineWorker
from engine.errors import EngineCrashed, EngineError, GenerationError
from engine.types import (
    GenerateRequest,
    LoadedModel,
    LoadOptions,
    TextBatch,
    UnloadReport,
)

log = logging.getLogger(__name__)

WATCH_S = 0.5


class EngineSlot:
    """Callbacks run on the loop thread and must not raise: `on_state` gets every new state,
    `on_crash(options, error)` an engine process that died, `on_loaded` a finished load,
    `on_not_back(options, error)` a model that does not load again after exclusive work."""

    def __init__(self, factory: EngineFactory, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._worker = EngineWorker(factory, loop, self._on_text)
        self._stopper = Stopper(self._worker, loop)
        self._slot = Turnstile()
        self._runs: dict[int, Run] = {}
        self._asked: LoadOptions | None = None
        self._load_stop: asyncio.Future[None] | None = None
        self._watch: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._closing = False
        self._drafter_in = False
        self.state = EngineState()
        self.on_state: Callable[[EngineState], None] = lambda _state: None
        self.on_crash: Callable[[LoadOptions, EngineCrashed], None] = lambda _o, _e: None
        self.on_loaded: Callable[[LoadedModel], None] = lambda _loaded: None
        self.on_not_back: Callable[[LoadOptions, EngineError], None] = lambda _o, _e: None

    def _check_open(self) -> None:
        if self._closing:
            raise GenerationError("not_loaded")

    def _is_loaded(self, options: LoadOptions) -> bool:
        return self.state.phase is Phase.READY and same_engine(self._asked, options)

    async def _load(self, options: LoadOptions) -> LoadedModel:
        """Loads, holding the slot."""
        if self._is_loaded(options) and self.state.loaded is not None:
            return self.state.loaded
        self._asked = None
        self._replace(EngineState(Phase.LOADING, wanted=options, load_started=time.monotonic()))
        self._watch_load()
        try:
            loaded = await self._worker.submit(lambda engine: engine.load(options))
        except EngineCrashed as problem:
            self._on_crash(options, problem)
            raise
        except EngineError as problem:
            self._replace(EngineState(Phase.NONE, error=problem.info()))
            raise
        except BaseException:
            self._replace(EngineState(Phase.NONE))
            raise
        self._asked = options
        self._drafter_in = loaded.options.speculative
        self._replace(EngineState(Phase.READY, loaded=loaded))
        self.on_loaded(loaded)
        self._watch_engine()
        return loaded

    def _watch_load(self) -> None:
        """Shows the memory of the engine process while it loads."""
        if self.state.phase is Phase.LOADING:
            pid = self._worker.engine_pid()
            if pid is not None:
                self._publish(memory=processes.resident(pid))
            self._loop.call_later(WATCH_S / 2, self._watch_load)

    def _loads_drafter(self, request: GenerateRequest) -> bool:
        """Whether this send is the first one to draft on an engine loaded without the drafter,
        which then loads it."""
        return request.speculative and request.constraint is None and not self._drafter_in

    async def _unload(self) -> UnloadReport:
        report = await self._worker.submit(lambda engine: engine.unload())
        self._set_empty()
        return report

    def _on_text(self, batch: TextBatch) -> None:
        run = self._runs.get(batch.run_id)
        if run is not None and run.started:
            run.take(batch)

    def _watch_engine(self) -> None:
        """Looks twice a second whether an idle engine process is still there."""
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None
        if self.state.phase is Phase.READY and not self._closing:
            loaded = self.state.loaded
            if loaded is not None and not self._slot.busy and processes.gone(loaded.pid):
                self._keep(self._probe())
            self._watch = self._loop.call_later(WATCH_S, self._watch_engine)

    async def _probe(self) -> None:
        """Lets a dead engine say how it died."""
        await self._slot.enter()
        try:
            if self.state.phase is Phase.READY:
                await self._worker.submit(lambda engine: engine.count_tokens("."))
        except EngineCrashed as problem:
            self._on_crash(self._asked, problem)
        except EngineError as problem:
            log.info("probe failed: %s", problem)
        finally:
            self._slot.leave()

    def _on_crash(self, options: LoadOptions | None, problem: EngineCrashed) -> None:
        self._asked = None
        self._replace(EngineState(Phase.STOPPED, wanted=options, error=problem.info()))
        if options is not None and not self._closing:
            self.on_crash(options, problem)

    def _set_empty(self) -> None:
        self._asked = None
        self._replace(EngineState(Phase.NONE, exclusive=self.state.exclusive))

    def _publish(self, **changes: object) -> None:
        self._replace(dataclasses.replace(self.state, **changes))  # type: ignore[arg-type]

    def _replace(self, state: EngineState) -> None:
        if state != self.state:
            self.state = state
            self.on_state(state)

    def _keep(self, work: Coroutine[Any, Any, object]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._on_kept)

    def _on_kept(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and isinstance(task.exception(), EngineError):
            log.info("background engine task failed: %s", task.exception())
        else:
            tell_failure(task)
