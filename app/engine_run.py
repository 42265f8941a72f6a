"""One generation on its way through the service, and how it is stopped. Loop thread; no Qt."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

import msgspec

from app.worker import EngineWorker
from engine.errors import EngineCrashed
from engine.types import FinishReason, GenerateRequest, LoadOptions, Outcome, TextBatch

log = logging.getLogger(__name__)

STOP_DEADLINE_S = 2.0
"""No final chunk this long after a stop: the engine process is killed."""
STOP_REPEAT_S = 0.1
NOT_STOPPING = "no_final"
"""Code of the crash told when the process was ended because a stop had no effect."""

OnText = Callable[[TextBatch], None]


def same_engine(a: LoadOptions | None, b: LoadOptions | None) -> bool:
    """Whether both mean the same loaded engine. The load-time default of speculation does
    not count: every send passes its own true or false."""
    if a is None or b is None:
        return a is b
    return a == msgspec.structs.replace(b, speculative=a.speculative)


class Run:
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


class Stopper:
    """Repeats a stop until the run ends: one that arrives before the engine has begun is
    lost there. After the deadline it kills the engine process."""

    def __init__(self, worker: EngineWorker, loop: asyncio.AbstractEventLoop) -> None:
        self._worker = worker
        self._loop = loop
        self._gave_up = False

    def stop(self, run: Run) -> None:
        self._push(run, self._loop.time() + STOP_DEADLINE_S)

    def _push(self, run: Run, deadline: float) -> None:
        if not run.started:
            return
        if self._loop.time() >= deadline:
            log.warning("run %s did not stop in time: engine killed", run.request.run_id)
            self._gave_up = True
            self._worker.kill()
            return
        self._worker.cancel(run.request.run_id)
        self._loop.call_later(STOP_REPEAT_S, self._push, run, deadline)

    def judge(self, problem: EngineCrashed) -> EngineCrashed:
        """What to tell of a crash during a stop: that it was deaf, or how it died."""
        deaf, self._gave_up = self._gave_up or problem.code == "unresponsive", False
        return EngineCrashed(NOT_STOPPING, seconds=int(STOP_DEADLINE_S)) if deaf else problem
