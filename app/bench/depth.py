"""Filling a context before the prompt, for speedup over context depth."""

from __future__ import annotations

from collections.abc import Callable

from app.bench import workloads
from engine.types import Message, TextPart

RESERVE = 64
"""Tokens kept free beside prompt and answer: templates and rounding of the prefill."""


def history(
    share: float,
    context_tokens: int,
    max_tokens: int,
    count: Callable[[str], int],
) -> tuple[Message, ...]:
    """One finished turn that fills `share` of the context, less if the answer would not fit.

    `count` gives the tokens of a text; text is cut by proportion, so the depth is met
    within a few per cent. The depth really reached is in each sample's `context_used`.
    """
    wanted = min(int(share * context_tokens), context_tokens - max_tokens - 2 * RESERVE)
    if share <= 0 or wanted <= RESERVE:
        return ()
    probe = workloads.filler(4000)
    per_character = max(1, count(probe)) / len(probe)
    text = workloads.filler(int((wanted - RESERVE) / per_character))
    return (
        Message(role="user", parts=(TextPart(text=text),)),
        Message(role="assistant", parts=(TextPart(text="Thank you, I have read the notes."),)),
    )
