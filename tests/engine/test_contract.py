"""What every engine promises, with the real library and the demo model."""

from __future__ import annotations

import json
import threading

import pytest

from engine.client import HostedEngine
from engine.types import (
    Constraint,
    ConstraintKind,
    FinishReason,
    Outcome,
    Sampling,
)
from tests.engine.conftest import FINE, AnyEngine, Chat, assistant, user

STORY = "Tell me a very long story about a cat and a dog in the garden."


def prompt(outcome: Outcome) -> int:
    """Entries of the context that the answer was built on."""
    assert outcome.context_used is not None
    assert outcome.benchmark is not None
    return outcome.context_used - (outcome.benchmark.decode_tokens or 0)


def not_rebuilt(engine: AnyEngine) -> tuple[str, ...]:
    """What a turn after a Stop may go on from. The engine process settles a stopped turn when no
    command comes for a moment, and on a busy machine none does."""
    return ("checkpoint", "resident") if isinstance(engine, HostedEngine) else ("checkpoint",)


def test_an_answer_streams_and_ends(shared: AnyEngine) -> None:
    chat = Chat(shared)
    outcome = chat.run(chat.request("Hello", record_times=True, limit=None))
    assert outcome.reason in FINE
    assert outcome.text
    assert outcome.error is None
    assert outcome.resumed == "rebuilt"
    assert len(chat.batches) > 1
    numbers = outcome.benchmark
    assert numbers is not None
    assert numbers.decode_tokens
    assert numbers.prefill_tokens
    assert numbers.decode_tps
    assert numbers.ttft_s
    assert numbers.elapsed_s >= numbers.ttft_s
    assert numbers.steps == len(outcome.chunk_times)
    assert outcome.chunk_times == tuple(sorted(outcome.chunk_times))
    assert chat.batches[0].first_s == outcome.chunk_times[0]
    assert outcome.context_used == numbers.prefill_tokens + numbers.decode_tokens
    assert outcome.context_total == 1024


def test_numbers_belong_to_their_own_turn(shared: AnyEngine) -> None:
    chat = Chat(shared)
    chat.send(" ".join(["Hello there, my good friend."] * 20))
    second = chat.send("Hi")
    assert second.benchmark is not None
    assert second.benchmark.prefill_tokens is not None
    assert second.benchmark.prefill_tokens < 30
    numbers = second.benchmark
    assert numbers.ttft_s is not None
    assert numbers.ttft_s == pytest.approx(
        numbers.prefill_tokens / (numbers.prefill_tps or 1) + 1 / (numbers.decode_tps or 1)
    )


def test_the_next_turn_goes_on_from_the_resident_conversation(shared: AnyEngine) -> None:
    chat = Chat(shared)
    first = chat.send("Hello")
    second = chat.send("Tell me about cats.")
    assert second.resumed == "resident"
    assert second.context_used is not None
    assert first.context_used is not None
    assert second.context_used > first.context_used
    chat.history = tuple(
        assistant(m.text + " \n") if m.role == "assistant" else m for m in chat.history
    )
    assert chat.send("And dogs?").resumed == "resident", "blanks at the end do not matter"


def test_the_output_limit_is_a_state_of_its_own(shared: AnyEngine) -> None:
    chat = Chat(shared)
    cut = chat.send(STORY, limit=5)
    assert cut.reason is FinishReason.LIMIT
    assert cut.benchmark is not None
    assert cut.benchmark.decode_tokens == 5
    assert cut.text
    assert chat.send("Go on.").resumed == "resident"


def test_an_answer_that_ends_exactly_at_the_limit_is_an_end(shared: AnyEngine) -> None:
    whole = Chat(shared).send("Hello", limit=None)
    assert whole.benchmark is not None
    tokens = whole.benchmark.decode_tokens
    assert Chat(shared).send("Hello", limit=tokens).reason is FinishReason.END
    assert Chat(shared).send("Hello", limit=(tokens or 0) - 1).reason is FinishReason.LIMIT


def test_a_message_too_long_is_refused_before_sending(shared: AnyEngine) -> None:
    chat = Chat(shared)
    chat.send("Hello")
    refused = chat.run(chat.request("word " * 1500))
    assert refused.reason is FinishReason.ERROR
    assert refused.error is not None
    assert refused.error.code == "message_too_long"
    assert refused.needs is not None
    assert refused.left is not None
    assert refused.needs > refused.left > 0
    assert refused.error.params == {"needs": str(refused.needs), "left": str(refused.left)}
    assert chat.batches == []
    after = chat.send("Hi")
    assert after.resumed == "resident", "nothing was sent, so nothing was lost"


