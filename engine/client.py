"""`HostedEngine`: the engine in a child process, behind the same protocol.

    engine = HostedEngine(log_path=Path("engine.log"))
    loaded = engine.load(LoadOptions(model_path=..., cache_dir=...))
    outcome = engine.generate(request, sink)
    engine.close()

Every load starts a fresh child and every unload ends it: that gives all memory back and
makes switching, unloading and recovery the same path. Threads: one thread drives it;
`cancel`, `expect`, `kill` and the attributes may be used from any. No call waits for ever: a child
without a heartbeat is killed, a stop without a final chunk kills it after `STOP_S`. A slow
prefill keeps its heartbeat and is left alone.

Errors: those of `engine.errors`; `EngineCrashed.params["exit"]` says how it ended, its
`detail` holds the last lines of the engine log.
"""

from __future__ import annotations

import atexit
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

import msgspec

from engine import engine_log, messages, model_file
from engine.child import Child
from engine.child_calls import CLOSE_S, ChildCalls, Reaper
from engine.errors import EngineCrashed, EngineError, LoadError
from engine.protocol import TextSink
from engine.types import (
    Backend,
    GenerateRequest,
    LoadedModel,
    LoadOptions,
    Outcome,
    UnloadReport,
)

Progress = Callable[[float, int | None], None]


class HostedEngine(ChildCalls):
    """One slot for one model, in a process of its own. Nothing starts before `load`."""

    def __init__(
        self, log_path: Path | str | None = None, on_progress: Progress | None = None
    ) -> None:
        """`log_path` gets the child's stderr (rotated at 1 MB); None uses a temporary file.

        `on_progress(seconds, rss_bytes)` is called on the loading thread while a model loads.
        """
        self._log_path = Path(log_path) if log_path is not None else None
        self.on_progress = on_progress
        super().__init__()
        self._early: deque[int] = deque(maxlen=64)
        self._over: deque[int] = deque(maxlen=64)
        self._at_exit = Reaper(self)
        atexit.register(self._at_exit)

    # -- what anybody may ask at any time -------------------------------------------------

    @property
    def pid(self) -> int | None:
        child = self._child
        return child.pid if child is not None else None

    @property
    def rss(self) -> int | None:
        """Resident memory of the engine process in bytes, as of the last heartbeat."""
        child = self._child
        return child.rss if child is not None else None

    @property
    def last_heartbeat(self) -> float | None:
        """`time.monotonic()` of the last sign of life, None before the first."""
        child = self._child
        return child.last_heartbeat if child is not None else None

    @property
    def log_path(self) -> Path | None:
        child = self._child
        return child.log_path if child is not None else self._log_path

    def cancel(self, run_id: int) -> None:
        with self._lock:
            child = self._child
            if self._run_id != run_id or child is None:
                if run_id not in self._over:
                    self._early.append(run_id)
                return
            if self._stopped_at is None:
                self._stopped_at = time.monotonic()
        child.put(messages.Cancel(run_id))

    def expect(self, chat_key: str) -> None:
        child = self._child
        if child is not None:
            child.put(messages.Expect(chat_key))

    def kill(self) -> None:
        with self._lock:
            child = self._child
            if self._working:
                self._killed = True
        if child is not None:
            child.kill()

    # -- load and unload --------------------------------------------------------------------

    def load(self, options: LoadOptions) -> LoadedModel:
        self._begin("load")
        try:
            self._end_gently()
            info = model_file.inspect(options.model_path)
            model_file.check_loadable(info, try_anyway=True)
            self._check_killed()
            began = time.monotonic()
            child = Child(self._log_path)
            with self._lock:
                self._child = child
                killed = self._killed
            if killed:
                child.kill()
            answer = self._call(
                lambda call: messages.Load(call, options, info),
                messages.Loaded,
                waiting=lambda: self._report(time.monotonic() - began),
            )
            self._loaded = True
            return self._with_adapter(answer.model, child)
        except EngineCrashed as error:
            if self._killed:
                raise LoadError("load_cancelled", error.detail) from None
            raise
        finally:
            if not self._loaded:
                self._drop()
            self._finish()

    def _check_killed(self) -> None:
        if self._killed:
            raise LoadError("load_cancelled")

    def _with_adapter(self, model: LoadedModel, child: Child) -> LoadedModel:
        if model.options.backend is Backend.CPU:
            return model
        adapter = engine_log.adapter(child.log_text())
        if adapter is None:
            return model
        return msgspec.structs.replace(model, adapter=adapter.name, adapter_type=adapter.kind)

    def _report(self, seconds: float) -> None:
        if self.on_progress is not None:
            self.on_progress(seconds, self.rss)

    def unload(self) -> UnloadReport:
        """Ends the child and tells what it said. Never raises, never takes long."""
        self._begin("unload")
        try:
            return self._end_gently()
        finally:
            self._finish()

    def close(self) -> None:
        self.unload()
        atexit.unregister(self._at_exit)

    def _end_gently(self) -> UnloadReport:
        """Asks the child to delete everything and exit; kills it when it does not."""
        child, loaded = self._child, self._loaded
        if child is None:
            return UnloadReport()
        peak: int | None = None
        if loaded and child.alive():
            try:
                ask = self._call(messages.Close, messages.Unloaded, deadline=CLOSE_S)
                peak = ask.report.peak_memory
                child.wait(CLOSE_S)
            except (EngineCrashed, TimeoutError):
                pass
        text = child.log_text()
        self._drop()
        return UnloadReport(acceptance_rate=engine_log.acceptance(text), peak_memory=peak)

    # -- calls --------------------------------------------------------------------------------

    def generate(self, request: GenerateRequest, sink: TextSink) -> Outcome:
        self._check_loaded()
        self._begin("generate")
        with self._lock:
            self._run_id, self._stopped_at = request.run_id, None
            child, early = self._child, request.run_id in self._early
            if early:
                self._early.remove(request.run_id)
        try:
            if early and child is not None:
                child.put(messages.Cancel(request.run_id))
            answer = self._call(
                lambda call: messages.Generate(call, request), messages.Finished, sink=sink
            )
            return answer.outcome
        except EngineError:
            raise
        except BaseException:
            # The sink failed or Ctrl-C came: nobody reads on, so the child need not either.
            if child is not None:
                child.put(messages.Cancel(request.run_id))
            raise
        finally:
            with self._lock:
                self._run_id = self._stopped_at = None
                self._over.append(request.run_id)
            self._finish()

    def forget(self, chat_key: str) -> None:
        if self._loaded:
            self._small(lambda call: messages.Forget(call, chat_key), messages.Done)

    def count_tokens(self, text: str) -> int:
        self._check_loaded()
        return self._small(lambda call: messages.CountTokens(call, text), messages.Counted).count

    def tokenize(self, text: str) -> tuple[tuple[int, str], ...]:
        self._check_loaded()
        return self._small(lambda call: messages.Tokenize(call, text), messages.Pieces).pieces

    def render(self, request: GenerateRequest) -> str:
        self._check_loaded()
        return self._small(lambda call: messages.Render(call, request), messages.Rendered).text
