"""What a chat took before is remembered whole, whichever state the next send goes on from.

0.18.1 takes messages for done that it decoded before (see `engine.catch_up`); the
context is counted here, since a small model would not show what it has forgotten.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import pytest

from engine import catch_up, generation, stream
from engine.catch_up import Count, Decoded, Tokens
from engine.generation import Stream
from engine.markers import AnswerFilter
from engine.protocol import TextSink
from engine.types import FinishReason, Message
from tests.engine.talk import SLACK, STORY, Talk, built_on, context_before, said


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


def test_a_stopped_answer_that_was_continued_is_in_the_context(talk: Talk) -> None:
    _, history = talk.exchange([], "Tell me about the sea.")
    stopped, history = talk.exchange(history, STORY, stop_after=8)
    more = talk.ask("chat", history, "Continue your last answer exactly where it stopped.")
    history = [*history[:-1], said("assistant", stopped.text + more.text)]
    after = talk.ask("chat", history, "Why is that so?")
    assert after.resumed == "checkpoint"
    assert abs(built_on(after) - talk.whole(history, "Why is that so?")) <= SLACK


def test_the_same_question_again_and_back(talk: Talk) -> None:
    """Regenerating overwrites what the checkpoint shares, with another end."""
    _, start = talk.exchange([], "Tell me about the sea.")
    _, history = talk.exchange(start, STORY)
    talk.ask("chat", start, STORY, stop_after=1)
    after = talk.ask("chat", history, "Why is that so?")
    assert after.resumed == "checkpoint"
    assert abs(built_on(after) - talk.whole(history, "Why is that so?")) <= SLACK


def test_after_a_stop_only_the_new_text_is_decoded(talk: Talk) -> None:
    """Also in the first turn of a chat that is opened again. Counted in processor time, since
    the engine counts what it took over like what it decoded; measured: a fifth."""
    old = [
        said("user", "Tell me about the sea. " * 20),
        said("assistant", "The sea is wide and blue, and the fish swim in it. " * 30),
    ]
    spent: dict[str, list[float]] = {"after": [], "whole": []}
    for _ in range(3):
        _, history = talk.exchange(old, STORY, stop_after=20)
        for key, kind in (("chat", "after"), ("twin", "whole")):
            before = time.process_time()
            outcome = talk.ask(key, history, "Hm?", limit=1)
            spent[kind].append(time.process_time() - before)
            assert outcome.resumed == ("checkpoint" if key == "chat" else "rebuilt")
            assert abs(built_on(outcome) - talk.whole(history, "Hm?")) <= SLACK
            talk.engine.forget(key)
    assert min(spent["after"]) < 0.6 * min(spent["whole"]), spent


def test_a_speed_that_is_none_is_not_told(talk: Talk) -> None:
    _, history = talk.exchange([], "Tell me about the sea.")
    _, history = talk.exchange(history, STORY, stop_after=20)
    after = talk.ask("chat", history, "Why?")
    assert after.benchmark is not None
    assert after.benchmark.prefill_tokens is not None
    assert after.benchmark.prefill_tps is None


def test_a_context_that_lacks_something_is_not_kept(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Were the engine to lose something all the same, one answer would suffer, not the chat."""

    def careless(
        lacking: Sequence[Message], message: Message, _d: Decoded, _t: Tokens, _c: Count
    ) -> tuple[Message, ...]:
        return (*lacking, message)

    _, start = talk.exchange([], "Tell me about the sea.")
    _, history = talk.exchange(start, "And the fish in it?")
    talk.ask("chat", start, "zzz")
    with monkeypatch.context() as patch:
        patch.setattr(catch_up, "again", careless)
        bad, history = talk.exchange(history, "Why?")
    assert built_on(bad) < talk.whole(history[:-2], "Why?") - SLACK, "the fault is gone?"
    after = talk.ask("chat", history, "Why is that so?")
    assert after.resumed == "rebuilt"
    assert built_on(after) == talk.whole(history, "Why is that so?")


def test_a_buffer_the_drafter_lost_costs_no_answer(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One drafting send in some hundreds ends at once in this; the next one does not."""
    lost = "UNKNOWN: … Cannot auto-resize tensor kv_cache_k_2: no dims_signature exists"
    collect = generation.collect
    calls: list[str] = []

    def failing(run: stream.Run, sink: TextSink, answer: AnswerFilter, count: Count) -> Stream:
        calls.append(lost)
        if len(calls) == 1:
            collect(run, lambda _batch: None, answer, count)
            return Stream(error=lost, ended=time.perf_counter())
        return collect(run, sink, answer, count)

    _, history = talk.exchange([], "Tell me about the sea.")
    _, history = talk.exchange(history, STORY, stop_after=6)
    monkeypatch.setattr(generation, "collect", failing)
    after = talk.ask("chat", history, "Why?", speculative=True)
    assert len(calls) == 2
    assert after.error is None
    assert after.text
    assert after.resumed == "rebuilt"
    assert built_on(after) == talk.whole(history, "Why?")
