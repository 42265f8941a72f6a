"""The asyncio face of the engine: one slot, first come first served.

All methods belong to the event loop's thread; the engine itself runs on an `EngineWorker`.
A load, a generation or an exclusive job holds the slot; the others wait. A generation loads
first when the options it wants are not those that are loaded. Nothing is retried: after a
crash the slot is empty and the next load starts a new engine. No Qt here.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from app.engine_run import (
    NOT_STOPPING,
    STOP_DEADLINE_S,
    STOP_REPEAT_S,
    OnText,
    Run,
    same_engine,
)
from app.engine_slot import EngineSlot
from app.engine_state import Phase
from engine.errors import EngineCrashed, EngineError, LoadError
from engine.protocol import Engine
from engine.types import (
    FinishReason,
    GenerateRequest,
    LoadedModel,
    LoadOptions,
    Outcome,
    UnloadReport,
)

__all__ = ["NOT_STOPPING", "EngineService", "same_engine"]

log = logging.getLogger(__name__)
T = TypeVar("T")

CLOSE_S = 1.0

OnPhase = Callable[[str], None]


class EngineService(EngineSlot):
    """See the module text; what callbacks there are, `EngineSlot` tells."""

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
        is an outcome. `on_phase` hears "loading", then "prefill", or "drafter" in its place
        when this send loads the drafter first."""
        self._check_open()
        run = Run(request, on_text, self._loop.create_future())
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
                phase = "drafter" if self._loads_drafter(request) else "prefill"
                outcome = await self._generate(run, lambda: tell(phase))
                self._drafter_in |= outcome.speculative and bool(outcome.text)
                return outcome
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
            self._stopper.stop(run)

    def cancel_load(self) -> None:
        """Ends a load at once by killing the engine process, or a load still waiting."""
        if self._load_stop is not None and not self._load_stop.done():
            self._load_stop.set_result(None)
        if self.state.phase is Phase.LOADING:
            self._worker.kill()

    def expect(self, chat_key: str) -> None:
        """A message to this chat is being written: the engine may get ready. Never loads."""
        self._worker.expect(chat_key)

    def forget(self, chat_key: str) -> None:
        """Drops the native conversation of a chat when the engine is free; never loads."""
        if self.state.phase is Phase.READY and not self._closing:
            self._keep(self._forget(chat_key))

    async def run_exclusive(
        self,
        run: Callable[[Engine], T],
        *,
        keeps_model: bool = False,
        stop: asyncio.Future[None] | None = None,
    ) -> T:
        """Runs synchronous code with the engine on the worker thread, holding the slot.

        Code that loads or unloads leaves `keeps_model` False: afterwards the model that was
        loaded before is loaded again in the background. Raises what `run` raises, and
        `load_cancelled` when `stop` was done while it still waited for the slot.
        """
        self._check_open()
        if not await self._slot.enter(stop):
            raise LoadError("load_cancelled")
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
                self._keep(self._load_again(before))

    async def _load_again(self, options: LoadOptions) -> None:
        try:
            await self.load(options)
        except EngineCrashed:
            pass  # told by `on_crash`
        except EngineError as problem:
            if problem.code != "load_cancelled":
                self.on_not_back(options, problem)

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

    async def _joined(self, seconds: float) -> bool:
        deadline = self._loop.time() + seconds
        while self._worker.alive() and self._loop.time() < deadline:  # noqa: ASYNC110 (a thread)
            await asyncio.sleep(0.01)
        return not self._worker.alive()

    async def _load_for(self, run: Run, options: LoadOptions) -> None:
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

    async def _generate(self, run: Run, begun: Callable[[], None]) -> Outcome:
        """`begun` is called, and the new state told, when the engine has the send already."""
        request = run.request

        def work(engine: Engine) -> Outcome:
            if run.stop.done():
                return run.stopped()
            return engine.generate(request, self._worker.post_text)

        run.started = True
        answer = self._worker.submit(work)
        try:
            begun()
            self._publish(busy_run=request.run_id)
            outcome = await answer
        except EngineCrashed as problem:
            if run.stop.done():
                # It had to be ended because it did not stop, or died while stopping.
                self._on_crash(self._asked, self._stopper.judge(problem))
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