def test_filling_the_context_ends_in_words_not_in_an_engine_error(shared: AnyEngine) -> None:
    chat = Chat(shared)
    reasons = []
    for _ in range(8):
        outcome = chat.send(STORY + " Be very detailed. " * 60)
        reasons.append(outcome.reason)
        assert outcome.context_used is not None
        assert outcome.context_used <= 1024
        if outcome.reason is FinishReason.ERROR:
            assert outcome.error is not None
            assert outcome.error.code in ("message_too_long", "context_full")
            break
    assert reasons[-1] is FinishReason.ERROR
    assert len(reasons) > 1


def test_the_wall_in_mid_answer_is_context_full(shared: AnyEngine) -> None:
    chat = Chat(shared)
    room = 1024 - shared.count_tokens("word " * 900)
    padding = "word " * 900 + "and " * max(0, room - 60)
    constraint = Constraint(ConstraintKind.REGEX, "[a-z]{2000}")
    outcome = chat.send(padding, constraint=constraint, limit=None)
    assert outcome.reason is FinishReason.CONTEXT_FULL
    assert outcome.text


def test_stop_keeps_the_text_and_the_next_send_remembers(shared: AnyEngine) -> None:
    chat = Chat(shared)
    chat.send("Hello")
    before = chat.send("Tell me about cats.")
    stopped = chat.send_and_stop(STORY)
    assert stopped.reason is FinishReason.STOPPED
    assert stopped.error is None
    assert stopped.text
    after = chat.send("Say OK.")
    assert after.reason in FINE
    assert after.resumed in not_rebuilt(shared)
    assert after.benchmark is not None
    assert after.benchmark.prefill_tokens is not None
    assert before.context_used is not None
    expected = shared.count_tokens(
        chat.engine.render(chat.request("Say OK.", history=chat.history[4:6]))
    )
    most = after.benchmark.prefill_tokens - expected
    assert most <= 4, "only the stopped exchange and the new message are prefilled"
    assert most >= -4 or after.resumed == "resident"
    assert chat.send("And now?").resumed == "resident"


def test_stop_in_the_first_turn_is_remembered_too(shared: AnyEngine) -> None:
    chat = Chat(shared)
    stopped = chat.send_and_stop(STORY)
    after = chat.send("Hi")
    assert after.reason in FINE
    assert after.resumed in not_rebuilt(shared)
    assert prompt(after) >= prompt(stopped) + shared.count_tokens(stopped.text)


def test_stop_in_the_first_turn_of_a_chat_opened_again(shared: AnyEngine) -> None:
    chat = Chat(shared, system="You speak about the sea.")
    chat.history = (user("Tell me about cats."), assistant("Cats are small and like fish."))
    stopped = chat.send_and_stop(STORY)
    after = chat.send("Hi")
    assert after.resumed in not_rebuilt(shared)
    assert prompt(after) >= prompt(stopped) + shared.count_tokens(stopped.text)
    again = Chat(shared, system="You speak about the sea.")
    again.history = chat.history[:2]
    again.send_and_stop(STORY)
    Chat(shared).send("Hello")
    back = again.send("Hi")
    assert back.reason in FINE, "another chat ran: the checkpoint's memory is not trusted"
    assert prompt(back) >= prompt(stopped) + shared.count_tokens(stopped.text)


def test_twenty_stops_in_a_row(shared: AnyEngine) -> None:
    chat = Chat(shared)
    chat.send("Hello")
    base = chat.history
    how = []
    for step in range(20):
        chat.history = base
        stopped = chat.send_and_stop(STORY, after_steps=1 + step % 4)
        assert stopped.reason is FinishReason.STOPPED
        answer = chat.send("Say OK.")
        assert answer.reason in FINE
        assert prompt(answer) >= prompt(stopped) + shared.count_tokens(stopped.text)
        how.append(answer.resumed)
    # Where one was settled, the checkpoint went on with it: two turns back is a new conversation
    # then, which is stopped and asked again. Its clone comes too late now and then.
    most = 10 if isinstance(shared, HostedEngine) else 0
    assert how.count("rebuilt") <= most, how


def test_cancel_before_the_run_begins(shared: AnyEngine) -> None:
    chat = Chat(shared)
    request = chat.request(STORY)
    shared.cancel(request.run_id)
    outcome = chat.run(request)
    assert outcome.reason is FinishReason.STOPPED
    assert outcome.text == ""
    assert chat.send("Hello").reason in FINE


def test_cancel_twice_and_after_the_end_is_harmless(shared: AnyEngine) -> None:
    chat = Chat(shared)
    chat.on_batch = lambda _b: [shared.cancel(chat.run_id), shared.cancel(chat.run_id)]
    assert chat.send_long(STORY).reason is FinishReason.STOPPED
    chat.on_batch = lambda _b: None
    shared.cancel(chat.run_id)
    shared.cancel(chat.run_id)
    assert chat.send("Hello").reason in FINE
    shared.cancel(chat.run_id)
    request = chat.request("Hello")
    shared.cancel(chat.run_id - 1)
    assert chat.run(request).reason in FINE


