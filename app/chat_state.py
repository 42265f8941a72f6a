"""The states of one chat and the only allowed ways between them. Pure data."""

from __future__ import annotations

from enum import StrEnum


class ChatState(StrEnum):
    """IDLE and FAILED take a new message; the others mean work on the way."""

    IDLE = "idle"
    QUEUED = "queued"
    LOADING = "loading"
    PREFILL = "prefill"
    DECODING = "decoding"
    STOPPING = "stopping"
    FAILED = "failed"

    @property
    def busy(self) -> bool:
        return self not in (ChatState.IDLE, ChatState.FAILED)


_S = ChatState

TRANSITIONS: dict[ChatState, frozenset[ChatState]] = {
    _S.IDLE: frozenset({_S.QUEUED}),
    _S.FAILED: frozenset({_S.QUEUED, _S.IDLE}),
    _S.QUEUED: frozenset({_S.LOADING, _S.PREFILL, _S.STOPPING, _S.FAILED}),
    _S.LOADING: frozenset({_S.PREFILL, _S.STOPPING, _S.FAILED}),
    _S.PREFILL: frozenset({_S.DECODING, _S.STOPPING, _S.IDLE, _S.FAILED}),
    # A tool round ends with a new send: decoding goes back to the queue.
    _S.DECODING: frozenset({_S.QUEUED, _S.STOPPING, _S.IDLE, _S.FAILED}),
    _S.STOPPING: frozenset({_S.IDLE, _S.FAILED}),
}


class BadTransition(RuntimeError):
    """A state change that the table does not allow: a mistake in the program."""


def step(current: ChatState, wanted: ChatState) -> ChatState:
    """`wanted` if the table allows it from `current`. Raises `BadTransition`."""
    if wanted is not current and wanted not in TRANSITIONS[current]:
        raise BadTransition(f"{current} -> {wanted}")
    return wanted
