"""Calls into the engine process: one at a time, with deadlines, never waiting for ever.

`HostedEngine` is built on this. One thread makes calls; `_killed`, `_run_id` and
`_stopped_at` are set by others under the lock. Errors: the child's own, `EngineCrashed`
for a dead or silent child, `GenerationError("busy")` for a second call meanwhile.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable
from typing import Protocol, TypeVar

from engine import engine_log, messages
from engine.child import Child
from engine.errors import EngineCrashed, GenerationError, from_info
from engine.protocol import TextSink

POLL_S = 0.25
START_S = 60.0
"""A child may need so long to send its first heartbeat (cold disk, virus scanner)."""
SILENT_S = 15.0
STOP_S = 2.0
CLOSE_S = 1.0
LAPSE_S = 5.0
"""A gap this long in our own loop means that the whole machine slept, not the child."""

A = TypeVar("A", bound=messages.Answer)


class ChildCalls:
    """The child and the call in progress. `_working` names the call, "" while idle."""

    def __init__(self) -> None:
        self._child: Child | None = None
        self._loaded = False
        self._calls = 0
        self._lock = threading.Lock()
        self._working = ""
        self._killed = False
        self._run_id: int | None = None
        self._stopped_at: float | None = None

    def _small(self, make: Callable[[int], messages.Command], kind: type[A]) -> A:
        self._begin("call")
        try:
            return self._call(make, kind)
        finally:
            self._finish()

    def _check_loaded(self) -> None:
        if not self._loaded:
            raise GenerationError("not_loaded")

    def _begin(self, what: str) -> None:
        with self._lock:
            if self._working:
                raise GenerationError("busy", self._working)
            self._working, self._killed = what, False

    def _finish(self) -> None:
        with self._lock:
            self._working = ""

    def _call(
        self,
        make: Callable[[int], messages.Command],
        kind: type[A],
        *,
        sink: TextSink | None = None,
        waiting: Callable[[], None] | None = None,
        deadline: float | None = None,
    ) -> A:
        """Sends one command and waits for its answer. Raises the child's error, or
        `EngineCrashed` when it is dead or silent, or `TimeoutError` after `deadline`."""
        child = self._child
        if child is None:
            raise GenerationError("not_loaded")
        self._calls += 1
        call, began = self._calls, time.monotonic()
        child.put(make(call))
        looked = began
        while True:
            try:
                event = child.next(POLL_S if deadline is None else min(POLL_S, deadline))
            except EOFError:
                raise self._crashed("crashed") from None
            if isinstance(event, messages.Text):
                if sink is not None and event.batch.run_id == self._run_id:
                    sink(event.batch)
            elif isinstance(event, messages.Failed) and event.call == call:
                raise engine_log.explain(from_info(event.error), child.log_text())
            elif isinstance(event, kind) and event.call == call:
                return event
            now = time.monotonic()
            if now - looked > LAPSE_S:
                child.grace()
            looked = now
            if waiting is not None:
                waiting()
            if deadline is not None and now - began > deadline:
                raise TimeoutError
            limit = SILENT_S if child.last_heartbeat is not None else START_S
            stopped = self._stopped_at
            if child.silence() > limit:
                raise self._crashed("unresponsive", seconds=int(child.silence()))
            if sink is not None and stopped is not None and now - stopped > STOP_S:
                raise self._crashed("unresponsive", seconds=int(STOP_S))

    def _crashed(self, code: str, **params: object) -> EngineCrashed:
        """Buries the child and makes the error that tells how it ended."""
        child = self._child
        if child is None:
            return EngineCrashed(code)
        words = child.end()
        detail = engine_log.tail(child.log_text())
        self._drop()
        return EngineCrashed(code, detail, exit=words, **params)

    def _drop(self) -> None:
        with self._lock:
            child, self._child, self._loaded = self._child, None, False
        if child is not None:
            child.end()
            child.discard_log()


class Killable(Protocol):
    def kill(self) -> None: ...


class Reaper:
    """Kills the child at interpreter exit, before `multiprocessing` would wait for it."""

    def __init__(self, engine: Killable) -> None:
        self._engine = weakref.ref(engine)

    def __call__(self) -> None:
        engine = self._engine()
        if engine is not None:
            engine.kill()
