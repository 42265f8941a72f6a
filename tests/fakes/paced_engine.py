"""An `Engine` with invented speeds, for the benchmark's own tests. It never waits.

    engine = PacedEngine(speed=lambda request, n: 60.0 if request.speculative else 50.0)

`speed` gives the decode tok/s of the n-th send (warm-up sends included). `log` records every
call in order: ("load", options), ("send", request), ("unload",). `on_send` may cancel.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from engine.errors import EngineCrashed, EngineError, LoadError
from engine.protocol import TextSink
from engine.types import (
    Benchmark,
    FinishReason,
    GenerateRequest,
    LoadedModel,
    LoadOptions,
    Outcome,
    UnloadReport,
)
from tests.fakes.scripted_engine import scripted_info


def _default_speed(request: GenerateRequest, _n: int) -> float:
    return 80.0 if request.speculative else 50.0


def _default_text(request: GenerateRequest) -> str:
    return f"The answer to {request.message.text[:20]} is long enough."


@dataclass
class PacedEngine:
    speed: Callable[[GenerateRequest, int], float | None] = _default_speed
    text: Callable[[GenerateRequest], str] = _default_text
    tokens: int = 64
    steps_on: int = 32
    rates: list[float | None] = field(default_factory=list)
    load_error: EngineError | None = None
    refuses_on: EngineError | None = None
    """Raised by a load with speculation; without it the model loads."""
    fail_at: int = -1
    reason: FinishReason = FinishReason.LIMIT
    on_send: Callable[[int], None] = lambda _n: None
    on_load: Callable[[int], None] = lambda _n: None
    log: list[tuple[object, ...]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.sends = 0
        self.loads = 0
        self.loaded: LoadedModel | None = None
        self._speculated = False
        self._cancelled: set[int] = set()
        self._killed = False

    def load(self, options: LoadOptions) -> LoadedModel:
        self.log.append(("load", options))
        self.loads += 1
        self.on_load(self.loads)
        if self._killed:
            self._killed = False
            raise LoadError("load_cancelled")
        if self.load_error is not None:
            raise self.load_error
        if self.refuses_on is not None and options.speculative:
            raise self.refuses_on
        self.loaded = LoadedModel(
            info=scripted_info(options.model_path),
            options=options,
            load_seconds=2.0 if self.loads == 1 else 0.3 + 0.1 * self.loads,
            context_tokens=options.context_tokens or 1024,
            library_version="0.18.1",
            pid=0,
        )
        return self.loaded

    def generate(self, request: GenerateRequest, sink: TextSink) -> Outcome:
        assert self.loaded is not None, "send without a load"
        self.log.append(("send", request))
        number, self.sends = self.sends, self.sends + 1
        self._speculated = self._speculated or request.speculative
        self.on_send(number)
        if number == self.fail_at:
            self.loaded = None
            raise EngineCrashed(exit="signal 6 (abort)")
        stopped = request.run_id in self._cancelled
        speed = self.speed(request, number)
        return Outcome(
            run_id=request.run_id,
            reason=FinishReason.STOPPED if stopped else self.reason,
            text=self.text(request),
            speculative=request.speculative,
            chunk_times=(0.1, 0.2) if request.record_times else (),
            benchmark=Benchmark(
                elapsed_s=1.0,
                ttft_s=0.25,
                prefill_tps=400.0,
                decode_tps=speed,
                decode_tokens=self.tokens,
                prefill_tokens=20,
                steps=self.steps_on if request.speculative else self.tokens,
            ),
        )

    def cancel(self, run_id: int) -> None:
        self._cancelled.add(run_id)

    def expect(self, chat_key: str) -> None:
        self.log.append(("expect", chat_key))

    def forget(self, chat_key: str) -> None:
        self.log.append(("forget", chat_key))

    def count_tokens(self, text: str) -> int:
        return len(text) // 4

    def tokenize(self, text: str) -> tuple[tuple[int, str], ...]:
        return ()

    def render(self, request: GenerateRequest) -> str:
        return request.message.text

    def unload(self) -> UnloadReport:
        if self.loaded is None:
            return UnloadReport()
        self.log.append(("unload",))
        self.loaded = None
        drafted, self._speculated = self._speculated, False
        rate = self.rates.pop(0) if self.rates and drafted else None
        return UnloadReport(acceptance_rate=rate, peak_memory=1_000_000 * self.loads)

    def close(self) -> None:
        self.unload()

    def kill(self) -> None:
        self._killed = True
