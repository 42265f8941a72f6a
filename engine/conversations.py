"""Which native conversation a request goes on from.

One native conversation per chat, a few chats at most, always rebuildable: the transcript
in the request is the only truth. Before a send a clone is taken as the checkpoint, so
that after Stop, a failure, regenerate or an edit of the last turn the next request goes
on from there and prefills only what is new. A conversation dies with its first cancelled
or failed send (0.18.1) and is never sent to again.

Owned by the thread that drives the engine. Errors: `NativeError` from creating.
"""

from __future__ import annotations

import random
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from engine import wire
from engine._ffi import Native, Owned
from engine.native_values import NativeError
from engine.types import GenerateRequest, Message, TextPart

MAX_CHATS = 4
PADS = ("\n", "\u200b")
"""What may follow a question that is sent once more along with what came after it.

0.18.1 skips messages whose tokens it decoded before: when everything a conversation took
since a clone was made (a question and the answer to it, stopped or not) is exactly how the
next send to another clone of that state begins, that part is taken for done, although the
clone does not hold it. The token count and the answer then lack it (measured: 6 of 42 stops on
the demo model, and always when an earlier branch is selected again). A send that differs
before the end of the old answer is prefilled as it should be, so the last question that is sent
again gets an ending nobody sees: a newline, or where the template cuts blanks a zero-width
space.
"""


@dataclass(frozen=True, slots=True)
class Plan:
    """Where a send goes: `messages` are still unknown to `conversation`.

    `fresh` means that nothing was prefilled yet, so the preface counts as prompt too.
    """

    conversation: Owned
    messages: tuple[Message, ...]
    resumed: str
    fresh: bool


@dataclass(slots=True)
class _State:
    conversation: Owned
    history: tuple[Message, ...]


@dataclass(slots=True)
class _Chat:
    fingerprint: str
    resident: _State | None = None
    checkpoint: _State | None = None
    running: Owned | None = field(default=None)

    def close(self) -> None:
        for state in (self.resident, self.checkpoint):
            if state is not None:
                state.conversation.close()
        if self.running is not None:
            self.running.close()
        self.resident = self.checkpoint = self.running = None


