"""Which native conversation a request goes on from.

One native conversation per chat, a few chats at most, always rebuildable: the transcript
in the request is the only truth. Before a send a clone is taken as the checkpoint, so
that after Stop, a failure, regenerate or an edit of the last turn the next request goes
on from there and prefills only what is new (`engine.catch_up` says how little). A conversation
dies with its first cancelled or failed send (0.18.1) and is never sent to again.

A rebuilt conversation has its checkpoint too, a clone from before anything was prefilled. To
such a clone the engine gives back the tokens but not the memory they stand for once another
conversation ran (0.18.1, step 0 of `RestoreContext`): it serves one send, right after its own.

A send from a checkpoint gets a memory of its own, which the checkpoint does not see. Of such a
send, and of one with a new conversation, a second clone is taken between its prompt and its
answer (`engine.prompt_clone`), so that neither another Stop nor another chat in between makes
the next send prefill the turns before it again.

Owned by the thread that drives the engine. Errors: `NativeError` from creating.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from engine import catch_up, new_conversation, wire
from engine._ffi import Native, Owned
from engine.catch_up import Decoded
from engine.chat_states import ChatStates, Plan, State, fingerprint, lacking_of
from engine.native_values import NativeError
from engine.returns import Returns
from engine.types import GenerateRequest, Message

MAX_CHATS = 4


class Conversations:
    """All native conversations of one loaded engine."""

    def __init__(self, native: Native, engine: Owned, *, thinks: bool, cpu: bool = True) -> None:
        """`cpu`: the backend on which clones between prompt and answer were tried."""
        self._native, self._engine, self._thinks = native, engine, thinks
        self._prompt_clones = cpu and "clone" in native.features
        self._chats: OrderedDict[str, ChatStates] = OrderedDict()
        self._returns = Returns()

    def plan(self, request: GenerateRequest, speculative: bool) -> Plan:
        """Takes a conversation for `request` out of the store, with a checkpoint behind it.

        Every plan must be followed by `finished` or `failed`.
        """
        mark = fingerprint(request, speculative)
        chat = self._chats.get(request.chat_key)
        dear = self._returns.dear(request.chat_key, speculative)
        if chat is not None and (dear or chat.fingerprint != mark):
            self.forget(request.chat_key)
            chat = None
        if chat is None:
            chat = self._chats[request.chat_key] = ChatStates(mark)
        chat.drop_spent()
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
                chat.checkpoint = self.clone(made, request.history, 0)
            prompted = self._prompted(request) and request.keep
            plan = Plan(
                made, (request.message,), "rebuilt", fresh=True, shared=True, prompted=prompted
            )
        chat.running = plan.conversation
        self._returns.begins(anew=plan.resumed == "rebuilt")
        return plan

    def _resume(self, chat: ChatStates, request: GenerateRequest) -> Plan | None:
        resident, checkpoint, prompted = chat.resident, chat.checkpoint, chat.prompted
        of_resident = lacking_of(resident, request)
        of_checkpoint = lacking_of(checkpoint, request)
        if (
            resident is not None
            and of_resident is not None
            and (of_checkpoint is None or len(of_resident) <= len(of_checkpoint))
        ):
            step = self._native.token_count(resident.conversation) or 0
            chat.drop_checkpoint()
            chat.drop_prompted()
            if step:
                chat.checkpoint = self.clone(resident.conversation, resident.history, step)
            chat.resident = None
            send = (*of_resident, request.message)
            return Plan(resident.conversation, send, "resident", fresh=False, shared=True)
        if resident is not None:
            resident.conversation.close()
            chat.resident = None
        of_prompted = lacking_of(prompted, request)
        if prompted is not None and of_prompted is not None:
            plan = self._from_checkpoint(chat, prompted, of_prompted, request)
            if plan is not None:
                chat.drop_checkpoint()
                chat.checkpoint, chat.prompted = prompted, None
                return plan
        chat.drop_prompted()
        if checkpoint is None or of_checkpoint is None:
            return None
        return self._from_checkpoint(chat, checkpoint, of_checkpoint, request)

    def _from_checkpoint(
        self,
        chat: ChatStates,
        checkpoint: State,
        lacking: tuple[Message, ...],
        request: GenerateRequest,
    ) -> Plan | None:
        decoded, opened = checkpoint.decoded, checkpoint.opened
        fresh = checkpoint.step == 0
        if decoded is None or (fresh and not decoded.entries):
            return None
        state = self.clone(checkpoint.conversation, checkpoint.history, checkpoint.step)
        if state is None:
            return None
        copy = state.conversation
        send = catch_up.again(
            lacking, request.message, decoded, lambda m: self.tokens(copy, m, opened), self.count
        )
        new = self.tokens(copy, send, opened) if send is not None else ()
        if send is None or (opened and not new):
            copy.close()
            return None
        # A send that only begins like what was decoded gets a memory of its own. One that was
        # decoded whole, or has nothing of it, overwrites what the checkpoint shares.
        shared = not decoded.entries
        if decoded.entries and not fresh:
            answer = self.tokenized(decoded.answer.text)
            old = answer if opened else self.tokens(copy, decoded.sent)
            shared = new[:1] != old[:1] or new == old[: len(new)]
        if fresh:
            chat.drop_checkpoint()
        prompted = self._prompted(request) and not shared
        partly = decoded.entries > 0
        return Plan(copy, send, "checkpoint", fresh, shared, partly, prompted, opened)

    def _prompted(self, request: GenerateRequest) -> bool:
        return self._prompt_clones and request.constraint is None

    def idle(self, chat_key: str, mark: str) -> ChatStates | None:
        """What is known of a chat that runs no send, made with the settings of `mark`."""
        chat = self._chats.get(chat_key) if self._prompt_clones else None
        fits = chat is not None and chat.fingerprint == mark and chat.running is None
        return chat if fits else None

    def tokens(
        self, conversation: Owned, messages: Sequence[Message], opened: str = ""
    ) -> tuple[int, ...]:
        """Tokens of a send to `conversation`, () where the engine would not take it so."""
        rendered = self._native.render_message(conversation, wire.send_json(messages)) or ""
        if not rendered.startswith(opened):
            return ()
        return self.tokenized(rendered.removeprefix(opened))

    def count(self, text: str) -> int:
        """Tokens of a piece of text, 0 where nobody can tell."""
        return len(self.tokenized(text))

    def tokenized(self, text: str) -> tuple[int, ...]:
        """Tokens of a piece of text, () where nobody can tell."""
        if not text or "tokenize" not in self._native.features:
            return ()
        try:
            return self._native.tokenize(self._engine, text)
        except NativeError:
            return ()

    def clone(self, conversation: Owned, history: tuple[Message, ...], step: int) -> State | None:
        """A clone that shares what its original decodes from now on; None where none is made."""
        if "clone" not in self._native.features:
            return None
        try:
            copy = self._native.clone(conversation)
        except NativeError:
            return None
        return State(copy, history, step, Decoded((), Message("assistant", ()), 0))

    def create(
        self, request: GenerateRequest, speculative: bool, history: Sequence[Message]
    ) -> Owned:
        """A new native conversation with the settings of `request`; the caller owns it."""
        made = new_conversation.create
        return made(self._native, self._engine, request, speculative, history, thinks=self._thinks)

    def unsent(self, request: GenerateRequest, plan: Plan) -> None:
        """Nothing was sent: the conversation is as good as before."""
        chat = self._chats.get(request.chat_key)
        known = len(request.history) + 1 - len(plan.messages)
        if chat is not None and plan.resumed == "resident":
            chat.resident = State(plan.conversation, request.history[:known])
            chat.running = None
        else:
            self._give_up(request, plan)

    def finished(
        self,
        request: GenerateRequest,
        plan: Plan,
        answer: Message,
        *,
        spent: Owned | None = None,
    ) -> None:
        """The send ended well: the conversation now also holds the message and `answer`.

        `spent` is the clone that `plan` wanted, of no use now; it is owned from here on.
        """
        self._returns.ends()
        chat = self._chats.get(request.chat_key)
        if chat is None or chat.running is not plan.conversation:
            plan.conversation.close()
            if spent is not None:
                spent.close()
            return
        chat.spent = spent
        self._note(chat, plan, answer)
        chat.running = None
        chat.resident = State(plan.conversation, (*request.history, request.message, answer))
        if not request.keep:
            self.forget(request.chat_key)

    def failed(
        self,
        request: GenerateRequest,
        plan: Plan,
        answer: Message,
        *,
        leak: bool = False,
        prompted: Owned | None = None,
    ) -> None:
        """The conversation is dead: delete it; the checkpoint stays. `answer` is what came.

        `leak` gives the native object up without deleting it, for a send whose final
        chunk never came. `prompted` is the clone that `plan` wanted; it is owned from here on.
        """
        self._returns.ends()
        chat = self._chats.get(request.chat_key)
        if prompted is not None:
            self._keep_prompted(request, plan, answer, prompted)
        if chat is not None and chat.running is plan.conversation and plan.shared:
            if leak:
                chat.drop_checkpoint()
            self._note(chat, plan, answer)
        self._give_up(request, plan, leak=leak)

    def _keep_prompted(
        self, request: GenerateRequest, plan: Plan, answer: Message, clone: Owned
    ) -> None:
        """Keeps a clone from between the prompt and an answer of which some words came."""
        chat, native = self._chats.get(request.chat_key), self._native
        step, held = native.token_count(clone), native.token_count(plan.conversation)
        # What the template adds for no message at all is the begin of an answer.
        opened = native.render_message(clone, "[]")
        wanted = chat is not None and chat.running is plan.conversation and request.keep
        if chat is None or not wanted or not answer.text.strip() or answer.tool_calls:
            opened = None
        if chat is None or not opened or step is None or held is None:
            clone.close()
            return
        decoded = Decoded((), answer, held - step)
        history = (*request.history, request.message)
        chat.prompted = State(clone, history, step, decoded, opened)

    def _note(self, chat: ChatStates, plan: Plan, answer: Message) -> None:
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
