"""Going back to a chat while drafting costs memory that never comes back (`engine.returns`)."""

from __future__ import annotations

import pytest

from engine import memory, returns
from engine.types import Message
from tests.engine.talk import SLACK, Talk, built_on, said

ASKED = ("Tell me about the sea.", "Why is that so?", "And then?", "Hm?")


def rounds(talk: Talk, *, speculative: bool) -> list[list[str]]:
    """How the turns of two chats that take turns went on; each is as it would be alone."""
    histories: dict[str, list[Message]] = {"a": [], "b": []}
    out = []
    for question in ASKED:
        out.append([])
        for key, history in histories.items():
            outcome = talk.ask(key, history, question, speculative=speculative)
            assert abs(built_on(outcome) - talk.whole(history, question)) <= SLACK
            history += [said("user", question), said("assistant", outcome.text)]
            out[-1].append(outcome.resumed)
    return out


NEW, KNOWN = ["rebuilt"] * 2, ["resident"] * 2


def test_within_the_budget_nothing_is_built_anew(talk: Talk) -> None:
    first, *later = rounds(talk, speculative=True)
    assert first == NEW
    # One drafting send in some hundreds is lost by the engine and built anew (`engine.turn`).
    assert sum(row.count("resident") for row in later) >= 4


def test_beyond_it_chats_are_built_anew(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = iter(range(0, 1 << 40, 40))
    monkeypatch.setattr(memory, "resident_bytes", lambda: next(sizes))
    monkeypatch.setattr(returns, "BUDGET", 40)
    first, second, *later = rounds(talk, speculative=True)
    assert first == NEW
    assert sorted(second) == ["rebuilt", "resident"]
    assert later == [NEW, NEW]
    alone = talk.ask("a", [], ASKED[0], speculative=True)
    history = [said("user", ASKED[0]), said("assistant", alone.text)]
    assert talk.ask("a", history, ASKED[1], speculative=True).resumed == "resident"
    assert rounds(talk, speculative=False)[1:] == [KNOWN] * 3


def test_what_shrinks_or_is_unknown_counts_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(returns, "BUDGET", 1)
    counted = returns.Returns()
    for size in (100, None):
        for key in ("a", "b", "a"):
            monkeypatch.setattr(memory, "resident_bytes", lambda size=size: size)
            assert not counted.dear(key, speculative=True)
            monkeypatch.setattr(memory, "resident_bytes", lambda: 90)
            counted.begins(anew=False)
            counted.ends()
    monkeypatch.setattr(memory, "resident_bytes", lambda: 100)
    assert not counted.dear("b", speculative=True)
    counted.begins(anew=True)
    monkeypatch.setattr(memory, "resident_bytes", lambda: 200)
    counted.ends()
    assert not counted.dear("a", speculative=True), "a new conversation takes what it needs"
    monkeypatch.setattr(memory, "resident_bytes", lambda: 201)
    counted.ends()
    assert counted.dear("b", speculative=True)
    assert not counted.dear("a", speculative=False)
