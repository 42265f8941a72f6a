"""What is known of the native conversations of one chat: plain data, and what a state lacks.

`engine.conversations` makes and uses them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from engine import catch_up, wire
from engine._ffi import Owned
from engine.catch_up import Decoded
from engine.types import GenerateRequest, Message


@dataclass(frozen=True, slots=True)
class Plan:
    """Where a send goes: `messages` are still unknown to `conversation`.

    `fresh` means that nothing was prefilled yet, so the preface counts as prompt too. `shared`
    means that the checkpoint sees what this send makes the engine decode; `partly` that the
    engine may take some of the prompt over without decoding it; `prompted` that a clone is
    wanted between prompt and answer; `opened` is the begin of an answer that `conversation`
    ends with, which the first of `messages` goes on.
    """

    conversation: Owned
    messages: tuple[Message, ...]
    resumed: str
    fresh: bool
    shared: bool = False
    partly: bool = False
    prompted: bool = False
    opened: str = ""


@dataclass(slots=True)
class State:
    """A conversation that holds `history` in `step` entries; `step` 0 means: as preface.

    `decoded` is what a clone shares with its original besides, None when that is not known.
    `opened` is the begin of an answer, as the template writes it, behind the history.
    """

    conversation: Owned
    history: tuple[Message, ...]
    step: int = 0
    decoded: Decoded | None = None
    opened: str = ""


@dataclass(slots=True)
class ChatStates:
    """`prompted` is the state between the prompt and the answer of a send that was stopped.

    `spent` is such a clone of one that was not: deleted before the next send, so that an answer
    never waits for a delete.
    """

    fingerprint: str
    resident: State | None = None
    checkpoint: State | None = None
    prompted: State | None = None
    running: Owned | None = field(default=None)
    spent: Owned | None = field(default=None)

    def close(self) -> None:
        for state in (self.resident, self.checkpoint, self.prompted):
            if state is not None:
                state.conversation.close()
        for owned in (self.running, self.spent):
            if owned is not None:
                owned.close()
        self.spent = None
        self.resident = self.checkpoint = self.prompted = self.running = None

    def drop_spent(self) -> None:
        if self.spent is not None:
            self.spent.close()
            self.spent = None

    def drop_prompted(self) -> None:
        if self.prompted is not None:
            self.prompted.conversation.close()
            self.prompted = None

    def drop_checkpoint(self, *, only_fresh: bool = False) -> None:
        if self.checkpoint is not None and not (only_fresh and self.checkpoint.step):
            self.checkpoint.conversation.close()
            self.checkpoint = None


def lacking_of(state: State | None, request: GenerateRequest) -> tuple[Message, ...] | None:
    """What `state` lacks before the request's message; None when it cannot go on with that."""
    lacking = catch_up.missing(state.history, request.history) if state is not None else None
    if state is None or not state.opened or not lacking:
        return lacking if state is None or not state.opened else None
    answer = lacking[0]
    return lacking if answer.role == "assistant" and not answer.tool_calls else None


def fingerprint(request: GenerateRequest, speculative: bool) -> str:
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
