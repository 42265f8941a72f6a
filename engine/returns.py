"""What it costs to go back to a chat after another one, while drafting.

The engine keeps the whole memory of a conversation that it goes back to once more, for good,
when the turn drafts (0.18.1, CPU: 93 MB each time with a model of 135 M parameters and 1 024
tokens; without drafting, and for new conversations, nothing). So what such turns add to the
process is summed up, and at some point a chat is built anew instead, which takes a prefill.

Owned by the thread that drives the engine. Units are bytes.
"""

from __future__ import annotations

from engine import memory

BUDGET = 512 << 20
"""So much may be lost for the sake of quick turns."""


class Returns:
    """`dear` is asked before a turn is planned, `begins` told after, `ends` when it is over."""

    def __init__(self) -> None:
        self._last = ""
        self._before: int | None = None
        self._lost = 0

    def dear(self, chat_key: str, speculative: bool) -> bool:
        """Whether the turn had better not go on from what is known of its chat."""
        returns = speculative and self._last not in ("", chat_key)
        self._last = chat_key
        self._before = memory.resident_bytes() if returns else None
        return returns and self._lost >= BUDGET

    def begins(self, *, anew: bool) -> None:
        """`anew`: the conversation is a new one."""
        if anew:
            self._before = None

    def ends(self) -> None:
        before, self._before = self._before, None
        now = memory.resident_bytes() if before is not None else None
        if before is not None and now is not None:
            self._lost += max(0, now - before)
