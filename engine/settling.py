"""A stopped answer is read to its end while nobody waits, so that the next turn costs its own.

After a Stop the next send goes on from the checkpoint and reads a few tokens of the stopped
answer once more (`engine.catch_up`); few as they are, they may open another work group, which
doubles the time of a short prompt. So the host, when no command came for a moment, sends the
stopped exchange to a clone of the checkpoint, without the begin of a new answer behind it
(`add_generation_prompt` is the templates' own name for that). A clone made between this prompt
and the one token that the engine insists on (`engine.prompt_clone`) then is the finished turn.

That token stays in the memory which the clone shares. If it began the next turn, the engine
would take it for a part of that turn (`engine.catch_up`): it is told to choose another one,
and the clone is only kept when it did.

Nothing here is ever needed: where a step fails or something is not as expected, the chat
stays as it was. Runs on the thread that drives the engine, for about one work group, and is not
begun where it would take longer.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

from engine import catch_up, context_guard, generation, media, wire
from engine._ffi import Native, Owned
from engine.chat_states import State, fingerprint
from engine.conversations import Conversations
from engine.generation import Stream
from engine.loading import Loaded
from engine.markers import STOPS, AnswerFilter
from engine.native_values import NativeError, TurnNumbers
from engine.prompt_clone import PromptClone
from engine.sending import drafts
from engine.stream import Run
from engine.types import (
    FinishReason,
    GenerateRequest,
    Message,
    Outcome,
    TextPart,
)

ENDED = json.dumps({"add_generation_prompt": False})
AGAIN, WRITING = 64, 128
"""Tokens that may be read once more for it, or one work group where that is more: without being
asked, and while a next message is being written."""
SHORT = 128
"""A checkpoint from before anything was prefilled serves one send only (see
`engine.conversations`): used up here, an answer that is asked for once more is built anew. Where
that takes more than so many tokens, it is kept until a next message is being written."""
TRIES = 3
"""A model as small as the demo model is through with its prompt before a clone can be asked for,
now and then. A checkpoint that serves more than one send is tried again."""
PROBES = tuple(Message("user", (TextPart(text),)) for text in ("Hm?", "1"))
"""Two next turns, to see how one begins whatever it says."""


@dataclass(frozen=True, slots=True)
class Stopped:
    """A turn that a person stopped, with the `answer` as far as it came."""

    request: GenerateRequest
    answer: Message


def stopped(request: GenerateRequest, outcome: Outcome) -> Stopped | None:
    """The turn, if the next one may be helped; None otherwise.

    Thoughts are not told again, so an answer with thoughts is not what was decoded.
    """
    helps = (
        outcome.reason is FinishReason.STOPPED
        and outcome.error is None
        and outcome.text.strip()
        and not outcome.thought
        and not outcome.tool_calls
        and not outcome.unseen
        and request.keep
        and request.constraint is None
    )
    return Stopped(request, Message("assistant", (TextPart(outcome.text),))) if helps else None


class Result(Enum):
    """`DONE`: the chat holds the turn as a finished one; `LATER`: not unless it is expected."""

    DONE = "done"
    LATER = "later"
    NO = "no"


def settle(
    native: Native, loaded: Loaded, chats: Conversations, turn: Stopped, *, expected: bool
) -> Result:
    """`expected`: the next message is being written. Raises nothing of the engine."""
    work = _Settling(native, loaded, chats, turn, expected)
    try:
        for _ in range(TRIES):
            result = work.run()
            if result is not None:
                return result
    except NativeError:
        pass
    return Result.NO


@dataclass(frozen=True, slots=True)
class _Ended:
    """What is sent: `messages`, as `text` of `needs` tokens; `whole` is that and the first probe.

    `following` is the token with which every next turn begins, `cost` counts the tokens that
    are not taken over.
    """

    messages: tuple[Message, ...]
    text: str
    whole: str
    needs: int
    following: int
    cost: int = 0


class _Settling:
    def __init__(
        self,
        native: Native,
        loaded: Loaded,
        chats: Conversations,
        turn: Stopped,
        expected: bool,
    ) -> None:
        self._expected = expected
        self._native, self._loaded, self._chats = native, loaded, chats
        request, _ = media.prepared(turn.request, loaded.info, loaded.options, strict=False)
        self._request, self._answer = request, turn.answer
        self._smallest = context_guard.group(loaded.info)

    def run(self) -> Result | None:
        """None: another try may do it."""
        request = self._request
        mark = fingerprint(request, drafts(request, self._loaded))
        chat = self._chats.idle(request.chat_key, mark)
        checkpoint = chat.checkpoint if chat is not None else None
        if chat is None or checkpoint is None or chat.resident is not None:
            return Result.NO
        if not checkpoint.step and chat.prompted is None:
            return Result.NO  # should it fail, nothing would be left to go on from
        copy = self._chats.clone(checkpoint.conversation, (), checkpoint.step)
        if copy is None:
            return Result.NO
        with copy.conversation as conversation:
            ended = self._ended(checkpoint, conversation)
            if ended is None:
                return Result.NO
            cheap = ended.cost <= max(AGAIN, self._smallest)
            if not self._expected and not (cheap and (checkpoint.step or ended.needs <= SHORT)):
                return Result.LATER
            try:
                made, again = self._send(conversation, ended)
            finally:
                if not checkpoint.step:
                    chat.drop_checkpoint()
        if made is None:
            return None if again else Result.NO
        history = (*request.history, request.message, self._answer)
        chat.drop_prompted()
        chat.resident = State(made, history)
        return Result.DONE

    def _ended(self, checkpoint: State, conversation: Owned) -> _Ended | None:
        """The stopped exchange as `conversation` lacks it; None where it is not to be sent."""
        history = (*self._request.history, self._request.message, self._answer)
        lacking = catch_up.missing(checkpoint.history, history)
        decoded = checkpoint.decoded
        if not lacking or decoded is None or not decoded.entries:
            return None

        def tokens(messages: Sequence[Message]) -> tuple[int, ...]:
            return self._chats.tokens(conversation, messages)

        send = catch_up.again(lacking, PROBES[0], decoded, tokens, self._chats.count)
        if send is None or send[:-1] == lacking:
            return None
        at = catch_up.parting(tokens((*lacking, PROBES[0])), tokens(send))
        ended = self._as_text(conversation, send[:-1])
        if ended is None or not at:
            return None
        ended = replace(ended, cost=ended.needs - at)
        near = ended.cost <= max(WRITING, self._smallest)
        used = self._native.token_count(conversation) or 0
        limit = self._loaded.options.context_tokens
        fits = context_guard.room(limit, used, ended.needs, self._smallest).fits
        return ended if near and fits else None

    def _as_text(self, conversation: Owned, messages: tuple[Message, ...]) -> _Ended | None:
        """`messages` without the begin of an answer; None where the template has no such end.

        What the template adds for no message at all is the begin of an answer, behind the
        preface where nothing was prefilled yet.
        """
        begin = self._rendered(conversation, ())
        if not self._native.token_count(conversation):
            begin = begin.removeprefix(self._native.render_preface(conversation) or "")
        text = self._rendered(conversation, messages)
        if not begin or not text.endswith(begin):
            return None
        text = text.removesuffix(begin)
        wholes = [self._rendered(conversation, (*messages, probe)) for probe in PROBES]
        if not all(whole.startswith(text) for whole in wholes):
            return None
        first = {self._chats.tokenized(whole.removeprefix(text))[:1] for whole in wholes}
        if len(first) != 1 or first == {()}:
            return None
        needs = len(self._chats.tokenized(text))
        return _Ended(messages, text, wholes[0], needs, first.pop()[0])

    def _rendered(self, conversation: Owned, messages: tuple[Message, ...]) -> str:
        text = wire.send_json(messages) if messages else "[]"
        return self._native.render_message(conversation, text) or ""

    def _send(self, conversation: Owned, ended: _Ended) -> tuple[Owned | None, bool]:
        """Sends it: a clone that holds it and nothing else, which the caller owns; or None, and
        whether only the clone came too late."""
        native, run = self._native, Run(0)
        used = native.token_count(conversation) or 0
        before = native.turn_numbers(conversation, TurnNumbers())
        text = wire.send_json(ended.messages)
        args = native.optional_args(max_output=1, suppress=(ended.following,))
        clone: PromptClone | None = None
        try:
            run.begin(
                lambda token: native.send(conversation, text, args, token, ENDED),
                lambda: native.cancel(conversation),
            )
            clone = PromptClone(native, conversation)
            stream = generation.collect(run, lambda batch: None, AnswerFilter(()))
        finally:
            args.close()
            made = clone.taken() if clone is not None else None
        numbers = generation.benchmark(
            stream, run, before, native.turn_numbers(conversation, before)
        )
        expected = not stream.error and numbers.prefill_tokens == ended.needs
        if made is None:
            return None, expected
        in_time = native.token_count(made) == used + ended.needs
        if expected and in_time and self._goes_on(made, ended, stream):
            return made, True
        made.close()
        return None, expected and not in_time

    def _goes_on(self, made: Owned, ended: _Ended, stream: Stream) -> bool:
        """Whether a next turn goes on behind exactly what was to be held, and differs at once
        from what was decoded behind it."""
        next_turn = self._rendered(made, PROBES[:1])
        token = stream.text + stream.thought
        ends = (*STOPS, *self._loaded.info.stop_tokens)
        same = ended.text + next_turn == ended.whole
        return same and not next_turn.startswith((token,) if token else ends)
