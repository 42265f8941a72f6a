"""Decode speeds of real answers, kept over chats and runs of the program.

Main thread. Only numbers are kept (file, backend, off or on, tok/s), in the values beside
the history, so they outlive the chats. They are shown as what they are, observations of
different texts: `Auto` never follows them.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from app.auto_spec import MIN_TOKENS, Observed, observed
from app.conversation import RunRecord
from app.history import History
from engine.types import Backend, FinishReason

KEY = "observed_rates"
KEPT = 400
"""So many answers of all models together; older ones go first."""

ENDED = (FinishReason.END, FinishReason.LIMIT)


class Rate(msgspec.Struct, frozen=True):
    path: str
    backend: str
    on: bool
    tps: float


class ObservedRates:
    """`add` finished answers; `of` tells what one model file reached on one backend."""

    def __init__(self, history: History, on_changed: Callable[[], None]) -> None:
        self._history = history
        self._on_changed = on_changed
        self._rates: list[Rate] = []
        self._opened = False

    async def open(self) -> None:
        """Reads what earlier runs of the program kept; the history must be open."""
        kept = await self._history.value(KEY, list[Rate]) or []
        early = bool(self._rates)
        self._rates = [*kept, *self._rates][-KEPT:]
        self._opened = True
        if early:
            self._history.set_value(KEY, self._rates)
        self._on_changed()

    def add(self, run: RunRecord) -> None:
        """Takes the figures of one answer, if they say anything."""
        told = run.decode_tps and (run.decode_tokens or 0) >= MIN_TOKENS
        if not told or run.reason not in ENDED or not run.model_path or not run.decode_tps:
            return
        self._rates.append(Rate(run.model_path, run.backend, run.speculative, run.decode_tps))
        del self._rates[:-KEPT]
        if self._opened:  # before that, what was kept would be overwritten
            self._history.set_value(KEY, self._rates)
        self._on_changed()

    def of(self, model_path: str, backend: Backend) -> Observed:
        wanted = (model_path, backend.value)
        return observed((r.on, r.tps) for r in self._rates if (r.path, r.backend) == wanted)
