from __future__ import annotations

import pytest

from app.bench.equality import difference
from engine.types import FinishReason

END, LIMIT = FinishReason.END, FinishReason.LIMIT


@pytest.mark.parametrize(
    ("off", "on", "off_reason", "on_reason"),
    [
        ("one two", "one two", END, END),
        ("one two", "one two three fo", LIMIT, LIMIT),
        ("one two thr", "one two three fo", LIMIT, LIMIT),
        ("", "", END, END),
    ],
)
def test_same(off: str, on: str, off_reason: FinishReason, on_reason: FinishReason) -> None:
    assert difference("p", off, on, off_reason, on_reason) is None


@pytest.mark.parametrize(
    ("off", "on", "off_reason", "word"),
    [
        ("one two three", "one two four", END, 2),
        ("one two", "one two three", END, 2),
        ("one twofold", "one twosome", END, 1),
        ("", "one", END, 0),
        ("one two", "won two", LIMIT, 0),
    ],
)
def test_different(off: str, on: str, off_reason: FinishReason, word: int) -> None:
    found = difference("p", off, on, off_reason, LIMIT)
    assert found is not None
    assert found.word == word
    assert found.off in off
    assert found.on in on


def test_both_contexts_are_short() -> None:
    shared = " ".join(f"w{i}" for i in range(50))
    found = difference("p", f"{shared} red end", f"{shared} blue end", END, END)
    assert found is not None
    assert found.word == 50
    assert found.off == "w44 w45 w46 w47 w48 w49 red end"
