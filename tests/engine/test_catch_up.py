"""A branch selected again is remembered whole: nothing of the context may get lost.

0.18.1 forgets the state of a clone when several long messages are sent to it at once (see
`engine.conversations.SAFE_CATCH_UP`), so such a branch is rebuilt.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.litert import LiteRtEngine
from engine.types import GenerateRequest, LoadOptions, Message, Outcome, Sampling, TextPart


class Talk:
    def __init__(self, engine: LiteRtEngine) -> None:
        self.engine = engine
        self.runs = 0

    def ask(self, key: str, history: list[Message], text: str) -> Outcome:
        self.runs += 1
        request = GenerateRequest(
            run_id=self.runs,
            chat_key=key,
            message=said("user", text),
            history=tuple(history),
            sampling=Sampling(top_k=1, temperature=1.0, max_output_tokens=40),
        )
        return self.engine.generate(request, lambda _batch: None)


def said(role: str, text: str) -> Message:
    return Message(role, (TextPart(text),))


@pytest.fixture
def talk(demo_model: Path) -> Iterator[Talk]:
    engine = LiteRtEngine()
    engine.load(LoadOptions(model_path=str(demo_model), cache="no", context_tokens=1024))
    yield Talk(engine)
    engine.close()


def context_before(outcome: Outcome) -> int:
    """Entries the answer was built on besides its own prompt and text."""
    assert outcome.benchmark is not None
    assert outcome.context_used is not None
    prompt, answer = outcome.benchmark.prefill_tokens, outcome.benchmark.decode_tokens
    assert prompt is not None
    assert answer is not None
    return outcome.context_used - prompt - answer


@pytest.mark.parametrize("between", ["zzz", "And the ships on it?"])
def test_an_older_branch_selected_again_keeps_its_context(talk: Talk, between: str) -> None:
    first = talk.ask("chat", [], "Tell me about the sea.")
    start = [said("user", "Tell me about the sea."), said("assistant", first.text)]
    branch = talk.ask("chat", start, "And the fish in it?")
    talk.ask("chat", start, between)
    history = [*start, said("user", "And the fish in it?"), said("assistant", branch.text)]
    back = talk.ask("chat", history, "Why?")
    new = talk.ask("twin", history, "Why?")
    if back.resumed == "rebuilt":
        assert back.text == new.text
    else:
        assert context_before(back) == first.context_used


def test_short_catching_up_is_still_quick(talk: Talk) -> None:
    first = talk.ask("chat", [], "Tell me about the sea.")
    start = [said("user", "Tell me about the sea."), said("assistant", first.text)]
    talk.ask("chat", start, "zzz")
    history = [*start, said("user", "Hm?"), said("assistant", "Yes.")]
    back = talk.ask("chat", history, "Why?")
    assert back.resumed == "checkpoint"
    assert context_before(back) == first.context_used
