"""An `Engine` that does what a test wrote down. No native library, no process.

    engine = ScriptedEngine([[Say("Hel"), Wait(0.1), Say("lo")], [Crash()]])

Each `generate` takes the next script; when they run out it answers `default`. `requests`
and `loads` record what was asked. `kill` and `cancel` may come from any thread.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from engine.errors import EngineCrashed, EngineError, GenerationError, LoadError
from engine.protocol import TextSink
from engine.types import (
    Backend,
    Benchmark,
    FileState,
    FinishReason,
    GenerateRequest,
    LoadedModel,
    LoadOptions,
    ModelInfo,
    Outcome,
    TextBatch,
    ToolCall,
    UnloadReport,
)


@dataclass(frozen=True)
class Say:
    text: str = ""
    thought: str = ""


@dataclass(frozen=True)
class Wait:
    """Pauses. A deaf wait does not notice `cancel` (only `kill`)."""

    seconds: float
    deaf: bool = False


@dataclass(frozen=True)
class Call:
    """Ends the answer with tool calls."""

    calls: tuple[ToolCall, ...]


@dataclass(frozen=True)
class Fail:
    """Ends the send with an error; the engine stays fine."""

    code: str = "send_failed"
    detail: str = "INTERNAL: scripted"


@dataclass(frozen=True)
class Finish:
    reason: FinishReason = FinishReason.END


@dataclass(frozen=True)
class Crash:
    exit: str = "signal 6 (abort)"


@dataclass(frozen=True)
class Late:
    """Text for a run that is over, as a confused engine would send it."""

    run_id: int
    text: str


Step = Say | Wait | Call | Fail | Finish | Crash | Late


def scripted_info(path: str, *, mtp: bool = True, backends: Sequence[Backend] = ()) -> ModelInfo:
    size = Path(path).stat().st_size if Path(path).exists() else 1
    return ModelInfo(
        path=path,
        name=Path(path).stem,
        file_bytes=size,
        expected_bytes=size,
        mtime_ns=0,
        state=FileState.OK,
        supports_mtp=mtp,
        max_context=1024,
        backends=tuple(backends) or (Backend.CPU, Backend.GPU),
    )


@dataclass
class ScriptedEngine:
    """See the module text. `load_scripts`: an error or seconds per load, in order."""

    scripts: list[list[Step]] = field(default_factory=list)
    default: str = "All right."
    load_seconds: float = 0.0
    load_results: list[EngineError | float] = field(default_factory=list)
    mtp: bool = True
    acceptance_rate: float | None = None
    pid: int = field(default_factory=os.getpid)
    loads: list[LoadOptions] = field(default_factory=list)
    requests: list[GenerateRequest] = field(default_factory=list)
    forgotten: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)
    cancelled: list[int] = field(default_factory=list)
    unloads: int = 0
    closed: bool = False
    kills: int = 0

    def __post_init__(self) -> None:
        self._loaded: LoadedModel | None = None
        self._cancel = threading.Event()
        self._kill = threading.Event()
        self._running: int | None = None
        self._tokens: dict[str, int] = {}

    def load(self, options: LoadOptions) -> LoadedModel:
        self._kill.clear()
        self._loaded = None
        self.loads.append(options)
        result = self.load_results.pop(0) if self.load_results else self.load_seconds
        if isinstance(result, EngineError):
            raise result
        if self._kill.wait(result):
            raise LoadError("load_cancelled")
        self._loaded = LoadedModel(
            info=scripted_info(options.model_path, mtp=self.mtp),
            options=options,
            load_seconds=result,
            context_tokens=options.context_tokens or 1024,
            library_version="0.18.1",
            pid=self.pid,
        )
        return self._loaded

    def generate(self, request: GenerateRequest, sink: TextSink) -> Outcome:
        if self._loaded is None:
            raise GenerationError("not_loaded")
        if self._kill.is_set():
            raise EngineCrashed(exit="killed")
        self.requests.append(request)
        self._cancel.clear()
        self._running = request.run_id
        if request.run_id in self.cancelled:
            self._cancel.set()
        script = self.scripts.pop(0) if self.scripts else [Say(self.default)]
        try:
            return self._play(request, script, sink)
        finally:
            self._running = None

    def _play(self, request: GenerateRequest, script: list[Step], sink: TextSink) -> Outcome:
        start = time.perf_counter()
        text, thought, steps = "", "", 0
        first: float | None = None
        reason = FinishReason.END
        error: EngineError | None = None
        calls: tuple[ToolCall, ...] = ()
        for step in script:
            if self._kill.is_set():
                self._loaded = None
                raise EngineCrashed(exit="killed")
            if self._cancel.is_set():
                reason = FinishReason.STOPPED
                break
            if isinstance(step, Say):
                steps += 1
                now = time.perf_counter() - start
                first = now if first is None else first
                text += step.text
                thought += step.thought
                sink(
                    TextBatch(
                        run_id=request.run_id,
                        text=step.text,
                        thought=step.thought,
                        steps=steps,
                        elapsed_s=now,
                        first_s=first,
                    )
                )
            elif isinstance(step, Wait):
                self._pause(step)
            elif isinstance(step, Late):
                sink(TextBatch(run_id=step.run_id, text=step.text, steps=1))
            elif isinstance(step, Call):
                calls, reason = step.calls, FinishReason.TOOL_CALLS
            elif isinstance(step, Fail):
                error, reason = GenerationError(step.code, step.detail), FinishReason.ERROR
                break
            elif isinstance(step, Finish):
                reason = step.reason
                break
            else:
                self._loaded = None
                raise EngineCrashed(exit=step.exit)
        if self._kill.is_set():
            self._loaded = None
            raise EngineCrashed(exit="killed")
        if self._cancel.is_set():
            reason = FinishReason.STOPPED
        used = self._tokens.get(request.chat_key, 0) + len(request.message.text.split()) + steps
        self._tokens[request.chat_key] = used
        elapsed = time.perf_counter() - start
        return Outcome(
            run_id=request.run_id,
            reason=reason,
            text=text,
            thought=thought,
            tool_calls=calls,
            benchmark=Benchmark(
                elapsed_s=elapsed,
                ttft_s=first,
                prefill_tokens=used,
                decode_tokens=steps,
                prefill_tps=100.0,
                decode_tps=50.0,
                steps=steps,
            ),
            context_used=used,
            context_total=1024,
            speculative=request.speculative,
            resumed="rebuilt" if request.history else "resident",
            error=error.info() if error else None,
        )

    def _pause(self, step: Wait) -> None:
        end = time.monotonic() + step.seconds
        while time.monotonic() < end and not self._kill.is_set():
            if self._cancel.is_set() and not step.deaf:
                return
            time.sleep(0.002)

    def cancel(self, run_id: int) -> None:
        self.cancelled.append(run_id)
        if self._running == run_id:
            self._cancel.set()

    def expect(self, chat_key: str) -> None:
        self.expected.append(chat_key)

    def forget(self, chat_key: str) -> None:
        self.forgotten.append(chat_key)

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def tokenize(self, text: str) -> tuple[tuple[int, str], ...]:
        return tuple(enumerate(text.split()))

    def render(self, request: GenerateRequest) -> str:
        history = "".join(f"{m.role}: {m.text}\n" for m in (*request.history, request.message))
        return f"system: {request.system}\n{history}"

    def unload(self) -> UnloadReport:
        self.unloads += 1
        self._loaded = None
        return UnloadReport(acceptance_rate=self.acceptance_rate)

    def close(self) -> None:
        self.closed = True
        self._loaded = None

    def kill(self) -> None:
        self.kills += 1
        self._kill.set()
