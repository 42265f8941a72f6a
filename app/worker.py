"""The one thread that owns the engine.

Jobs are run one after another, each with the engine; results and text go to the event loop
through a `Mailbox`. The engine is made on this thread by the factory at the first job and
made anew after it died. `cancel`, `expect` and `kill` may be called from any thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from app.mailbox import Mailbox
from engine.errors import EngineCrashed
from engine.protocol import Engine
from engine.types import TextBatch

log = logging.getLogger(__name__)

T = TypeVar("T")
EngineFactory = Callable[[], Engine]


@dataclass(frozen=True, slots=True)
class _Job:
    run: Callable[[Engine], Any]
    done: asyncio.Future[Any]


@dataclass(frozen=True, slots=True)
class _Done:
    future: asyncio.Future[Any]
    result: Any = None
    error: BaseException | None = None


class EngineWorker:
    """Owned by the loop thread. `on_text` gets merged batches there, in order, before the
    result of the job that made them."""

    def __init__(
        self,
        factory: EngineFactory,
        loop: asyncio.AbstractEventLoop,
        on_text: Callable[[TextBatch], None],
    ) -> None:
        self._factory = factory
        self._loop = loop
        self._on_text = on_text
        self._mailbox: Mailbox[_Done] = Mailbox(loop, self._deliver)
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._engine: Engine | None = None
        self._thread: threading.Thread | None = None

    def submit(self, run: Callable[[Engine], T]) -> asyncio.Future[T]:
        """Queues `run(engine)`; the future ends on the loop thread."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="engine-worker", daemon=True)
            self._thread.start()
        future: asyncio.Future[T] = self._loop.create_future()
        self._jobs.put(_Job(run, future))
        return future

    def post_text(self, batch: TextBatch) -> None:
        """The sink given to the engine; called on the worker thread."""
        self._mailbox.post(batch)

    def cancel(self, run_id: int) -> None:
        engine = self._engine
        if engine is not None:
            engine.cancel(run_id)

    def expect(self, chat_key: str) -> None:
        engine = self._engine
        if engine is not None:
            engine.expect(chat_key)

    def kill(self) -> None:
        engine = self._engine
        if engine is not None:
            engine.kill()

    def engine_pid(self) -> int | None:
        """Process of the engine, None while there is none. Any thread."""
        pid = getattr(self._engine, "pid", None)
        return pid if isinstance(pid, int) else None

    def stop(self) -> None:
        """Lets the thread close the engine and end after the jobs queued so far."""
        if self._thread is not None:
            self._jobs.put(None)

    def alive(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def finish(self) -> None:
        """Nothing is delivered any more. Call when the thread has ended or is given up."""
        self._mailbox.close()

    def _work(self) -> None:
        while True:
            job = self._jobs.get()
            if job is None:
                break
            try:
                if self._engine is None:
                    self._engine = self._factory()
                result = job.run(self._engine)
            except BaseException as problem:
                if isinstance(problem, EngineCrashed):
                    self._drop_engine()
                self._mailbox.post(_Done(job.done, error=problem))
            else:
                self._mailbox.post(_Done(job.done, result))
            del job
        self._drop_engine()

    def _drop_engine(self) -> None:
        engine, self._engine = self._engine, None
        if engine is not None:
            with contextlib.suppress(Exception):
                engine.close()

    def _deliver(self, items: list[_Done | TextBatch]) -> None:
        for item in items:
            if isinstance(item, TextBatch):
                self._on_text(item)
            elif not item.future.done():
                if item.error is not None:
                    item.future.set_exception(item.error)
                else:
                    item.future.set_result(item.result)
            elif item.error is not None:
                log.info("result of an abandoned engine job dropped: %s", item.error)
