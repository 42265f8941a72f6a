"""What a chat took before is remembered whole, whichever state the next send goes on from.

0.18.1 takes messages for done that it decoded before (see `engine.catch_up`); the
context is counted here, since a small model would not show what it has forgotten.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from engine import catch_up, generation, sending, stream
from engine._ffi import Native, Owned
from engine.catch_up import Count, Decoded, Tokens
from engine.generation import Stream
from engine.handles import live_handles
from engine.litert import LiteRtEngine
from engine.markers import AnswerFilter
from engine.native_values import NativeError
from engine.prompt_clone import BEGUN, PromptClone
from engine.protocol import TextSink
from engine.types import (
    Constraint,
    ConstraintKind,
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
        limit: int = 40,
        constraint: Constraint | None = None,
    ) -> Outcome:
        """One turn; `stop_after` chunks it is stopped."""
        self.runs += 1
        request = GenerateRequest(
            run_id=self.runs,
            chat_key=key,
            message=said("user", text),
            history=tuple(history),
            sampling=Sampling(
                top_k=1, temperature=1.0, max_output_tokens=limit if stop_after is None else None
            ),
            speculative=speculative,
            constraint=constraint,
        )

        def sink(batch: TextBatch) -> None:
            if stop_after is not None and batch.steps >= stop_after:
                self.engine.cancel(request.run_id)

        return self.engine.generate(request, sink)

    def whole(self, history: list[Message], text: str) -> int:
        """Entries of a prompt that holds all of `history` and `text`."""
        message = said("user", text)
        request = GenerateRequest(
            run_id=0, chat_key="none", message=message, history=tuple(history)
        )
        return self.engine.count_tokens(self.engine.render(request))

    def exchange(
        self,
        history: list[Message],
        text: str,
        *,
        stop_after: int | None = None,
        speculative: bool = False,
    ) -> tuple[Outcome, list[Message]]:
        """One turn of "chat", and the history with it. A Stop is tried again when the answer
        was at its end before it: a busy machine."""
        for _ in range(20):
            outcome = self.ask(
                "chat", history, text, stop_after=stop_after, speculative=speculative
            )
            if stop_after is None or outcome.reason is FinishReason.STOPPED:
                break
        return outcome, [*history, said("user", text), said("assistant", outcome.text)]


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


def built_on(outcome: Outcome) -> int:
    """Entries the answer was built on, its own prompt among them."""
    assert outcome.error is None
    assert outcome.benchmark is not None
    assert outcome.context_used is not None
    return outcome.context_used - (outcome.benchmark.decode_tokens or 0)


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


STORY = "Tell me a very long story about ships, storms and sailors."
SLACK = 8
"""What a few turns differ by: an end that the template would add, and what nobody sees."""


@pytest.mark.parametrize("speculative", [False, True])
@pytest.mark.parametrize("stops", [(9, 6), (1, 1, 1), (7, 3, 5, 4)])
def test_stops_in_a_row_are_in_the_context(
    talk: Talk, stops: tuple[int, ...], speculative: bool
) -> None:
    _, history = talk.exchange([], "Tell me about the sea.", speculative=speculative)
    for steps in stops:
        _, history = talk.exchange(history, STORY, stop_after=steps, speculative=speculative)
    after = talk.ask("chat", history, "Why is that so?", speculative=speculative)
    assert after.resumed == "checkpoint"
    slack = SLACK + 4 * len(stops)
    assert abs(built_on(after) - talk.whole(history, "Why is that so?")) <= slack


def test_after_stops_in_a_row_only_the_new_text_is_decoded(talk: Talk) -> None:
    """Counted in processor time, as below; measured: an eighth, and 0.7 without the clone that
    is made between a prompt and its answer."""
    spent: dict[str, list[float]] = {"after": [], "whole": []}
    for _ in range(3):
        _, history = talk.exchange([], "Tell me about the sea.")
        for _ in range(4):
            _, history = talk.exchange(history, f"{STORY} " * 4, stop_after=6)
        for key, kind in (("chat", "after"), ("twin", "whole")):
            before = time.process_time()
            outcome = talk.ask(key, history, "Hm?", limit=1)
            spent[kind].append(time.process_time() - before)
            assert outcome.resumed == ("checkpoint" if key == "chat" else "rebuilt")
            talk.engine.forget(key)
    assert min(spent["after"]) < 0.35 * min(spent["whole"]), spent


def test_another_chat_between_two_stops_and_the_next_turn(talk: Talk) -> None:
    _, history = talk.exchange([], "Tell me about the sea.")
    for _ in range(2):
        _, history = talk.exchange(history, STORY, stop_after=9)
        talk.ask("other", [], "Tell me about the moon.")
    after = talk.ask("chat", history, "Why is that so?")
    assert after.resumed == "checkpoint"
    assert abs(built_on(after) - talk.whole(history, "Why is that so?")) <= 2 * SLACK


def test_a_stopped_answer_is_asked_for_again_after_two_stops(talk: Talk) -> None:
    _, history = talk.exchange([], "Tell me about the sea.")
    _, history = talk.exchange(history, STORY, stop_after=9)
    talk.exchange(history, STORY, stop_after=9)
    after = talk.ask("chat", history, STORY)
    assert after.resumed == "checkpoint"
    assert abs(built_on(after) - talk.whole(history, STORY)) <= SLACK


def test_stops_in_a_row_leave_nothing_behind(talk: Talk) -> None:
    _, history = talk.exchange([], "Tell me about the sea.")
    _, history = talk.exchange(history, STORY, stop_after=9)
    kept = []
    for _ in range(6):
        talk.exchange(history, STORY, stop_after=5)
        kept.append(live_handles().count("conversation_clone"))
    assert kept[1:] == kept[1:2] * 5
    talk.engine.forget("chat")
    assert "conversation_clone" not in live_handles()


def test_no_clone_is_made_of_a_conversation_with_a_constraint(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """0.18.1 aborts: the clone's table of tokens is made while the answer uses the tokenizer."""
    made: list[str] = []

    class Counted(PromptClone):
        def _make(self) -> None:
            made.append("clone")
            super()._make()

    monkeypatch.setattr(sending, "PromptClone", Counted)
    limit = Constraint(kind=ConstraintKind.REGEX, text="[a-z ]{60,80}")
    for constraint, clones in ((None, 1), (limit, 0)):
        made.clear()
        history: list[Message] = []
        for stop in (None, 4, 4):
            outcome = talk.ask("chat", history, STORY, stop_after=stop, constraint=constraint)
            history += [said("user", STORY), said("assistant", outcome.text)]
        assert talk.ask("chat", history, "Why?", constraint=constraint).error is None
        assert (len(made) >= clones) if clones else not made


