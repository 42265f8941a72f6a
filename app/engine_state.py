"""What the engine slot is doing, as one immutable value.

`EngineService` publishes a new `EngineState` on every change; headers, the load dialog and
the command line read it. No Qt here.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from engine.types import ErrorInfo, LoadedModel, LoadOptions


class Phase(StrEnum):
    """NONE: nothing loaded. STOPPED: the engine process died or was killed."""

    NONE = "none"
    LOADING = "loading"
    READY = "ready"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class EngineState:
    """`wanted` are the options of the running load, `loaded` the model that is ready.

    `load_started` is `time.monotonic()` at the start of the load; `memory` the engine
    process's resident bytes, None when unknown; `error` why there is no engine.
    """

    phase: Phase = Phase.NONE
    wanted: LoadOptions | None = None
    loaded: LoadedModel | None = None
    load_started: float | None = None
    memory: int | None = None
    error: ErrorInfo | None = None
    busy_run: int | None = None
    exclusive: bool = False