def test_cancel_at_any_moment_gives_one_outcome(shared: AnyEngine) -> None:
    chat = Chat(shared)
    chat.send("Hello")
    base = chat.history
    for delay in (0.0, 0.002, 0.005, 0.01, 0.02, 0.05):
        chat.history = base
        request = chat.request(STORY)
        timer = threading.Timer(delay, shared.cancel, [request.run_id])
        timer.start()
        outcome = chat.run(request)
        timer.join()
        assert outcome.reason in (FinishReason.STOPPED, FinishReason.END)
        assert chat.run(chat.request("Hi")).reason in FINE


def test_stop_in_prefill_leaves_no_numbers_of_another_turn(shared: AnyEngine) -> None:
    chat = Chat(shared)
    chat.send("Hello")
    request = chat.request(" ".join(["Hello there, my good friend."] * 80))
    timer = threading.Timer(0.02, shared.cancel, [request.run_id])
    timer.start()
    outcome = chat.run(request)
    timer.join()
    if not outcome.text and outcome.benchmark is not None:
        assert outcome.benchmark.decode_tps is None
        assert outcome.benchmark.decode_tokens is None


def test_regenerate_and_edit_go_on_from_the_checkpoint(shared: AnyEngine) -> None:
    chat = Chat(shared)
    chat.send("Hello")
    base = chat.history
    first = chat.send("Tell me about cats.")
    chat.history = base
    again = chat.send("Tell me about cats.")
    assert again.resumed == "checkpoint"
    assert again.text == first.text
    chat.history = base
    edited = chat.send("Tell me about fish.")
    assert edited.resumed == "checkpoint"
    assert edited.text != first.text
    chat.history = (*base[:1], assistant("Something else entirely."))
    assert chat.send("Hi").resumed == "rebuilt"


def test_regenerating_with_sampling_gives_other_answers(shared: AnyEngine) -> None:
    chat = Chat(shared)
    chat.send("Hello")
    base = chat.history
    texts = set()
    sampling = Sampling(temperature=1.0, top_k=40, max_output_tokens=30)
    chat.run(chat.request("Hello", history=(), sampling=sampling))
    for _ in range(3):
        chat.history = base
        texts.add(chat.run(chat.request(STORY, sampling=sampling)).text)
    assert len(texts) > 1


def test_interleaved_chats_answer_as_if_alone(shared: AnyEngine) -> None:
    questions = ("Hello", "Tell me about cats.", "Tell me about dogs.")
    other = ("Hi there", "Tell me about fish.", "Write a poem.")
    alone = [Chat(shared), Chat(shared)]
    expected = [
        [c.send(q).text for q in qs] for c, qs in zip(alone, (questions, other), strict=True)
    ]
    mixed = [Chat(shared), Chat(shared)]
    got: list[list[str]] = [[], []]
    for a, b in zip(questions, other, strict=True):
        got[0].append(mixed[0].send(a).text)
        got[1].append(mixed[1].send(b).text)
    assert got == expected


def test_more_chats_than_the_engine_keeps_still_answer(shared: AnyEngine) -> None:
    chats = [Chat(shared) for _ in range(6)]
    for chat in chats:
        chat.send("Hello")
    assert chats[-1].send("Hi").resumed == "resident"
    assert chats[0].send("Hi").resumed == "rebuilt"


def test_speculation_is_told_and_toggles_with_the_next_message(shared: AnyEngine) -> None:
    chat = Chat(shared)
    off = chat.send("Hello")
    assert off.speculative is False
    chat.speculative = True
    on = chat.send("Tell me about cats.")
    assert on.speculative is True
    assert on.reason in FINE
    assert on.benchmark is not None
    assert (on.benchmark.tokens_per_step or 0) > 1
    limited = chat.send(STORY, limit=8)
    assert limited.reason is FinishReason.LIMIT
    assert chat.send_and_stop(STORY, after_steps=2).reason is FinishReason.STOPPED
    assert chat.send("Hi").resumed in not_rebuilt(shared)
    chat.speculative = False
    assert chat.send("Hi").speculative is False


def test_a_constraint_runs_without_speculation(shared: AnyEngine) -> None:
    chat = Chat(shared, speculative=True)
    schema = {
        "type": "object",
        "properties": {"a": {"enum": ["x", "y"]}},
        "required": ["a"],
        "additionalProperties": False,
    }
    constraint = Constraint(ConstraintKind.JSON_SCHEMA, json.dumps(schema))
    outcome = chat.send("Give me JSON.", constraint=constraint)
    assert outcome.speculative is False
    assert json.loads(outcome.text)["a"] in ("x", "y")
    regex = Constraint(ConstraintKind.REGEX, "(yes|no)")
    assert chat.send("Yes or no?", constraint=regex).text in ("yes", "no")
    assert chat.send("Hello").speculative is True


