"""One send of a turn on a loaded engine: guard, send, read.

Runs on the thread that drives the engine. Limits are checked with the model's own tokenizer
before anything reaches the native side.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

from engine import _ffi, generation, media, wire
from engine._ffi import Native, Owned
from engine.chat_states import Plan
from engine.context_guard import Room, group, room
from engine.generation import Stream
from engine.loading import Loaded
from engine.markers import AnswerFilter
from engine.native_values import NativeError, TurnNumbers
from engine.prompt_clone import BEGUN, PromptClone
from engine.protocol import TextSink
from engine.stream import Run
from engine.types import (
    Benchmark,
    ConstraintKind,
    ErrorInfo,
    FinishReason,
    GenerateRequest,
    Outcome,
)

_TOO_LONG = re.compile(r"(\d+) >= \d+")
"""The engine's count of a prompt that is too long, when it names one."""

SLACK = 8
"""So many tokens a turn's own figures may differ from its context while drafting."""

_KINDS = {ConstraintKind.REGEX: _ffi.REGEX, ConstraintKind.JSON_SCHEMA: _ffi.JSON_SCHEMA}


def drafts(request: GenerateRequest, loaded: Loaded) -> bool:
    """What is really used: never without a drafter, never with a constraint."""
    return bool(request.speculative and loaded.info.supports_mtp and request.constraint is None)


