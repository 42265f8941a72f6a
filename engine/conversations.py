"""Which native conversation a request goes on from.

One native conversation per chat, a few chats at most, always rebuildable: the transcript
in the request is the only truth. Before a send a clone is taken as the checkpoint, so
that after Stop, a failure, regenerate or an edit of the last turn the next request goes
on from there and prefills only what is new (`engine.catch_up` says how little). A conversation
dies with its first cancelled or failed send (0.18.1) and is never sent to again.

A rebuilt conversation has its checkpoint too, a clone from before anything was prefilled. To
such a clone the engine gives back the tokens but not the memory they stand for once another
conversation ran (0.18.1, step 0 of `RestoreContext`): it serves one send, right after its own.

Owned by the thread that drives the engine. Errors: `NativeError` from creating.
"""

from __future__ import annotations

import random
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field

from engine import catch_up, wire
from engine._ffi import Native, Owned
from engine.catch_up import Decoded
from engine.native_values import NativeError
from engine.types import GenerateRequest, Message

MAX_CHATS = 4


@dataclass(frozen=True, slots=True)
class Plan:
    """Where a send goes: `messages` are still unknown to `conversation`.

    `fresh` means that nothing was prefilled yet, so the preface counts as prompt too. `shared`
    means that the checkpoint sees what this send makes the engine decode; `partly` that the
    engine may take some of the prompt over without decoding it.
    """

    conversation: Owned
    messages: tuple[Message, ...]
    resumed: str
    fresh: bool
    shared: bool = False
    partly: bool = False


@dataclass(slots=True)
class _State:
    """A conversation that holds `history` in `step` entries; `step` 0 means: as preface.

    `decoded` is what a clone shares with its original besides, None when that is not known.
    """

    conversation: Owned
    history: tuple[Message, ...]
    step: int = 0
    decoded: Decoded | None = None


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

    def drop_checkpoint(self, *, only_fresh: bool = False) -> None:
        if self.checkpoint is not None and not (only_fresh and self.checkpoint.step):
            self.checkpoint.conversation.close()
            self.checkpoint = None


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
        for key, other in self._chats.items():
            if key != request.chat_key and other.checkpoint is not None:
                other.drop_checkpoint(only_fresh=True)
        plan = self._resume(chat, request)
        if plan is None:
            chat.close()
            made = self.create(request, speculative, request.history)
            if request.keep:
                chat.checkpoint = self._clone(made, request.history, 0)
            plan = Plan(made, (request.message,), "rebuilt", fresh=True, shared=True)
        chat.running = plan.conversation
        return plan

    def _resume(self, chat: _Chat, request: GenerateRequest) -> Plan | None:
        resident, checkpoint = chat.resident, chat.checkpoint
        of_resident = _lacking(resident, request)
        of_checkpoint = _lacking(checkpoint, request)
        if (
            resident is not None
            and of_resident is not None
            and (of_checkpoint is None or len(of_resident) <= len(of_checkpoint))
        ):
            step = self._native.token_count(resident.conversation) or 0
            chat.drop_checkpoint()
            if step:
                chat.checkpoint = self._clone(resident.conversation, resident.history, step)
            chat.resident = None
            send = (*of_resident, request.message)
            return Plan(resident.conversation, send, "resident", fresh=False, shared=True)
        if resident is not None:
            resident.conversation.close()
            chat.resident = None
        if checkpoint is None or of_checkpoint is None:
            return None
        return self._from_checkpoint(chat, checkpoint, of_checkpoint, request.message)

    def _from_checkpoint(
        self, chat: _Chat, checkpoint: _State, lacking: tuple[Message, ...], message: Message
    ) -> Plan | None:
        decoded = checkpoint.decoded
        fresh = checkpoint.step == 0
        if decoded is None or (fresh and not decoded.entries):
            return None
        state = self._clone(checkpoint.conversation, checkpoint.history, checkpoint.step)
        if state is None:
            return None
        copy = state.conversation
        send = catch_up.again(
            lacking, message, decoded, lambda m: self._tokens(copy, m), self._count
        )
        if send is None:
            copy.close()
            return None
        # A send that only begins like what was decoded gets a memory of its own. One that was
        # decoded whole, or has nothing of it, overwrites what the checkpoint shares.
        shared = not decoded.entries
        if decoded.entries and not fresh:
            new, old = (self._tokens(copy, m) for m in (send, decoded.sent))
            shared = new[:1] != old[:1] or new == old[: len(new)]
        if fresh:
            chat.drop_checkpoint()
        return Plan(copy, send, "checkpoint", fresh, shared, partly=decoded.entries > 0)

    def _tokens(self, conversation: Owned, messages: Sequence[Message]) -> tuple[int, ...]:
        rendered = self._native.render_message(conversation, wire.send_json(messages))
        return self._tokenized(rendered or "")

    def _count(self, text: str) -> int:
        return len(self._tokenized(text))

    def _tokenized(self, text: str) -> tuple[int, ...]:
        if not text or "tokenize" not in self._native.features:
            return ()
        try:
            return self._native.tokenize(self._engine, text)
        except NativeError:
            return ()

    def _clone(self, conversation: Owned, history: tuple[Message, ...], step: int) -> _State | None:
        """A clone that shares what its original decodes from now on; None where none is made."""
        if "clone" not in self._native.features:
            return None
        try:
            copy = self._native.clone(conversation)
        except NativeError:
            return None
        return _State(copy, history, step, Decoded((), Message("assistant", ()), 0))

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
            self._give_up(request, plan)

    def finished(self, request: GenerateRequest, plan: Plan, answer: Message) -> None:
        """The send ended well: the conversation now also holds the message and `answer`."""
        chat = self._chats.get(request.chat_key)
        if chat is None or chat.running is not plan.conversation:
            plan.conversation.close()
            return
        self._note(chat, plan, answer)
        chat.running = None
        chat.resident = _State(plan.conversation, (*request.history, request.message, answer))
        if not request.keep:
            self.forget(request.chat_key)

    def failed(
        self, request: GenerateRequest, plan: Plan, answer: Message, *, leak: bool = False
    ) -> None:
        """The conversation is dead: delete it; the checkpoint stays. `answer` is what came.

        `leak` gives the native object up without deleting it, for a send whose final
        chunk never came.
        """
        chat = self._chats.get(request.chat_key)
        if chat is not None and chat.running is plan.conversation and plan.shared:
            if leak:
                chat.drop_checkpoint()
            self._note(chat, plan, answer)
        self._give_up(request, plan, leak=leak)

    def _note(self, chat: _Chat, plan: Plan, answer: Message) -> None:
        """Keeps in mind what the checkpoint shares with a send that is over."""
        checkpoint = chat.checkpoint
        if checkpoint is None or not plan.shared:
            return
        held = self._native.token_count(plan.conversation)
        checkpoint.decoded = (
            Decoded(plan.messages, answer, held - checkpoint.step) if held is not None else None
        )

    def _give_up(self, request: GenerateRequest, plan: Plan, *, leak: bool = False) -> None:
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


def _lacking(state: _State | None, request: GenerateRequest) -> tuple[Message, ...] | None:
    return catch_up.missing(state.history, request.history) if state is not None else None


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
