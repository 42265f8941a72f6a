"""The engine as the runner uses it: loads and sends that can be cancelled and bounded.

All methods but `cancel` belong to the thread that the engine belongs to. `cancel` may come
from any thread at any moment, also between two calls.
"""

from __future__ import annotations

import itertools
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from app.bench.schedule import Send
from engine.errors import EngineCrashed, LoadError, from_info
from engine.protocol import Engine
from engine.types import (
    GenerateRequest,
    LoadedModel,
    LoadOptions,
    Message,
    ModelInfo,
    Outcome,
    Sampling,
    TextPart,
)

_RUN_IDS = itertools.count(1 << 40)
"""Far away from the run ids of chats, so a late event of one is never taken for the other."""


GRACE_S = 0.5
"""A signal to a whole process group (a closed terminal, a stopped service) ends the engine
process a moment before this one has heard of it: that is no crash."""


class Cancelled(Exception):
    """The person stopped the comparison."""


class Overdue(Exception):
    """A send had not ended at its deadline and was ended; the engine may be gone with it."""


class Driver:
    """Loads and sends on one engine; every one raises `Cancelled` after `cancel`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._stop = threading.Event()
        self._running: int | None = None
        self._loading = False

    def cancel(self) -> None:
        """Stops at once: a load is killed, a send is cancelled. Any thread."""
        self._stop.set()
        run, loading = self._running, self._loading
        if loading:
            self._engine.kill()
        elif run is not None:
            self._engine.cancel(run)

    def load(self, options: LoadOptions) -> LoadedModel:
        self._loading = True
        try:
            self._check()
            return self._engine.load(options)
        except LoadError:
            self._check()
            raise
        except EngineCrashed:
            self._check_after_death()
            raise
        finally:
            self._loading = False

    def send(
        self,
        send: Send,
        sampling: Sampling,
        limit: int,
        history: tuple[Message, ...] = (),
        deadline_s: float | None = None,
    ) -> Outcome:
        """One send on a conversation of its own. A failed one raises; after `deadline_s`
        seconds it is cancelled (and its engine killed if need be) and `Overdue` raised."""
        run_id = next(_RUN_IDS)
        request = GenerateRequest(
            run_id=run_id,
            chat_key=f"bench-{uuid.uuid4().hex}",
            message=Message(role="user", parts=(TextPart(text=send.prompt.text),)),
            history=history,
            sampling=msgspec.structs.replace(sampling, max_output_tokens=limit),
            speculative=send.speculative,
            keep=False,
            record_times=send.repetition == 0,
        )
        self._running = run_id
        try:
            self._check()
            with self._deadline(run_id, deadline_s):
                outcome = self._engine.generate(request, lambda _batch: self._stop_again(run_id))
        except EngineCrashed:
            self._check_after_death()
            raise
        finally:
            self._running = None
        self._check()
        if outcome.error is not None:
            raise from_info(outcome.error)
        if outcome.speculative is not send.speculative:
            raise LoadError("no_drafter", "the engine did not use the asked speculation")
        return outcome

    @contextmanager
    def _deadline(self, run_id: int, seconds: float | None) -> Iterator[None]:
        """Cancels the run when its time is over; whatever it then gave counts for nothing."""
        if seconds is None:
            yield
            return
        over = threading.Event()

        def end() -> None:
            over.set()
            self._engine.cancel(run_id)

        timer = threading.Timer(seconds, end)
        timer.start()
        try:
            yield
        except EngineCrashed:
            if not over.is_set():
                raise
        finally:
            timer.cancel()
            timer.join()
        if over.is_set():
            self._check()
            raise Overdue

    def _stop_again(self, run_id: int) -> None:
        """The sink: text is not drawn while it is timed. A cancel that came before the engine
        had begun is lost there, so it is repeated here."""
        if self._stop.is_set():
            self._engine.cancel(run_id)

    def _check_after_death(self) -> None:
        self._stop.wait(GRACE_S)
        self._check()

    def _check(self) -> None:
        if self._stop.is_set():
            raise Cancelled


def sampler_of(info: ModelInfo) -> Sampling:
    """The sampler stored in the model file, as `litert-lm benchmark` uses it."""
    base, own = Sampling(seed=42), info.sampler
    return msgspec.structs.replace(
        base,
        temperature=base.temperature if own.temperature is None else own.temperature,
        top_p=base.top_p if own.top_p is None else own.top_p,
        top_k=base.top_k if own.top_k is None else own.top_k,
    )
