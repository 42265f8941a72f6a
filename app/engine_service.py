"""The asyncio face of the engine: one slot, first come first served.

All methods belong to the event loop's thread; the engine itself runs on an `EngineWorker`.
A load, a generation or an exclusive job holds the slot; the others wait. A generation loads
first when the options it wants are not those that are loaded. Nothing is retried: after a
crash the slot is empty and the next load starts a new engine. No Qt here.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import msgspec

from app import processes
from app.engine_state import EngineState, Phase
from app.turnstile import Turnstile
from app.worker import EngineFactory, EngineWorker
from engine.errors import EngineCrashed, EngineError, GenerationError, LoadError
from engine.protocol import Engine
from engine.types import (
    FinishReason,
    GenerateRequest,
    LoadedModel,
    LoadOptions,
    Outcome,
    TextBatch,
    UnloadReport,
)

log = logging.getLogger(__name__)
T = TypeVar("T")

STOP_DEADLINE_S = 2.0
"""No final chunk this long after a stop: the engine process is killed."""
STOP_REPEAT_S = 0.1
NOT_STOPPING = "no_final"
"""Code of the crash told when the process was ended because a stop had no effect."""
WATCH_S = 0.5
CLOSE_S = 1.0

OnText = Callable[[TextBatch], None]
OnPhase = Callable[[str], None]


def same_engine(a: LoadOptions | None, b: LoadOptions | None) -> bool:
    """Whether both mean the same loaded engine. The load-time default of speculation does
    not count: every send passes its own true or false."""
    if a is None or b is None:
        return a is b
    return a == msgspec.structs.replace(b, speculative=a.speculative)


class _Run:
    """One generation on its way; `stop` is done once somebody asked to stop it."""

    def __init__(self, request: GenerateRequest, on_text: OnText, stop: asyncio.Future[None]):
        self.request = request
        self.on_text = on_text
        self.stop = stop
        self.started = False
        self.slot_given_away = False
        self.text: list[str] = []
        self.thought: list[str] = []

    def take(self, batch: TextBatch) -> None:
        self.text.append(batch.text)
        self.thought.append(batch.thought)
        self.on_text(batch)

    def stopped(self) -> Outcome:
        return Outcome(
            run_id=self.request.run_id,
            reason=FinishReason.STOPPED,
            text="".join(self.text),
            thought="".join(self.thought),
            speculative=self.request.speculative,
        )


class EngineService:
    """See the module text. Callbacks run on the loop thread and must not raise:
    `on_state` gets every new state, `on_crash(options, error)` an engine process that died,
    `on_loaded` a finished load."""

    def __init__(self, factory: EngineFactory, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._worker = EngineWorker(factory, loop, self._on_text)
        self._slot = Turnstile()
        self._runs: dict[int, _Run] = {}
        self._asked: LoadOptions | None = None
        self._load_stop: asyncio.Future[None] | None = None
        self._watch: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._closing = False
        self._gave_up = False
        self.state = EngineState()
        self.on_state: Callable[[EngineState], None] = lambda _state: None
        self.on_crash: Callable[[LoadOptions, EngineCrashed], None] = lambda _o, _e: None
        self.on_loaded: Callable[[LoadedModel], None] = lambda _loaded: None

    # What others ask for

    async def load(self, options: LoadOptions) -> LoadedModel:
        """Loads unless exactly this is loaded. Raises `EngineError`; `load_cancelled` after
        `cancel_load`, also while still waiting for the slot."""
        self._check_open()
        stop = self._loop.create_future()
        self._load_stop = stop
        if not await self._slot.enter(stop):
            raise LoadError("load_cancelled", path=options.model_path)
        try:
            return await self._load(options)
        finally:
            self._slot.leave()

    async def unload(self) -> UnloadReport:
        """Ends the engine; the report has what it said on leaving."""
        self._check_open()
        await self._slot.enter()
        try:
            return await self._unload()
        finally:
            self._slot.leave()

    async def generate(
        self,
        request: GenerateRequest,
        options: LoadOptions,
        on_text: OnText,
        on_phase: OnPhase | None = None,
    ) -> Outcome:
        """Runs one send. Raises `EngineError` when there is no engine for it; a failed send
        is an outcome. `on_phase` hears "loading" and "prefill"."""
        self._check_open()
        run = _Run(request, on_text, self._loop.create_future())
        self._runs[request.run_id] = run
        tell = on_phase or (lambda _phase: None)
        try:
            if not await self._slot.enter(run.stop):
                return run.stopped()
            try:
                if not self._is_loaded(options):
                    tell("loading")
                    await self._load_for(run, options)
                if run.stop.done():
                    return run.stopped()
                tell("prefill")
                return await self._generate(run)
            finally:
                if not run.slot_given_away:
                    self._slot.leave()
        finally:
            del self._runs[request.run_id]

    def cancel(self, run_id: int) -> None:
        """Stops a generation wherever it is; harmless for one that is over."""
        run = self._runs.get(run_id)
        if run is None or run.stop.done():
            return
        run.stop.set_result(None)
        if run.started:
            self._push_stop(run, self._loop.time() + STOP_DEADLINE_S)

    def cancel_load(self) -> None:
        """Ends a load at once by killing the engine process, or a load still waiting."""
        if self._load_stop is not None and not self._load_stop.done():
            self._load_stop.set_result(None)
        if self.state.phase is Phase.LOADING:
            self._worker.kill()

    def forget(self, chat_key: str) -> None:
        """Drops the native conversation of a chat when the engine is free; never loads."""
        if self.state.phase is Phase.READY and not self._closing:
            self._keep(self._forget(chat_key))

    async def run_exclusive(self, run: Callable[[Engine], T], *, keeps_model: bool = False) -> T:
        """Runs synchronous code with the engine on the worker thread, holding the slot.

        Code that loads or unloads leaves `keeps_model` False: afterwards the model that was
        loaded before is loaded again in the background. Raises what `run` raises.
        """
        self._check_open()
        await self._slot.enter()
        before = self._asked if self.state.phase is Phase.READY else None
        self._publish(exclusive=True)
        crashed = False
        try:
            return await self._worker.submit(run)
        except EngineCrashed as problem:
            crashed = True
            self._on_crash(before, problem)
            raise
        finally:
            self._publish(exclusive=False)
            if not keeps_model and not crashed:
                self._set_empty()
            self._slot.leave()
            if not keeps_model and not crashed and before is not None and not self._closing:
                self._keep(self.load(before))

    def kill(self) -> None:
        """Ends the engine process at once, whatever it does."""
        self._worker.kill()

    @property
    def busy(self) -> bool:
        return self._slot.busy

    async def close(self) -> None:
        """Stops runs, ends loads, closes the engine and joins the worker; within about
        `STOP_DEADLINE_S` + 2 × `CLOSE_S`. Idempotent."""
        if self._closing:
            return
        self._closing = True
        if self._watch is not None:
            self._watch.cancel()
        self.cancel_load()
        for run_id in list(self._runs):
            self.cancel(run_id)
        if self.state.exclusive:
            self._worker.kill()
        deadline = self._loop.time() + STOP_DEADLINE_S + STOP_REPEAT_S
        while self._slot.busy and self._loop.time() < deadline:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        for task in list(self._tasks):
            task.cancel()
        self._worker.stop()
        if not await self._joined(CLOSE_S):
            self._worker.kill()
            await self._joined(CLOSE_S)
        self._worker.finish()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=CLOSE_S)

    # Inside

    async def _joined(self, seconds: float) -> bool:
        deadline = self._loop.time() + seconds
        while self._worker.alive() and self._loop.time() < deadline:  # noqa: ASYNC110 (a thread)
            await asyncio.sleep(0.01)
        return not self._worker.alive()

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
        self._replace(EngineState(Phase.READY, loaded=loaded))
        self.on_loaded(loaded)
        self._watch_engine()
        return loaded

    async def _load_for(self, run: _Run, options: LoadOptions) -> None:
        """Loads for a run. A stop gives the run up at once but lets the load go on, and the
        slot goes with it."""
        load = self._loop.create_task(self._load(options))
        self._tasks.add(load)
        load.add_done_callback(self._tasks.discard)
        try:
            waits: set[asyncio.Future[Any]] = {load, run.stop}
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if not load.done():
                run.slot_given_away = True
                load.add_done_callback(self._after_orphan)
        if load.done():
            load.result()

    def _after_orphan(self, load: asyncio.Task[LoadedModel]) -> None:
        self._slot.leave()
        if not load.cancelled() and load.exception() is not None:
            log.info("a load nobody waits for failed: %s", load.exception())

    def _watch_load(self) -> None:
        """Shows the memory of the engine process while it loads."""
        if self.state.phase is Phase.LOADING:
            pid = self._worker.engine_pid()
            if pid is not None:
                self._publish(memory=processes.resident(pid))
            self._loop.call_later(WATCH_S / 2, self._watch_load)

    async def _unload(self) -> UnloadReport:
        report = await self._worker.submit(lambda engine: engine.unload())
        self._set_empty()
        return report

    async def _generate(self, run: _Run) -> Outcome:
        request = run.request

        def work(engine: Engine) -> Outcome:
            if run.stop.done():
                return run.stopped()
            return engine.generate(request, self._worker.post_text)

        run.started = True
        self._publish(busy_run=request.run_id)
        try:
            outcome = await self._worker.submit(work)
        except EngineCrashed as problem:
            if run.stop.done():
                # It had to be ended because it did not stop, or died while stopping.
                self._on_crash(self._asked, _gave_up() if self._deaf(problem) else problem)
                return run.stopped()
            self._on_crash(self._asked, problem)
            raise
        finally:
            run.started = False
            self._publish(busy_run=None)
        if run.stop.done() and outcome.reason is FinishReason.ERROR:
            # Whether it was a stop is decided by our own flag, not by the engine's wording.
            return msgspec.structs.replace(outcome, reason=FinishReason.STOPPED, error=None)
        return outcome

    def _deaf(self, problem: EngineCrashed) -> bool:
        return self._gave_up or problem.code == "unresponsive"

    def _push_stop(self, run: _Run, deadline: float) -> None:
        """Repeats the stop until the run ends: one that arrives before the engine has begun
        is lost there. After the deadline the engine process is killed."""
        if not run.started:
            return
        if self._loop.time() >= deadline:
            log.warning("run %s did not stop in time: engine killed", run.request.run_id)
            self._gave_up = True
            self._worker.kill()
            return
        self._worker.cancel(run.request.run_id)
        self._loop.call_later(STOP_REPEAT_S, self._push_stop, run, deadline)

    async def _forget(self, chat_key: str) -> None:
        await self._slot.enter()
        try:
            if self.state.phase is Phase.READY:
                await self._worker.submit(lambda engine: engine.forget(chat_key))
        except EngineCrashed as problem:
            self._on_crash(self._asked, problem)
        except EngineError as problem:
            log.info("forget failed: %s", problem)
        finally:
            self._slot.leave()

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
        self._gave_up = False
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
        if not task.cancelled() and task.exception() is not None:
            log.info("background engine task failed: %s", task.exception())


def _gave_up() -> EngineCrashed:
    return EngineCrashed(NOT_STOPPING, seconds=int(STOP_DEADLINE_S))
