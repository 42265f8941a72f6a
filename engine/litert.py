"""`LiteRtEngine`: the engine in this process. Normally that is the child (`engine.host`).

Threads: one thread drives it; `cancel` may come from any. Ownership: conversations are
deleted before the engine, always. Errors: those of `engine.errors`; a failed send is an
`Outcome` with reason ERROR.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque

from engine import (
    _ffi,
    generation,
    loading,
    media,
    memory,
    settling,
    stream,
    synthetic,
    template_check,
    turn,
    wire,
)
from engine._ffi import Native
from engine.conversations import Conversations
from engine.errors import EngineError, GenerationError
from engine.native_values import NativeError
from engine.protocol import TextSink
from engine.stream import Run
from engine.types import (
    LIBRARY_VERSION,
    Backend,
    FinishReason,
    GenerateRequest,
    LoadedModel,
    LoadOptions,
    ModelInfo,
    Outcome,
    UnloadReport,
)


class LiteRtEngine:
    """One slot for one model, in process."""

    def __init__(self, *, log_level: int = _ffi.LOG_INFO) -> None:
        """The native library is opened at the first load."""
        self._log_level = log_level
        self._native: Native | None = None
        self._loaded: loading.Loaded | None = None
        self._chats: Conversations | None = None
        self._lock = threading.Lock()
        self._run: Run | None = None
        self._stopped: settling.Stopped | None = None
        self._tried = False
        self._early: deque[int] = deque(maxlen=64)
        self._over: deque[int] = deque(maxlen=64)

    # -- load and unload ----------------------------------------------------------------

    def load(self, options: LoadOptions, info: ModelInfo | None = None) -> LoadedModel:
        """`info`: the header facts where the caller has them already."""
        self.unload()
        native = self._open()
        began = time.perf_counter()
        loaded = loading.load(native, options, info)
        self._loaded = loaded
        self._chats = Conversations(
            native,
            loaded.engine,
            thinks=loaded.info.supports_thinking,
            cpu=loaded.options.backend is Backend.CPU,
        )
        return LoadedModel(
            info=loaded.info,
            options=loaded.options,
            load_seconds=time.perf_counter() - began,
            context_tokens=loaded.options.context_tokens,
            library_version=LIBRARY_VERSION,
            pid=os.getpid(),
            threads=loading.threads_used(native, loaded.options),
            notes=loaded.notes + template_check.notes(self.render),
        )

    def _open(self) -> Native:
        if self._native is None:
            native = Native()
            native.set_log_level(self._log_level)
            native.stream_callback(stream.on_chunk)
            self._native = native
        return self._native

    def _ready(self) -> tuple[Native, loading.Loaded, Conversations]:
        if self._native is None or self._loaded is None or self._chats is None:
            raise GenerationError("not_loaded")
        return self._native, self._loaded, self._chats

    def unload(self) -> UnloadReport:
        chats, loaded = self._chats, self._loaded
        self._chats = self._loaded = self._stopped = None
        if loaded is None:
            return UnloadReport()
        if chats is not None:
            chats.close()
        loaded.engine.close()
        return UnloadReport(peak_memory=memory.peak_bytes())

    def close(self) -> None:
        self.unload()

    def kill(self) -> None:
        """Nothing can be killed in this process; cancels what runs."""
        with self._lock:
            run = self._run
        if run is not None:
            run.cancel()

    def cancel(self, run_id: int) -> None:
        with self._lock:
            run = self._run
            if run is None or run.run_id != run_id:
                if run_id not in self._over:
                    self._early.append(run_id)
                return
        run.cancel()

    def forget(self, chat_key: str) -> None:
        if self._chats is not None:
            self._chats.forget(chat_key)

    # -- tokens and prompts -------------------------------------------------------------

    def count_tokens(self, text: str) -> int:
        native, loaded, _ = self._ready()
        return len(self._tokens(native, loaded, text))

    def _tokens(self, native: Native, loaded: loading.Loaded, text: str) -> tuple[int, ...]:
        if "tokenize" not in native.features:
            raise GenerationError("send_failed", "this library cannot tokenize")
        try:
            return native.tokenize(loaded.engine, wire.clean_text(text))
        except NativeError as error:
            raise GenerationError("send_failed", str(error)) from error

    def tokenize(self, text: str) -> tuple[tuple[int, str], ...]:
        native, loaded, _ = self._ready()
        ids = self._tokens(native, loaded, text)
        if "detokenize" not in native.features:
            return tuple((i, "") for i in ids)
        out: list[tuple[int, str]] = []
        for at, token in enumerate(ids):
            # Some tokenizers drop the blank before a lone piece: show it after the last.
            before = ids[at - 1 : at]
            piece = native.detokenize(loaded.engine, (*before, token))
            head = native.detokenize(loaded.engine, before) if before else ""
            if head and piece.startswith(head):
                piece = piece[len(head) :]
            elif head:
                piece = native.detokenize(loaded.engine, (token,))
            out.append((token, piece))
        return tuple(out)

    def render(self, request: GenerateRequest) -> str:
        native, loaded, chats = self._ready()
        speculative = turn.drafts(request, loaded)
        request, _ = media.prepared(request, loaded.info, loaded.options, strict=False)
        try:
            with chats.create(request, speculative, request.history) as conversation:
                message = wire.send_json((request.message,))
                return native.render_message(conversation, message) or ""
        except NativeError as error:
            raise GenerationError("send_failed", str(error)) from error

    # -- generate -----------------------------------------------------------------------

    def generate(self, request: GenerateRequest, sink: TextSink) -> Outcome:
        native, loaded, chats = self._ready()
        self._stopped, self._tried = None, False
        run = Run(request.run_id)
        with self._lock:
            if self._run is not None:
                raise GenerationError("busy")
            self._run = run
            run.cancelled = request.run_id in self._early
            if run.cancelled:
                self._early.remove(request.run_id)
        try:
            if synthetic.is_synthetic(loaded.options):
                return synthetic.run_turn(native, loaded, chats, request, run)
            outcome = turn.run_turn(native, loaded, chats, request, run, sink)
            self._stopped = settling.stopped(request, outcome)
            return outcome
        except NativeError as error:
            failure: EngineError = generation.send_error(
                str(error), constrained=request.constraint is not None
            )
        except EngineError as error:
            failure = error
        finally:
            with self._lock:
                self._run = None
                self._over.append(request.run_id)
        return Outcome(
            run_id=request.run_id,
            reason=FinishReason.STOPPED if run.cancelled else FinishReason.ERROR,
            context_total=loaded.options.context_tokens,
            speculative=turn.drafts(request, loaded),
            error=None if run.cancelled else failure.info(),
        )

    # -- while nobody waits -------------------------------------------------------------

    def expect(self, chat_key: str) -> None:
        """Nothing is done in this process: whoever drives it calls `settle` when it suits."""

    @property
    def unsettled(self) -> bool:
        """Whether the last turn was stopped and `settle` was not called since."""
        return self._stopped is not None and not self._tried

    def settle(self, expected: str = "") -> bool:
        """Makes the turn after a Stop as quick as any other, see `engine.settling`.

        `expected`: a message to this chat is being written. Takes about one work group. Needed
        never; False when nothing was done.
        """
        turn = self._stopped
        if turn is None or self._native is None or self._loaded is None or self._chats is None:
            return False
        if expected and turn.request.chat_key != expected:
            return False
        if self._tried and not expected:
            return False
        self._tried = True
        parts = (self._native, self._loaded, self._chats)
        result = settling.settle(*parts, turn, expected=bool(expected))
        if result is not settling.Result.LATER:
            self._stopped = None
        return result is settling.Result.DONE
