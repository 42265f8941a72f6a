"""Several Stops in a row: the clone made between a prompt and its answer (`engine.prompt_clone`).

Without it a second Stop loses what was read since the first one.
"""

from __future__ import annotations

import time

import pytest

from engine import sending
from engine._ffi import Native, Owned
from engine.handles import live_handles
from engine.native_values import NativeError
from engine.prompt_clone import BEGUN, PromptClone
from engine.types import Constraint, ConstraintKind, FinishReason, Message
from tests.engine.talk import SLACK, STORY, Talk, built_on, said


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


def test_a_first_question_changed_and_stopped(talk: Talk) -> None:
    """The checkpoint of a new conversation serves the second answer only; what it leaves behind
    serves the next turn."""
    other = STORY.replace("ships, storms and sailors", "cats, dogs and a garden in the rain")
    seen = set()
    for _ in range(20):  # on a busy machine the clone may have come too late
        talk.engine.forget("chat")
        talk.exchange([], STORY)
        stopped = talk.ask("chat", [], other, stop_after=2)
        if (stopped.resumed, stopped.reason) != ("checkpoint", FinishReason.STOPPED):
            continue
        history = [said("user", other), said("assistant", stopped.text)]
        after = talk.ask("chat", history, "Why is that so?")
        assert abs(built_on(after) - talk.whole(history, "Why is that so?")) <= SLACK
        seen.add(after.resumed)
        if "checkpoint" in seen:
            return
    pytest.fail(f"only {seen}")


def test_a_stopped_answer_is_asked_for_again_after_two_stops(talk: Talk) -> None:
    _, history = talk.exchange([], "Tell me about the sea.")
    _, history = talk.exchange(history, STORY, stop_after=9)
    talk.exchange(history, STORY, stop_after=9)
    after = talk.ask("chat", history, STORY)
    assert after.resumed == "checkpoint"
    assert abs(built_on(after) - talk.whole(history, STORY)) <= SLACK


def test_answers_that_end_leave_nothing_behind(talk: Talk) -> None:
    """The clone of a new conversation is of no use after an answer that ended."""
    _, history = talk.exchange([], "Tell me about the sea.")
    for _ in range(2):
        _, history = talk.exchange(history, "Why is that so?")
    assert live_handles().count("conversation_clone") == 1, "the checkpoint"
    talk.engine.forget("chat")
    assert "conversation_clone" not in live_handles()


def test_stops_in_a_row_leave_nothing_behind(talk: Talk) -> None:
    _, history = talk.exchange([], "Tell me about the sea.")
    _, history = talk.exchange(history, STORY, stop_after=9)
    kept = []
    for _ in range(6):
        talk.exchange(history, STORY, stop_after=5)
        kept.append(live_handles().count("conversation_clone"))
    assert max(kept) <= 2, "the checkpoint and, if it came in time, the clone before the answer"
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
    for _ in range(20):  # on a busy machine the clone may have come too late
        talk.engine.forget("chat")
        _, history = talk.exchange([], "Tell me about the sea.")
        for _ in range(2):
            _, history = talk.exchange(history, STORY, stop_after=9)
        seen = []
        for question in ("Why is that so?", "And then?"):
            outcome, history = talk.exchange(history, question)
            assert outcome.error is None
            assert outcome.text
            seen.append(outcome.resumed)
        assert abs(built_on(outcome) - talk.whole(history[:-2], "And then?")) <= SLACK
        if "rebuilt" in seen:
            return
    pytest.fail("never noticed")