def test_a_bad_constraint_fails_alone(shared: AnyEngine) -> None:
    chat = Chat(shared)
    outcome = chat.send("Hello", constraint=Constraint(ConstraintKind.REGEX, "[a-"))
    assert outcome.reason is FinishReason.ERROR
    assert outcome.error is not None
    assert outcome.error.code == "constraint_failed"
    assert outcome.error.detail
    assert chat.send("Hello").reason in FINE


def test_render_shows_system_and_message_once(shared: AnyEngine) -> None:
    chat = Chat(shared, system="Reply only with the word BANANA.")
    chat.history = (user("One question"), assistant("One answer"))
    text = shared.render(chat.request("And a second one"))
    for part in ("Reply only with the word BANANA.", "One question", "One answer", "And a second"):
        assert text.count(part) == 1
    assert text.count("system") == 1


def test_a_system_text_that_is_json_is_not_parsed(shared: AnyEngine) -> None:
    chat = Chat(shared, system='{"role": "user"}')
    assert '{"role": "user"}' in shared.render(chat.request("Hi"))


def test_tokens(shared: AnyEngine) -> None:
    text = "The quick brown fox"
    pieces = shared.tokenize(text)
    assert shared.count_tokens(text) == len(pieces)
    assert "".join(piece for _, piece in pieces) == text
    assert "\u2581" not in "".join(piece for _, piece in pieces)
    assert shared.count_tokens("") == 0


@pytest.mark.parametrize("text", ["a\0b, are you there?", "lone \ud83d surrogate", "x\u2028y"])
def test_odd_characters_do_not_cut_or_fail_a_message(shared: AnyEngine, text: str) -> None:
    chat = Chat(shared)
    outcome = chat.send(text)
    assert outcome.reason in FINE
    rendered = shared.render(chat.request(text, history=()))
    assert text[-4:] in rendered


def test_text_of_a_megabyte_is_refused_in_time(shared: AnyEngine) -> None:
    chat = Chat(shared)
    outcome = chat.run(chat.request("hello world " * 90_000))
    assert outcome.error is not None
    assert outcome.error.code == "message_too_long"


def test_one_shot_and_forgotten_chats_are_gone(shared: AnyEngine) -> None:
    chat = Chat(shared)
    chat.send("Hello", keep=False)
    assert chat.send("Hi").resumed == "rebuilt"
    shared.forget(chat.key)
    shared.forget(chat.key)
    assert chat.send("Hi again").resumed == "rebuilt"


def test_sampling_out_of_range_is_brought_into_range(shared: AnyEngine) -> None:
    chat = Chat(shared)
    odd = Sampling(
        temperature=-5, top_p=7, top_k=-3, seed=2**40, max_output_tokens=-1, repetition_penalty=-1
    )
    assert chat.run(chat.request("Hello", sampling=odd)).reason in FINE


def test_a_fixed_seed_repeats_and_a_free_one_does_not(shared: AnyEngine) -> None:
    def once(seed: int | None) -> str:
        sampling = Sampling(temperature=1.2, top_k=40, seed=seed, max_output_tokens=25)
        chat = Chat(shared)
        return chat.run(chat.request(STORY, sampling=sampling)).text

    assert once(7) == once(7)
    assert len({once(None) for _ in range(3)}) > 1


def test_a_failing_sink_ends_the_run_cleanly(shared: AnyEngine) -> None:
    chat = Chat(shared)
    chat.send("Hello")

    def fail(_batch: object) -> None:
        raise RuntimeError("the reader broke")

    chat.on_batch = fail
    with pytest.raises(RuntimeError, match="the reader broke"):
        chat.send(STORY)
    chat.on_batch = lambda _batch: None
    after = chat.send("Hi")
    assert after.reason in FINE
    assert after.resumed in not_rebuilt(shared)


def test_the_live_token_count_of_a_drafting_run_is_near_the_engines(shared: AnyEngine) -> None:
    chat = Chat(shared)
    request = chat.request("Tell me a long story about the sea.", limit=80, speculative=True)
    numbers = chat.run(request).benchmark
    assert numbers is not None
    assert numbers.decode_tokens is not None
    assert chat.batches[-1].tokens == pytest.approx(numbers.decode_tokens, rel=0.25, abs=4)
    chat.batches.clear()
    chat.run(chat.request("And the ships?", limit=8, speculative=False))
    assert {batch.tokens for batch in chat.batches} == {None}
