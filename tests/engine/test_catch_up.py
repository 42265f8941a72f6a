"""What a chat took before is remembered whole, whichever state the next send goes on from.

0.18.1 takes messages for done that it decoded before (see `engine.catch_up`); the
context is counted here, since a small model would not show what it has forgotten.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.litert import LiteRtEngine
from engine.types import (
    FinishReason,
    GenerateRequest,
    LoadOptions,
    Message,
    Outcome,
    Sampling,
    TextBatch,
    TextPart,
)


class Talk:
    def __init__(self, engine: LiteRtEngine) -> None:
        self.engine = engine
        self.runs = 0

    def ask(
        self,
        key: str,
        history: list[Message],
        text: str,
        *,
        stop_after: int | None = None,
        speculative: bool = False,
    ) -> Outcome:
        """One turn; `stop_after` chunks it is stopped."""
        self.runs += 1
        request = GenerateRequest(
            run_id=self.runs,
            chat_key=key,
            message=said("user", text),
            history=tuple(history),
            sampling=Sampling(
                top_k=1, temperature=1.0, max_output_tokens=40 if stop_after is None else None
            ),
            speculative=speculative,
        )

        def sink(batch: TextBatch) -> None:
            if stop_after is not None and batch.steps >= stop_after:
                self.engine.cancel(request.run_id)

        return self.engine.generate(request, sink)


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
    assert back.resumed == "checkpoint"
    assert context_before(back) == first.context_used


def test_short_catching_up_is_still_quick(talk: Talk) -> None:
    first = talk.ask("chat", [], "Tell me about the sea.")
    start = [said("user", "Tell me about the sea."), said("assistant", first.text)]
    talk.ask("chat", start, "zzz")
    history = [*start, said("user", "Hm?"), said("assistant", "Yes.")]
    back = talk.ask("chat", history, "Why?")
    assert back.resumed == "checkpoint"
    assert context_before(back) == first.context_used


@pytest.mark.parametrize("speculative", [False, True])
@pytest.mark.parametrize("stop_after", [1, 5, 15, 20, 30])
def test_a_stopped_exchange_is_in_the_context_of_the_next_turns(
    talk: Talk, stop_after: int, speculative: bool
) -> None:
    first = talk.ask("chat", [], "Tell me about the sea.", speculative=speculative)
    history = [said("user", "Tell me about the sea."), said("assistant", first.text)]
    question = "Tell me a very long story about ships, storms and sailors."
    for _ in range(3):
        stopped = talk.ask(
            "chat", history, question, stop_after=stop_after, speculative=speculative
        )
        history += [said("user", question), said("assistant", stopped.text)]
        if stopped.reason is not FinishReason.STOPPED:
            break
        known = first.context_used if len(history) == 4 else None
        question = "Why is that so?"
        after = talk.ask("chat", history, question, speculative=speculative)
        assert after.resumed == "checkpoint"
        if known is not None:
            assert context_before(after) == known
        assert after.context_used is not None
        whole = talk.ask("twin", history, question, speculative=speculative)
        talk.engine.forget("twin")
        built = whole.benchmark
        assert built is not None
        assert built.prefill_tokens is not None
        assert after.benchmark is not None
        assert after.benchmark.decode_tokens is not None
        assert abs(after.context_used - after.benchmark.decode_tokens - built.prefill_tokens) <= 12
        history += [said("user", question), said("assistant", after.text)]
        first = after
        question = "Go on with the story, please."
