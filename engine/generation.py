"""One send: from the started stream to its outcome.

Runs on the thread that called `generate`. Text goes to the sink at once for the first
chunk and then in batches of some milliseconds or at the end; the sink's texts joined are exactly
the outcome's texts. "Stopped" is decided by the run's own flag, never by wording.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from engine import chunks
from engine.errors import GenerationError
from engine.markers import AnswerFilter
from engine.native_values import TurnNumbers
from engine.protocol import TextSink
from engine.stream import Run
from engine.types import Benchmark, ErrorInfo, FinishReason, TextBatch, ToolCall

BATCH_S = 0.025
"""Below a frame of the window (33 ms): shorter batches only cost the model its cores. Longer ones
let a short answer of a fast model end before a Stop after its first words is heard."""
LONG_S, LONG_BATCH_S = 0.5, 0.05
"""An answer that takes longer than that comes in longer batches: each of them wakes three threads
of two processes, whose cores the model computes on."""
POLL_S = 0.25
NO_FINAL_S = 10.0
"""So long a stopped run may take to deliver its final chunk in this process; the parent
process is stricter and ends the whole child."""

LIMIT_WORDS = ("max number of tokens reached", "context window out of bounds")
CACHED_PREFILL_S = 1e-4
"""A prefill below this was answered from the engine's prefix cache: no speed to show."""


@dataclass(slots=True)
class Stream:
    """What arrived so far. `error` is the engine's text, `limit_hit` its limit signal."""

    texts: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    ended: float = 0.0
    error: str = ""
    looped: bool = False
    lost: bool = False
    trouble: BaseException | None = None

    @property
    def text(self) -> str:
        return "".join(self.texts)

    @property
    def thought(self) -> str:
        return "".join(self.thoughts)

    @property
    def limit_hit(self) -> bool:
        return any(word in self.error.lower() for word in LIMIT_WORDS)


def collect(
    run: Run, sink: TextSink, answer: AnswerFilter, count: Callable[[str], int] | None = None
) -> Stream:
    """Reads the run's chunks to the final one, passing text on. Always ends the run.

    Whatever the sink raises is raised after the native side has ended, never before.
    `count` tells the tokens of a piece of text, for the live figure of a drafting run.
    """
    stream = Stream()
    tokens = 0
    join_text, join_thought = chunks.Joiner(), chunks.Joiner()
    came: list[tuple[str, str]] = []
    waiting: list[tuple[str, str]] = []
    sent_at = stopped_at = 0.0

    def take(text: str, thought: str) -> None:
        shown, hidden = answer.feed(join_text.feed(text)) if text else ("", "")
        add(shown, join_thought.feed(thought) + hidden if thought else hidden)
        if answer.looping and not stream.looped:
            stream.looped = True
            run.abort()

    def take_all() -> None:
        """Joins what came since the last batch: one pass of the filters for many chunks."""
        if came:
            take("".join(t for t, _ in came), "".join(t for _, t in came))
            came.clear()

    def add(text: str, thought: str) -> None:
        if text or thought:
            stream.texts.append(text)
            stream.thoughts.append(thought)
            waiting.append((text, thought))

    def flush(now: float) -> None:
        nonlocal sent_at, tokens
        if not waiting:
            return
        sent_at = now
        if count is not None:
            tokens += count("".join(text + thought for text, thought in waiting))
        batch = TextBatch(
            run_id=run.run_id,
            text="".join(t for t, _ in waiting),
            thought="".join(t for _, t in waiting),
            steps=len(stream.times),
            elapsed_s=now - run.started,
            first_s=stream.times[0] if stream.times else None,
            tokens=None if count is None else tokens,
        )
        waiting.clear()
        try:
            sink(batch)
        except BaseException as error:
            stream.trouble = stream.trouble or error
            run.abort()

    try:
        while True:
            if came or waiting:
                # One waking a batch, not one a chunk: at 1 000 tok/s on two cores those
                # wakings took a third of the model's speed.
                length = LONG_BATCH_S if sent_at > run.started + LONG_S else BATCH_S
                pause = sent_at + length - time.perf_counter()
                if pause > 0:
                    time.sleep(pause)
            chunk = run.next(0.0 if came or waiting else POLL_S)
            now = time.perf_counter()
            if chunk is None and (came or waiting):
                take_all()
                flush(now)
                continue
            if chunk is None:
                if run.cancelled or stream.looped or stream.trouble:
                    stopped_at = stopped_at or now
                    run.abort()
                    if now - stopped_at > NO_FINAL_S:
                        stream.lost = True
                        break
                continue
            if not run.cancelled and not stream.looped and not stream.trouble:
                delta = chunks.parse_chunk(chunk.text)
                if delta.text or delta.thought or delta.tool_calls:
                    stream.times.append(chunk.at - run.started)
                    stream.calls.extend(delta.tool_calls)
                    came.append((delta.text, delta.thought))
            if chunk.error is not None:
                stream.error = chunk.error.decode("utf-8", "replace") or "unknown error"
            if chunk.final or chunk.error is not None:
                stream.ended = chunk.at
                break
        stream.ended = stream.ended or time.perf_counter()
        take_all()
        take(join_text.finish(), join_thought.finish())
        add(*answer.finish())
        flush(time.perf_counter())
    finally:
        run.end()
    if stream.trouble is not None:
        raise stream.trouble
    return stream


