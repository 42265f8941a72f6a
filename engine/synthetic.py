"""A send on a synthetic benchmark engine: one native call that ends with its last token.

It is what `litert-lm benchmark` times: the model alone. Nobody reads text meanwhile, as the
stream of a chat does, which at 1 000 tok/s on two cores takes some per cent of them. The
prompt is padded and its text means nothing, so none is returned.

Runs on the thread that drives the engine; `Run.cancel` may come from any.
"""

from __future__ import annotations

import time

from engine import generation, wire
from engine._ffi import Native
from engine.conversations import Conversations
from engine.generation import Stream
from engine.loading import Loaded
from engine.native_values import TurnNumbers
from engine.stream import Run
from engine.types import FinishReason, GenerateRequest, LoadOptions, Outcome


def is_synthetic(options: LoadOptions) -> bool:
    return bool(options.prefill_tokens or options.decode_tokens)


def run_turn(
    native: Native, loaded: Loaded, chats: Conversations, request: GenerateRequest, run: Run
) -> Outcome:
    """Sends `request` and waits. Raises `NativeError`, also for a run that was cancelled."""
    drafting = bool(request.speculative and loaded.info.supports_mtp)
    cap = request.sampling.max_output_tokens or loaded.options.decode_tokens or 256
    message = wire.send_json((request.message,))
    total = loaded.options.context_tokens
    with (
        chats.create(request, drafting, request.history) as conversation,
        native.optional_args(max_output=cap) as args,
    ):
        begun = run.begin(
            lambda _token: native.send_and_wait(conversation, message, args),
            lambda: native.cancel(conversation),
        )
        run.end()
        stream = Stream(ended=time.perf_counter())
        numbers = native.turn_numbers(conversation, TurnNumbers())
        used = native.token_count(conversation)
    stopped = run.cancelled or not begun
    return Outcome(
        run_id=run.run_id,
        reason=FinishReason.STOPPED if stopped else FinishReason.LIMIT,
        benchmark=generation.benchmark(stream, run, TurnNumbers(), numbers) if begun else None,
        context_used=None if used is None else min(used, total),
        context_total=total,
        speculative=drafting,
        resumed="rebuilt",
    )
