"""Whether two greedy answers are the same text, and where they first part.

Kernels of different batch shapes round differently, so a late difference is a fact to
report and no error. An answer cut by the output limit is compared up to the shorter one:
with speculation a reply may run up to one cycle past the limit (engine-facts).
"""

from __future__ import annotations

from itertools import takewhile

from app.bench.records import Difference
from engine.types import FinishReason

CONTEXT_WORDS = 6


def difference(
    prompt_id: str, off: str, on: str, off_reason: FinishReason, on_reason: FinishReason
) -> Difference | None:
    """None if the texts are equal; else the first differing word with a few before it."""
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(off, on, strict=False)))
    off_done = shared == len(off) and (off == on or off_reason is FinishReason.LIMIT)
    on_done = shared == len(on) and (off == on or on_reason is FinishReason.LIMIT)
    if off_done or on_done:
        return None
    if not (_word_ends(off, shared) and _word_ends(on, shared)):
        while shared > 0 and not off[shared - 1].isspace():
            shared -= 1
    word = len(off[:shared].split())
    return Difference(prompt_id, word, _around(off, shared), _around(on, shared))


def _word_ends(text: str, at: int) -> bool:
    return at == len(text) or text[at].isspace()


def _around(text: str, at: int) -> str:
    before = text[:at].split()[-CONTEXT_WORDS:]
    after = text[at:].split()[:CONTEXT_WORDS]
    return " ".join([*before, *after])