class _TooLate(PromptClone):
    """Asks when the answer is being written."""

    def _make(self) -> None:
        time.sleep(0.3)
        super()._make()


def test_a_clone_that_comes_too_late_is_not_used(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "PromptClone", _TooLate)
    _, history = talk.exchange([], "Tell me about the sea.")
    for _ in range(3):
        _, history = talk.exchange(history, STORY, stop_after=9)
    after = talk.ask("chat", history, "Why is that so?")
    assert after.resumed == "checkpoint"
    assert abs(built_on(after) - talk.whole(history, "Why is that so?")) <= SLACK


def test_a_stop_while_such_a_send_is_refused(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    send = Native.send

    def refused(
        native: Native, chat: Owned, message: str, args: Owned, token: int, extra: str = "{}"
    ) -> None:
        if extra == BEGUN:
            talk.engine.cancel(talk.runs)
            raise NativeError("conversation_send_message_stream")
        send(native, chat, message, args, token, extra)

    monkeypatch.setattr(Native, "send", refused)
    _, history = talk.exchange([], "Tell me about the sea.")
    for _ in range(2):
        _, history = talk.exchange(history, STORY, stop_after=9)
    assert talk.ask("chat", history, "Why is that so?").reason is FinishReason.STOPPED


@pytest.mark.parametrize("extra", ["{}", "no object"])
def test_a_template_that_does_not_go_on_with_an_answer(
    talk: Talk, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it reads instead is noticed, whether it says so or not; the next send is rebuilt."""
    monkeypatch.setattr(sending, "BEGUN", extra)
    _, history = talk.exchange([], "Tell me about the sea.")
    for _ in range(2):
        _, history = talk.exchange(history, STORY, stop_after=9)
    seen = []
    for question in ("Why is that so?", "And then?"):
        outcome, history = talk.exchange(history, question)
        assert outcome.error is None
        assert outcome.text
        seen.append(outcome.resumed)
    assert "rebuilt" in seen
    assert abs(built_on(outcome) - talk.whole(history[:-2], "And then?")) <= SLACK


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