class Sending:
    """The steps of one turn. `broken`: the conversation cannot be used again; `forgot`: the
    engine took more for done than its context holds, so nothing may go on from there;
    `prompted`: a clone of the conversation, which the caller owns; `usable`: it was made before
    the answer began."""

    def __init__(
        self, native: Native, loaded: Loaded, request: GenerateRequest, run: Run, plan: Plan
    ) -> None:
        self._native, self._loaded, self._request = native, loaded, request
        self._run, self._plan = run, plan
        self._drafting = drafts(request, loaded)
        self._sampling = wire.safe_sampling(request.sampling)
        self._message = wire.send_json(plan.messages)
        self._rendered = ""
        self._cap = self._left = self._used = self._needs = 0
        known = plan.messages if not plan.fresh else (*request.history, *plan.messages)
        self._media = media.has_media(known)
        self.broken = self.lost = self.forgot = False
        self.prompted: Owned | None = None
        self.usable = False

    def prepare(self) -> Outcome | None:
        """Guards the context and sets the answer's cap. An outcome means: do not send."""
        if self._run.cancelled:
            return self._ended(FinishReason.STOPPED)
        options = self._loaded.options
        wanted = self._sampling.max_output_tokens
        if options.prefill_tokens or options.decode_tokens:
            self._cap = wanted or options.decode_tokens or 256
            return None
        space = self._room()
        self._left = space.left
        self._cap = space.cap if wanted is None else min(wanted, space.cap)
        if space.fits and not space.full:
            return None
        code = "context_full" if space.full else "message_too_long"
        params = {"needs": str(space.needs), "left": str(space.left)}
        return self._ended(
            FinishReason.ERROR,
            error=ErrorInfo(code=code, params=params),
            needs=space.needs,
            left=space.left,
        )

    def _room(self) -> Room:
        """What fits; images and sounds count as the words that stand for them in the prompt,
        less than they take, so the engine has the last word on those (see `_outcome`)."""
        native, plan = self._native, self._plan
        used = self._used = native.token_count(plan.conversation) or 0
        needs = 0
        rendered = native.render_message(plan.conversation, self._message)
        self._rendered = (rendered or "").removeprefix(plan.opened)
        if rendered and "tokenize" in native.features:
            needs = len(native.tokenize(self._loaded.engine, self._rendered))
        self._needs = needs
        limit = self._loaded.options.context_tokens
        return room(limit, used, needs, group(self._loaded.info))

    def _counter(self) -> Callable[[str], int] | None:
        """Counts tokens of text while drafting; a tokenizer that fails counts nothing."""
        native, engine = self._native, self._loaded.engine
        if not self._drafting or "tokenize" not in native.features:
            return None

        def count(text: str) -> int:
            try:
                return len(native.tokenize(engine, text))
            except NativeError:
                return 0

        return count

    def send(self, sink: TextSink) -> Outcome:
        native, plan = self._native, self._plan
        conversation, extra = plan.conversation, BEGUN if plan.opened else "{}"
        before = native.turn_numbers(conversation, TurnNumbers())
        args = self._arguments()
        clone: PromptClone | None = None
        try:
            started = self._run.begin(
                lambda token: native.send(conversation, self._message, args, token, extra),
                lambda: native.cancel(conversation),
            )
            if not started:
                args.close()
                return self._ended(FinishReason.STOPPED)
            if plan.prompted:
                clone = PromptClone(native, conversation)
            opened = self._rendered.rstrip().endswith("<think>")
            answer = AnswerFilter(self._loaded.info.stop_tokens, thinking=opened)
            stream = generation.collect(self._run, sink, answer, self._counter())
        except BaseException:
            args.close()
            if clone is not None:
                self.prompted = clone.taken()
            raise
        self.lost = stream.lost
        self.broken = stream.lost or stream.looped or bool(stream.error)
        if not stream.lost:
            args.close()  # the native side may read them until the final chunk
        now = native.turn_numbers(conversation, before)
        numbers = generation.benchmark(stream, self._run, before, now)
        if clone is not None and not stream.lost:
            self.prompted = clone.taken()
            if self.prompted is not None and numbers.prefill_tokens is not None:
                count = native.token_count(self.prompted)
                self.usable = count == self._used + numbers.prefill_tokens
        if plan.partly:
            # Tokens taken over from the checkpoint took no time: their speed is not known.
            numbers = msgspec.structs.replace(numbers, prefill_tps=None)
        self.forgot = self._forgets(numbers)
        return self._outcome(stream, numbers)

    def _forgets(self, numbers: Benchmark) -> bool:
        """Whether the context is shorter than what was put into it (see `engine.catch_up`),
        or the begin of an answer was put into it twice (see `engine.prompt_clone`)."""
        options, prompt = self._loaded.options, numbers.prefill_tokens
        if self.lost or prompt is None or options.prefill_tokens or options.decode_tokens:
            return False
        if self._plan.opened and not self._media and prompt != self._needs:
            return True
        held = self._native.token_count(self._plan.conversation)
        put = self._used + prompt + (numbers.decode_tokens or 0)
        return held is not None and held < put - SLACK

    def _arguments(self) -> Owned:
        constraint = self._request.constraint
        return self._native.optional_args(
            max_output=self._cap,
            constraint=(_KINDS[constraint.kind], constraint.text) if constraint else None,
            penalty=self._sampling.repetition_penalty,
        )

    def _outcome(self, stream: Stream, numbers: Benchmark) -> Outcome:
        cap = self._cap
        if self._media and numbers.prefill_tokens:
            taken = self._used + numbers.prefill_tokens
            cap = max(1, min(cap, self._loaded.options.context_tokens - taken))
        reason = generation.finish_reason(
            stream,
            self._run,
            numbers,
            cap=cap,
            wanted=self._sampling.max_output_tokens,
            drafting=self._drafting,
        )
        error: ErrorInfo | None = None
        synthetic = self._loaded.options.prefill_tokens or self._loaded.options.decode_tokens
        if stream.lost and reason is FinishReason.STOPPED:
            error = ErrorInfo(code="no_final")
        elif reason is FinishReason.ERROR:
            constrained = self._request.constraint is not None
            error = generation.send_error(stream.error, constrained=constrained).info()
            if error.code == "context_full" and self._media and not stream.text:
                return self._too_long(stream.error)
        elif reason is not FinishReason.STOPPED and not synthetic:
            error = generation.only_thoughts(stream)
            if error is None and not stream.text and not stream.calls:
                reason, error = FinishReason.ERROR, ErrorInfo(code="empty_answer")
        return self._ended(reason, stream=stream, numbers=numbers, error=error)

    def _too_long(self, text: str) -> Outcome:
        """Images and sounds that do not fit, which only the engine could tell."""
        counted = _TOO_LONG.search(text)
        needs = int(counted[1]) - self._used if counted else None
        params = {"needs": "—" if needs is None else str(needs), "left": str(self._left)}
        return self._ended(
            FinishReason.ERROR,
            error=ErrorInfo(code="message_too_long", detail=text, params=params),
            needs=needs,
            left=self._left,
        )

    def _ended(
        self,
        reason: FinishReason,
        *,
        stream: Stream | None = None,
        numbers: Benchmark | None = None,
        error: ErrorInfo | None = None,
        needs: int | None = None,
        left: int | None = None,
    ) -> Outcome:
        total = self._loaded.options.context_tokens
        used = None if self.lost else self._native.token_count(self._plan.conversation)
        request = self._request
        return Outcome(
            run_id=self._run.run_id,
            reason=reason,
            text=stream.text if stream else "",
            thought=stream.thought if stream else "",
            tool_calls=tuple(stream.calls) if stream else (),
            benchmark=numbers,
            context_used=None if used is None else min(used, total),
            context_total=total,
            speculative=self._drafting,
            resumed=self._plan.resumed,
            error=error,
            needs=needs,
            left=left,
            chunk_times=tuple(stream.times) if stream and request.record_times else (),
        )
