"""What is sent once more to a clone differs from what was decoded, and as late as possible.

The engine is one of words here: a token is a word with the blank before it, or a marker.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from engine.catch_up import HIDDEN, Decoded, again, missing
from engine.types import ImagePart, Message, TextPart, ToolCall, ToolResultPart

QUESTION, NEXT = "Tell me a story about ships.", "Why is that so?"
PARTIAL = "Once upon a time there was an old ship that sailed over"
START = "<assistant>"


def user(text: str) -> Message:
    return Message("user", (TextPart(text),))


def assistant(text: str) -> Message:
    return Message("assistant", (TextPart(text),) if text else ())


def rendered(messages: Sequence[Message]) -> str:
    parts = []
    for m in messages:
        said = m.text + "".join(p.result_json for p in m.parts if isinstance(p, ToolResultPart))
        parts.append(f"<{m.role}>{said}<end>")
    return "".join(parts) + START


def ids(text: str) -> tuple[int, ...]:
    return tuple(hash(piece) for piece in re.findall(r"<\w+>| ?[^\s<]+|\s", text))


def tokens(messages: Sequence[Message]) -> tuple[int, ...]:
    return ids(rendered(messages))


def count(text: str) -> int:
    return len(ids(text))


def decoded(sent: Sequence[Message], answer: str, ahead: str = " seas") -> Decoded:
    """`ahead` was decoded too, but not shown any more."""
    return Decoded(tuple(sent), assistant(answer), len(tokens(sent)) + count(answer + ahead))


def took_over(send: Sequence[Message], had: Decoded, ahead: str = " seas") -> int:
    """How many tokens of `send` the engine takes over; all it has would be the fault."""
    memory = ids(rendered(had.sent) + had.answer.text + ahead)
    assert len(memory) == had.entries
    return next(i for i, (a, b) in enumerate(zip(memory, tokens(send), strict=False)) if a != b)


def test_after_a_stop_all_but_the_last_word_is_taken_over() -> None:
    had = decoded([user(QUESTION)], PARTIAL)
    send = again([user(QUESTION), assistant(PARTIAL)], user(NEXT), had, tokens, count)
    assert send is not None
    assert took_over(send, had) >= had.entries - 3
    assert [m.role for m in send] == ["user", "assistant", "user"]
    assert send[0] == user(QUESTION)
    assert send[1].text.split() == PARTIAL.split()
    assert send[2] == user(NEXT)


def test_where_nothing_was_decoded_ahead_it_differs_earlier() -> None:
    had = decoded([user(QUESTION)], PARTIAL, ahead="")
    send = again([user(QUESTION), assistant(PARTIAL)], user(NEXT), had, tokens, count)
    assert send is not None
    assert had.entries - 5 <= took_over(send, had, "") < had.entries - 1


@pytest.mark.parametrize("between", ["  ", "\n", "\n\n"])
def test_a_blank_far_from_the_end_is_no_place(between: str) -> None:
    answer = "Once upon" + between + between.join(["time"] * 25)
    had = decoded([user(QUESTION)], answer)
    send = again([user(QUESTION), assistant(answer)], user(NEXT), had, tokens, count)
    assert send is not None
    assert took_over(send, had) >= had.entries - 12
    assert send[1].text.replace(HIDDEN, "") == answer


def test_an_answer_that_grew_differs_inside_its_old_part() -> None:
    had = decoded([user(QUESTION)], PARTIAL)
    grown = assistant(PARTIAL + " the seas and far away, day after day after day after day.")
    send = again([user(QUESTION), grown], user(NEXT), had, tokens, count)
    assert send is not None
    assert had.entries - 5 <= took_over(send, had) < had.entries - 1


def test_after_two_stops_the_place_lies_in_the_first_answer() -> None:
    had = decoded([user(QUESTION)], PARTIAL)
    lacking = [user(QUESTION), assistant(PARTIAL), user("Go on."), assistant("They saw a whale")]
    send = again(lacking, user(NEXT), had, tokens, count)
    assert send is not None
    assert send[2:4] == (lacking[2], lacking[3])
    assert had.entries - 5 <= took_over(send, had) < had.entries - 1


@pytest.mark.parametrize("answer", ["Yes", "Yes."])
def test_a_short_answer_leaves_the_question_to_differ(answer: str) -> None:
    had = decoded([user(QUESTION)], answer)
    send = again([user(QUESTION), assistant(answer)], user(NEXT), had, tokens, count)
    assert send is not None
    assert took_over(send, had) < had.entries - 1
    assert send[0].text.strip() == QUESTION


def test_text_without_blanks_gets_a_hidden_character() -> None:
    def by_character(messages: Sequence[Message]) -> tuple[int, ...]:
        return tuple(map(ord, rendered(messages)))

    text = "昔々あるところに古い船がありました"
    sent = (user(QUESTION),)
    had = Decoded(sent, assistant(text), len(by_character(sent)) + len(text) + 1)
    send = again([*sent, assistant(text)], user(NEXT), had, by_character, len)
    assert send is not None
    assert send[1].text.replace(HIDDEN, "") == text
    assert text.startswith(send[1].text.split(HIDDEN)[0])
    assert len(send[1].text.split(HIDDEN)[0]) >= len(text) - 2


def test_a_template_that_cuts_blanks_gets_what_it_does_not_cut() -> None:
    def strict(messages: Sequence[Message]) -> tuple[int, ...]:
        return ids(re.sub(r"\s+", " ", rendered(messages)).replace(" <", "<"))

    had = decoded([user(QUESTION)], PARTIAL)
    send = again([user(QUESTION), assistant(PARTIAL)], user(NEXT), had, strict, count)
    assert send is not None
    assert HIDDEN in rendered(send)


def test_no_known_place_means_a_rebuild() -> None:
    had = decoded([user(QUESTION)], PARTIAL)
    lacking = [user(QUESTION), assistant(PARTIAL)]
    assert again(lacking, user(NEXT), had, lambda _messages: (), count) is None
    blind = again(lacking, user(NEXT), had, lambda m: (1,) * len(tokens(m)), count)
    assert blind is None


@pytest.mark.parametrize(
    ("sent", "answer", "lacking"),
    [
        ([], "", [user(QUESTION), assistant(PARTIAL)]),
        ([user(QUESTION)], PARTIAL, []),
        ([user("Tell me a joke.")], PARTIAL, [user(QUESTION), assistant(PARTIAL)]),
        ([user(QUESTION)], "Once upon another time", [user(QUESTION), assistant(PARTIAL)]),
        ([user(QUESTION)], PARTIAL + " all the seas", [user(QUESTION), assistant(PARTIAL)]),
        ([user(QUESTION)], "", [user(QUESTION)]),
        (
            [Message("tool", (ToolResultPart("time", "1"),))],
            PARTIAL,
            [Message("tool", (ToolResultPart("time", "2"),)), assistant(PARTIAL)],
        ),
        (
            [Message("user", (TextPart(QUESTION), ImagePart("a.png")))],
            PARTIAL,
            [Message("user", (TextPart(QUESTION), ImagePart("a.png"))), assistant(PARTIAL)],
        ),
    ],
    ids=[
        *("nothing sent", "the same question", "another question", "another answer"),
        *("more was decoded", "two questions", "another result", "a picture"),
    ],
)
def test_what_parts_by_itself_stays_as_it_is(
    sent: list[Message], answer: str, lacking: list[Message]
) -> None:
    had = decoded(sent, answer) if sent else Decoded((), assistant(""), 0)
    assert again(lacking, user(NEXT), had, tokens, count) == (*lacking, user(NEXT))


def test_an_answer_to_what_was_stopped_at_once_still_differs() -> None:
    had = decoded([user(QUESTION)], "", ahead="")
    send = again([user(QUESTION), assistant(PARTIAL)], user(NEXT), had, tokens, count)
    assert send is not None
    assert took_over(send, had, "") < had.entries - 1


def test_a_stop_after_a_tool_is_caught_up_too() -> None:
    result = Message("tool", (ToolResultPart("time", "12:00"),))
    had = decoded([result], PARTIAL)
    send = again([result, assistant(PARTIAL)], user(NEXT), had, tokens, count)
    assert send is not None
    assert send[0] == result
    assert took_over(send, had) >= had.entries - 3


def test_what_a_state_lacks_of_a_history() -> None:
    history = (user("a"), assistant("b"), user("c"))
    assert missing(history[:1], history) == history[1:]
    assert missing((user("a"), assistant("b \n")), history) == history[2:]
    assert missing((user("x"),), history) is None
    assert missing((*history, assistant("d")), history) is None
    call = Message("assistant", (TextPart("b"),), (ToolCall("time", "{}"),))
    assert missing((user("a"), call), history) is None