class Conversations:
    """All native conversations of one loaded engine."""

    def __init__(self, native: Native, engine: Owned, *, thinks: bool) -> None:
        self._native, self._engine, self._thinks = native, engine, thinks
        self._chats: OrderedDict[str, _Chat] = OrderedDict()

    def plan(self, request: GenerateRequest, speculative: bool) -> Plan:
        """Takes a conversation for `request` out of the store, with a checkpoint behind it.

        Every plan must be followed by `finished` or `failed`.
        """
        mark = _fingerprint(request, speculative)
        chat = self._chats.get(request.chat_key)
        if chat is not None and chat.fingerprint != mark:
            self.forget(request.chat_key)
            chat = None
        if chat is None:
            chat = self._chats[request.chat_key] = _Chat(mark)
        self._chats.move_to_end(request.chat_key)
        while len(self._chats) > MAX_CHATS:
            self._chats.popitem(last=False)[1].close()
        plan = self._resume(chat, request)
        if plan is None:
            chat.close()
            made = self.create(request, speculative, request.history)
            plan = Plan(made, (request.message,), "rebuilt", fresh=True)
        chat.running = plan.conversation
        return plan

    def _resume(self, chat: _Chat, request: GenerateRequest) -> Plan | None:
        resident, checkpoint = chat.resident, chat.checkpoint
        of_resident = _missing(resident, request.history)
        of_checkpoint = _missing(checkpoint, request.history)
        if (
            resident is not None
            and of_resident is not None
            and (of_checkpoint is None or len(of_resident) <= len(of_checkpoint))
        ):
            copy = self._clone(resident.conversation)
            if checkpoint is not None:
                checkpoint.conversation.close()
            chat.checkpoint = _State(copy, resident.history) if copy is not None else None
            chat.resident = None
            send = self._catch_up(resident.conversation, of_resident, request.message)
            return Plan(resident.conversation, send, "resident", fresh=False)
        if resident is not None:
            resident.conversation.close()
            chat.resident = None
        if checkpoint is None or of_checkpoint is None:
            return None
        copy = self._clone(checkpoint.conversation)
        if copy is None:
            return None
        send = self._catch_up(copy, of_checkpoint, request.message)
        return Plan(copy, send, "checkpoint", fresh=False)

    def _catch_up(
        self, conversation: Owned, missing: Sequence[Message], message: Message
    ) -> tuple[Message, ...]:
        """`missing` and `message`, for one send; see `PADS` for what is done to `missing`."""
        last = max((i for i, m in enumerate(missing) if m.role == "user"), default=None)
        if last is None:
            return (*missing, message)
        plain = self._rendered(conversation, (*missing, message))
        send = (*missing, message)
        for pad in PADS:
            asked = missing[last]
            padded = msgspec.structs.replace(asked, parts=(*asked.parts, TextPart(pad)))
            send = (*missing[:last], padded, *missing[last + 1 :], message)
            if self._rendered(conversation, send) != plain:
                break
        return send

    def _rendered(self, conversation: Owned, messages: Sequence[Message]) -> str | None:
        return self._native.render_message(conversation, wire.send_json(messages))

    def _clone(self, conversation: Owned) -> Owned | None:
        """A clone, or None where it cannot be trusted (nothing prefilled) or made."""
        if "clone" not in self._native.features or not self._native.token_count(conversation):
            return None
        try:
            return self._native.clone(conversation)
        except NativeError:
            return None

    def create(
        self, request: GenerateRequest, speculative: bool, history: Sequence[Message]
    ) -> Owned:
        """A new native conversation with the settings of `request`; the caller owns it."""
        sampling = wire.safe_sampling(request.sampling)
        seed = random.randrange(1, 1 << 31) if sampling.seed is None else sampling.seed
        constrained = request.constraint is not None
        # A thinking config together with a constraint ends in a native panic (0.18.1).
        thinking = request.thinking if self._thinks and not constrained else None
        with self._native.session_config(
            top_k=sampling.top_k,
            top_p=sampling.top_p,
            temperature=sampling.temperature,
            seed=seed,
            speculative=speculative,
        ) as session:
            return self._native.conversation(
                self._engine,
                session,
                system=wire.system_json(request.system),
                messages=wire.messages_json(history),
                tools=wire.tools_json(request.tools),
                constrained=constrained,
                thinking=thinking,
                thinking_budget=request.thinking_budget if thinking else None,
            )

    def unsent(self, request: GenerateRequest, plan: Plan) -> None:
        """Nothing was sent: the conversation is as good as before."""
        chat = self._chats.get(request.chat_key)
        known = len(request.history) + 1 - len(plan.messages)
        if chat is not None and plan.resumed == "resident":
            chat.resident = _State(plan.conversation, request.history[:known])
            chat.running = None
        else:
            self.failed(request, plan)

    def finished(self, request: GenerateRequest, plan: Plan, answer: Message) -> None:
        """The send ended well: the conversation now also holds the message and `answer`."""
        chat = self._chats.get(request.chat_key)
        if chat is None or chat.running is not plan.conversation:
            plan.conversation.close()
            return
        chat.running = None
        chat.resident = _State(plan.conversation, (*request.history, request.message, answer))
        if not request.keep:
            self.forget(request.chat_key)

    def failed(self, request: GenerateRequest, plan: Plan, *, leak: bool = False) -> None:
        """The conversation is dead: delete it; the checkpoint stays.

        `leak` gives the native object up without deleting it, for a send whose final
        chunk never came.
        """
        chat = self._chats.get(request.chat_key)
        if chat is not None and chat.running is plan.conversation:
            chat.running = None
        if not leak:
            plan.conversation.close()
        if not request.keep:
            self.forget(request.chat_key)

    def forget(self, chat_key: str) -> None:
        chat = self._chats.pop(chat_key, None)
        if chat is not None:
            chat.close()

    def close(self) -> None:
        for key in list(self._chats):
            self.forget(key)


def _missing(state: _State | None, history: Sequence[Message]) -> tuple[Message, ...] | None:
    """What `state` lacks of `history`; None when it holds something else."""
    if state is None or len(state.history) > len(history):
        return None
    if any(_same(a) != _same(b) for a, b in zip(state.history, history, strict=False)):
        return None
    return tuple(history[len(state.history) :])


def _same(message: Message) -> tuple[object, ...]:
    """What must be equal for two messages to mean the same to the model.

    Answers are compared without blanks at their ends, since programs trim them.
    """
    if message.role != "assistant":
        return (message.role, message.parts, message.tool_calls)
    media = tuple(p for p in message.parts if not isinstance(p, TextPart))
    return (message.role, wire.clean_text(message.text).strip(), media, message.tool_calls)


def _fingerprint(request: GenerateRequest, speculative: bool) -> str:
    """Everything fixed when a conversation is created."""
    sampling = wire.safe_sampling(request.sampling)
    return repr(
        (
            request.system,
            request.tools,
            speculative,
            (sampling.temperature, sampling.top_p, sampling.top_k, sampling.seed),
            request.thinking,
            request.thinking_budget,
            request.constraint is not None,
        )
    )
