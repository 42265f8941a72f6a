"""A stopped answer is read to its end while nobody waits (`engine.settling`).

What must hold: the next turn goes on from exactly what is shown, costs its own text, and
wherever something is not as expected everything is as if nothing had been tried.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import pytest

from engine import sending, settling, turn
from engine._ffi import Native, Owned
from engine.errors import GenerationError
from engine.handles import live_handles
from engine.litert import LiteRtEngine
from engine.native_values import NativeError
from engine.prompt_clone import PromptClone
from engine.types import (
    Constraint,
    ConstraintKind,
    FinishReason,
    LoadOptions,
    Message,
    Outcome,
)
from tests.engine.conftest import Variants
from tests.engine.talk import SLACK, STORY, Talk, built_on, said

WHY = "Why is that so?"
SEA = "Tell me about the sea."


def own(talk: Talk, text: str) -> int:
    """Tokens that a turn with `text` adds to a finished one, give or take its end marker."""
    one = [said("user", "Hm?"), said("assistant", "Yes.")]
    return talk.whole(one, text) - talk.whole([], "Hm?") - talk.engine.count_tokens("Yes.")


def assert_quick(talk: Talk, outcome: Outcome, history: list[Message], text: str) -> None:
    """The turn went on from a finished one, added its own text alone, and lacks nothing."""
    assert outcome.error is None
    assert outcome.resumed == "resident"
    assert outcome.benchmark is not None
    assert outcome.benchmark.prefill_tokens is not None
    assert abs(outcome.benchmark.prefill_tokens - own(talk, text)) <= 2
    assert abs(built_on(outcome) - talk.whole(history, text)) <= SLACK


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """With so small a model on a busy machine the clone comes too late now and then."""
    monkeypatch.setattr(settling, "TRIES", 20)


def settled(
    talk: Talk,
    *,
    first: bool,
    steps: int = 6,
    speculative: bool = False,
) -> list[Message]:
    """The history after a Stop that was settled. In a first turn there is only one try."""
    for _ in range(20):
        talk.engine.forget("chat")
        history: list[Message] = []
        if not first:
            _, history = talk.exchange(history, SEA, speculative=speculative)
        _, history = talk.exchange(history, STORY, stop_after=steps, speculative=speculative)
        assert talk.engine.unsettled
        done = talk.engine.settle()
        assert not talk.engine.unsettled
        if done:
            return history
    pytest.fail("never settled")


@pytest.mark.parametrize("speculative", [False, True])
@pytest.mark.parametrize("steps", [1, 4, 9])
@pytest.mark.parametrize("first", [True, False])
def test_the_next_turn_costs_its_own_text(
    talk: Talk, first: bool, steps: int, speculative: bool
) -> None:
    history = settled(talk, first=first, steps=steps, speculative=speculative)
    after = talk.ask("chat", history, WHY, speculative=speculative)
    assert_quick(talk, after, history, WHY)
    history += [said("user", WHY), said("assistant", after.text)]
    more = talk.ask("chat", history, "And then?", speculative=speculative)
    assert_quick(talk, more, history, "And then?")


@pytest.mark.parametrize("name", ["gemma3", "gemma4"])
def test_other_templates(variant: Variants, name: str) -> None:
    engine = LiteRtEngine()
    engine.load(LoadOptions(model_path=str(variant(name)), cache="no", context_tokens=1024))
    talk = Talk(engine)
    _, history = talk.exchange([], SEA)
    _, history = talk.exchange(history, STORY, stop_after=6)
    assert engine.settle()
    after = talk.ask("chat", history, WHY)
    assert after.resumed == "resident"
    assert abs(built_on(after) - talk.whole(history, WHY)) <= SLACK
    engine.close()


def test_stops_in_a_row(talk: Talk) -> None:
    _, history = talk.exchange([], SEA)
    for steps in (7, 3, 5, 4):
        stopped, history = talk.exchange(history, STORY, stop_after=steps)
        assert stopped.resumed == "resident"
        assert talk.engine.settle()
    after = talk.ask("chat", history, WHY)
    assert after.resumed == "resident"
    assert abs(built_on(after) - talk.whole(history, WHY)) <= 4 * 4


@pytest.mark.parametrize("words", [1, 3, 12])
def test_a_stop_before_that_was_not_settled(talk: Talk, words: int) -> None:
    """What was read since is read again if that is little, or while somebody writes if it is
    more; if it is much the next turn goes on from the clone before the answer."""
    _, history = talk.exchange([], SEA)
    for _ in range(2):
        _, history = talk.exchange(history, f"{STORY} " * words, stop_after=3)
    kept = live_handles().count("conversation_clone")
    assert talk.engine.settle() == (words == 1)
    assert words == 1 or talk.engine.settle("chat") == (words == 3)
    assert live_handles().count("conversation_clone") <= kept
    after = talk.ask("chat", history, WHY)
    assert after.resumed == ("checkpoint" if words == 12 else "resident")
    assert abs(built_on(after) - talk.whole(history, WHY)) <= SLACK


@pytest.mark.parametrize("first", [True, False])
def test_another_chat_in_between(talk: Talk, first: bool) -> None:
    history = settled(talk, first=first)
    talk.ask("other", [], "Tell me about the moon.")
    assert_quick(talk, talk.ask("chat", history, WHY), history, WHY)


@pytest.mark.parametrize("first", [True, False])
def test_the_answer_is_asked_for_again(talk: Talk, first: bool) -> None:
    history = settled(talk, first=first)[:-2]
    again, then = talk.exchange(history, STORY)
    assert again.resumed == ("rebuilt" if first else "checkpoint")
    assert abs(built_on(again) - talk.whole(history, STORY)) <= SLACK
    after = talk.ask("chat", then, WHY)
    assert after.resumed == "resident"
    assert abs(built_on(after) - talk.whole(then, WHY)) <= SLACK


def test_the_delay_told_is_that_of_the_turn(talk: Talk) -> None:
    """The engine keeps the delay of the first prompt of a conversation for ever, here that of
    what was read in the background."""
    for _ in range(3):
        history = settled(talk, first=True, steps=12)
        outcome = talk.ask("chat", history, "Hm?", limit=20)
        assert outcome.resumed == "resident"
        numbers = outcome.benchmark
        assert numbers is not None
        assert numbers.prefill_tps is not None
        assert numbers.decode_tps is not None
        of_this_turn = (numbers.prefill_tokens or 0) / numbers.prefill_tps + 1 / numbers.decode_tps
        assert numbers.ttft_s == pytest.approx(of_this_turn, rel=1e-3)


def test_nothing_to_settle(talk: Talk) -> None:
    assert not talk.engine.settle()
    _, history = talk.exchange([], SEA)
    assert not talk.engine.unsettled, "it ended by itself"
    talk.exchange(history, STORY, stop_after=4)
    talk.ask("other", [], "Hello")
    assert not talk.engine.unsettled, "another turn ran since"
    talk.exchange(history, STORY, stop_after=4)
    talk.engine.forget("chat")
    assert not talk.engine.settle()
    limit = Constraint(kind=ConstraintKind.REGEX, text="[a-z ]{60,80}")
    talk.ask("held", [], STORY, stop_after=4, constraint=limit)
    assert not talk.engine.unsettled, "no clone may be made of such a conversation"
    talk.exchange(history, STORY, stop_after=4)
    talk.engine.unload()
    assert not talk.engine.unsettled


OLD = [said("user", SEA), said("assistant", "The sea is wide, and the fish swim. " * 20)]


def stopped_in_old(talk: Talk) -> list[Message]:
    """The first turn of a long chat that was opened again, stopped."""
    for _ in range(20):
        talk.engine.forget("chat")
        outcome = talk.ask("chat", OLD, STORY, stop_after=4)
        if outcome.reason is FinishReason.STOPPED:
            return [*OLD, said("user", STORY), said("assistant", outcome.text)]
    pytest.fail("it always ends by itself")


def test_a_turn_that_failed_leaves_none_to_settle(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, history = talk.exchange([], STORY, stop_after=4)
    assert talk.engine.unsettled

    def fails(*_args: object) -> Outcome:
        raise GenerationError("send_failed")

    with monkeypatch.context() as patch:
        patch.setattr(turn, "run_turn", fails)
        assert talk.ask("chat", history, WHY).error is not None
    assert not talk.engine.unsettled


def test_a_long_chat_opened_again_keeps_its_one_checkpoint(talk: Talk) -> None:
    """It serves one send: the answer asked for again would read everything once more."""
    stopped_in_old(talk)
    assert not talk.engine.settle()
    again, _ = talk.exchange(OLD, STORY)
    assert again.resumed == "checkpoint"
    assert abs(built_on(again) - talk.whole(OLD, STORY)) <= SLACK


def test_a_long_chat_opened_again_is_settled_when_somebody_writes(talk: Talk) -> None:
    for _ in range(20):
        history = stopped_in_old(talk)
        assert not talk.engine.settle()
        assert not talk.engine.settle("other")
        if talk.engine.settle("chat"):
            break
        after = talk.ask("chat", history, WHY)
        assert abs(built_on(after) - talk.whole(history, WHY)) <= SLACK
    assert not talk.engine.settle("chat")
    assert_quick(talk, talk.ask("chat", history, WHY), history, WHY)


def test_another_chat_after_a_stop_in_a_chat_opened_again(talk: Talk) -> None:
    """Not settled, and its checkpoint is lost: a clone from before the answer still stands."""
    seen = set()
    for _ in range(20):
        history = stopped_in_old(talk)
        talk.ask("other", [], "Tell me about the moon.")
        after = talk.ask("chat", history, WHY)
        assert abs(built_on(after) - talk.whole(history, WHY)) <= SLACK
        seen.add(after.resumed)
        if "checkpoint" in seen:
            return
    pytest.fail(f"only {seen}")


class _TooLate(PromptClone):
    """Asks when the token behind the prompt is there."""

    def _make(self) -> None:
        time.sleep(0.3)
        super()._make()


def refused(
    native: Native, chat: Owned, message: str, args: Owned, token: int, extra: str = "{}"
) -> None:
    if extra == settling.ENDED:
        raise NativeError("conversation_send_message_stream")
    SEND(native, chat, message, args, token, extra)


SEND = Native.send
ARGUMENTS = Native.optional_args


def unsuppressed(native: Native, *, max_output: int, suppress: Sequence[int] = ()) -> Owned:
    """As with a library that cannot keep a token from being chosen."""
    return ARGUMENTS(native, max_output=max_output)


TROUBLE = {
    "too late": lambda patch: patch.setattr(settling, "PromptClone", _TooLate),
    "refused": lambda patch: patch.setattr(Native, "send", refused),
    "another template": lambda patch: patch.setattr(settling, "ENDED", "{}"),
}


@pytest.mark.parametrize("trouble", list(TROUBLE))
@pytest.mark.parametrize("speculative", [False, True])
def test_where_it_fails_everything_is_as_before(
    talk: Talk, trouble: str, speculative: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, history = talk.exchange([], SEA, speculative=speculative)
    _, history = talk.exchange(history, STORY, stop_after=2, speculative=speculative)
    monkeypatch.setattr(settling, "TRIES", 2)
    sends: list[Owned] = []
    send_once = settling._Settling._send

    def counted(self: settling._Settling, chat: Owned, ended: settling._Ended) -> object:
        sends.append(chat)
        return send_once(self, chat, ended)

    with monkeypatch.context() as patch:
        patch.setattr(settling._Settling, "_send", counted)
        TROUBLE[trouble](patch)
        done = talk.engine.settle()
    assert len(sends) == 1 or trouble == "too late", "what fails each time is not tried again"
    after = talk.ask("chat", history, WHY, speculative=speculative)
    if done:  # while drafting nothing may have been decoded behind it: then it is not too late
        assert (trouble, speculative, after.resumed) == ("too late", True, "resident")
    else:
        assert after.resumed == "checkpoint"
    assert abs(built_on(after) - talk.whole(history, WHY)) <= SLACK


def test_in_a_first_turn_where_it_fails(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    _, history = talk.exchange([], STORY, stop_after=6)
    with monkeypatch.context() as patch:
        TROUBLE["too late"](patch)
        assert not talk.engine.settle()
    after = talk.ask("chat", history, WHY)
    assert after.resumed == "checkpoint", "from before the answer, or the first one untouched"
    assert abs(built_on(after) - talk.whole(history, WHY)) <= SLACK


class _NoClone(PromptClone):
    def _make(self) -> None:
        pass


def test_the_only_way_back_is_not_spent(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Should it fail, the next turn would read everything again."""
    monkeypatch.setattr(sending, "PromptClone", _NoClone)
    _, history = talk.exchange([], STORY, stop_after=6)
    assert not talk.engine.settle()
    after = talk.ask("chat", history, WHY)
    assert after.resumed == "checkpoint"
    assert abs(built_on(after) - talk.whole(history, WHY)) <= SLACK


def test_what_was_decoded_behind_it_is_no_part_of_the_next_turn(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The token behind the prompt mostly is the one with which a next turn begins, were it not
    forbidden. A clone with that one behind it is not kept."""
    settled = []
    for steps in (1, 2, 3, 5, 9, 15, 22):
        talk.engine.forget("chat")
        _, history = talk.exchange([], SEA)
        stopped, history = talk.exchange(history, STORY, stop_after=steps)
        if stopped.reason is not FinishReason.STOPPED:
            continue
        with monkeypatch.context() as patch:
            patch.setattr(Native, "optional_args", unsuppressed)
            settled.append(talk.engine.settle())
        after = talk.ask("chat", history, WHY)
        assert abs(built_on(after) - talk.whole(history, WHY)) <= SLACK
    assert False in settled, "the model never begins a next turn by itself?"


def test_it_leaves_nothing_behind(talk: Talk) -> None:
    _, history = talk.exchange([], SEA)
    kept = []
    for _ in range(6):
        talk.exchange(history, STORY, stop_after=5)
        assert talk.engine.settle()
        kept.append(sorted(live_handles()))
    assert kept[1:] == kept[:1] * 5
    talk.engine.forget("chat")
    assert not [name for name in live_handles() if name.startswith("conversation")]