def benchmark(stream: Stream, run: Run, before: TurnNumbers, now: TurnNumbers) -> Benchmark:
    """The engine's figures of this send alone; what it does not have stays None.

    The engine's TTFT belongs to the first turn of a conversation for ever (0.18.1); for
    later turns the same sum is made from their own figures: prefill time plus the mean
    time of one token. A prefill out of the prefix cache leaves only the stream's own time.
    """
    prefill_s, decode_s = now.prefill_s, now.decode_s
    cached = prefill_s is not None and prefill_s < CACHED_PREFILL_S
    tokens = now.decode_tokens or None
    ttft = None
    first = before.prefill_turns == before.decode_turns == 0
    if first and now.decode_turns == 1 and tokens:
        ttft = now.first_ttft_s
    elif prefill_s is not None and decode_s and tokens:
        ttft = prefill_s + decode_s / tokens
    if cached and stream.times:
        ttft = stream.times[0]
    prefill = now.prefill_tokens
    return Benchmark(
        elapsed_s=max(0.0, stream.ended - run.started),
        ttft_s=ttft or None,
        init_s=now.init_s,
        prefill_tokens=prefill,
        decode_tokens=tokens,
        prefill_tps=prefill / prefill_s if prefill and prefill_s and not cached else None,
        decode_tps=tokens / decode_s if tokens and decode_s else None,
        steps=len(stream.times) or None,
    )


def finish_reason(
    stream: Stream, run: Run, numbers: Benchmark, *, cap: int, wanted: int | None, drafting: bool
) -> FinishReason:
    """Why the send ended. `cap` is the limit sent, `wanted` the person's, if any."""
    if run.cancelled:
        return FinishReason.STOPPED
    if stream.lost or (stream.error and not stream.limit_hit and not stream.looped):
        return FinishReason.ERROR
    at_limit = FinishReason.LIMIT if wanted is not None and cap >= wanted else None
    at_limit = at_limit or FinishReason.CONTEXT_FULL
    if stream.limit_hit:
        return at_limit
    if stream.calls:
        return FinishReason.TOOL_CALLS
    if stream.looped:
        return FinishReason.END
    return at_limit if _reached(numbers, cap, drafting) else FinishReason.END


def _reached(numbers: Benchmark, cap: int, drafting: bool) -> bool:
    """Whether the answer was cut at `cap` tokens; 0.18.1 gives no signal of its own.

    Without drafting the end marker counts as a token but makes no chunk, so an answer that
    ended by itself exactly at the cap has one chunk less than tokens.
    """
    steps = numbers.steps or 0
    tokens = numbers.decode_tokens if numbers.decode_tokens is not None else steps
    if tokens < cap:
        return False
    return drafting or steps != tokens - 1


def send_error(text: str, *, constrained: bool) -> GenerationError:
    """The error of the tree for the engine's failure text, which is kept as detail."""
    lower = text.lower()
    if "ids are too long" in lower or "exceeds available state" in lower:
        return GenerationError("context_full", text)
    if constrained and any(w in lower for w in ("constraint", "parser", "commit token", "regex")):
        return GenerationError("constraint_failed", text)
    if any(w in lower for w in ("image", "audio", "decode base64", "vision")):
        return GenerationError("bad_media", text, reason="the engine cannot read it")
    return GenerationError("send_failed", text)


def only_thoughts(stream: Stream) -> ErrorInfo | None:
    if not stream.text.strip() and stream.thought.strip() and not stream.calls:
        return ErrorInfo(code="only_thoughts")
    return None
