"""One turn on a loaded engine: plan, send, keep; once more where that helps.

Runs on the thread that drives the engine. Whatever happens, the native conversation ends
in exactly one of three ways: kept (it holds the new turn), given back (nothing was sent)
or deleted (cancelled or failed; its checkpoint stays).
"""

from __future__ import annotations

import msgspec

from engine import generation, media
from engine._ffi import Native
from engine.chat_states import Plan
from engine.conversations import Conversations
from engine.loading import Loaded
from engine.native_values import NativeError
from engine.protocol import TextSink
from engine.sending import Sending, drafts
from engine.stream import Run
from engine.types import FinishReason, GenerateRequest, Message, Outcome, TextPart

__all__ = ["drafts", "run_turn"]

LOST_BUFFER = "Cannot auto-resize tensor kv_cache"
"""A drafting send after a change of conversation fails at once with this, about one in two
hundred (0.18.1; the verifier takes a new buffer for an older one). The next one does not."""


def run_turn(
    native: Native,
    loaded: Loaded,
    chats: Conversations,
    request: GenerateRequest,
    run: Run,
    sink: TextSink,
) -> Outcome:
    """Sends `request` and returns how it ended. Raises `NativeError` or `EngineError`.

    A picture the engine cannot read, somewhere in the history (an import, a damaged disk),
    is told only when the conversation is built: then it is sent once more without those.
    """
    request, unseen = media.prepared(request, loaded.info, loaded.options)
    try:
        outcome = _run(native, loaded, chats, request, run, sink)
        failed = outcome.error is not None and outcome.error.code == "bad_media"
    except NativeError as error:
        failed = generation.send_error(str(error), constrained=False).code == "bad_media"
        if not failed or not media.has_media(request.history):
            raise
    if failed and media.has_media(request.history) and not run.cancelled:
        request, unread = media.without_history(request)
        unseen = (*unseen, *unread)
        outcome = _run(native, loaded, chats, request, run, sink)
    return msgspec.structs.replace(outcome, unseen=unseen) if unseen else outcome


def _run(
    native: Native,
    loaded: Loaded,
    chats: Conversations,
    request: GenerateRequest,
    run: Run,
    sink: TextSink,
) -> Outcome:
    plan = chats.plan(request, drafts(request, loaded))
    try:
        outcome = _once(native, loaded, chats, request, run, plan, sink)
        failed = outcome.error is not None and (
            LOST_BUFFER in outcome.error.detail
            or (bool(plan.opened) and outcome.error.code == "send_failed")
        )
        said = outcome.text or outcome.thought or outcome.tool_calls
        again = failed and not said
    except NativeError:
        if not plan.opened or run.cancelled:
            raise
        again = True  # a template that does not go on with an answer
    if again and not run.cancelled:
        chats.forget(request.chat_key)
        plan = chats.plan(request, drafts(request, loaded))
        outcome = _once(native, loaded, chats, request, run, plan, sink)
    return outcome


def _once(
    native: Native,
    loaded: Loaded,
    chats: Conversations,
    request: GenerateRequest,
    run: Run,
    plan: Plan,
    sink: TextSink,
) -> Outcome:
    turn = Sending(native, loaded, request, run, plan)
    try:
        refused = turn.prepare()
    except BaseException:
        chats.unsent(request, plan)
        raise
    if refused is not None:
        chats.unsent(request, plan)
        return refused
    try:
        outcome = turn.send(sink)
    except BaseException:
        if turn.prompted is not None:
            turn.prompted.close()
        chats.failed(request, plan, Message("assistant", ()))
        raise
    parts = (TextPart(outcome.text),) if outcome.text else ()
    answer = Message("assistant", parts, outcome.tool_calls)
    prompted = turn.prompted
    if turn.broken or outcome.reason in (FinishReason.STOPPED, FinishReason.ERROR):
        if prompted is not None and (outcome.thought or turn.forgot or not turn.usable):
            prompted.close()
            prompted = None
        chats.failed(request, plan, answer, leak=turn.lost, prompted=prompted)
    else:
        chats.finished(request, plan, answer, spent=prompted)
    if turn.forgot:
        chats.forget(request.chat_key)
    return outcome
