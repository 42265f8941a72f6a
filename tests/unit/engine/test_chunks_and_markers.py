"""Text out of stream chunks: odd bytes, split characters, markers, tool calls."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.chunks import Delta, Joiner, parse_chunk
from engine.markers import AnswerFilter

HARD = "👩‍👩‍👧‍👦 🇫🇷 é 日本語 مرحبا 😊 💩"


def message(text: bytes) -> bytes:
    return b'{"role":"assistant","content":[{"type":"text","text":"' + text + b'"}]}'


def joined(chunks: list[bytes]) -> str:
    joiner = Joiner()
    return "".join(joiner.feed(parse_chunk(c).text) for c in chunks) + joiner.finish()


def test_a_text_byte_by_byte() -> None:
    assert joined([message(bytes((b,))) for b in HARD.encode()]) == HARD


def test_a_text_unit_by_unit_as_escapes() -> None:
    units = HARD.encode("utf-16-be")
    pairs = [units[i : i + 2].hex() for i in range(0, len(units), 2)]
    assert joined([message(f"\\u{p}".encode()) for p in pairs]) == HARD


def test_a_text_point_by_point() -> None:
    assert joined([message(c.encode()) for c in HARD]) == HARD


@given(st.text(max_size=40), st.integers(1, 5))
@settings(max_examples=150, deadline=None)
def test_any_text_in_pieces_of_bytes(text: str, size: int) -> None:
    raw = json.dumps(text, ensure_ascii=False)[1:-1].encode()
    if b"\\" in raw:
        return  # a split escape would be no JSON
    assert joined([message(raw[i : i + size]) for i in range(0, len(raw), size)]) == text


@pytest.mark.parametrize(
    ("chunks", "text"),
    [
        ([b"caf\xc3", b"\xa9"], "café"),
        ([message(b"end \xf0\x9f")], "end \ufffd"),
        ([message(b"end \\ud83d")], "end \ufffd"),
        ([message(b"\\ude0a alone")], "\ufffd alone"),
        ([message(b"\xf0\x9f"), message(b"x")], "\ufffdx"),
        ([b"plain words"], "plain words"),
        ([b'"a json string"'], "a json string"),
        ([b"[1, 2]"], "[1, 2]"),
        ([b"", message(b"x")], "x"),
        ([b'{"role":"assistant","content":"bare"}'], "bare"),
        ([b'{"content":["a",{"type":"text","text":"b"},{"type":"image"},7]}'], "ab"),
        ([b"[" * 100_000], "[" * 100_000),
    ],
)
def test_odd_chunks(chunks: list[bytes], text: str) -> None:
    assert joined(chunks) == text


def test_nothing_in_a_chunk() -> None:
    assert parse_chunk(None) == Delta()
    assert parse_chunk(b"") == Delta()
    assert parse_chunk(b'{"role":"assistant"}') == Delta()


def test_thoughts_are_taken_once() -> None:
    both = b'{"channels":{"thought":"hm"},"reasoning_content":"hm"}'
    assert parse_chunk(both) == Delta(thought="hm")
    assert parse_chunk(b'{"reasoning_content":"hm"}') == Delta(thought="hm")


def test_tool_arguments_stay_exact() -> None:
    raw = '{"big": 9007199254740993123, "f": 1.50, "s": "a\\"b\\n"}'
    data = '{"tool_calls":[{"function":{"name":"<|\\"|>go<|\\"|>","arguments":' + raw + "}}]}"
    (call,) = parse_chunk(data.encode()).tool_calls
    assert call.name == "go"
    assert call.arguments_json == raw


@pytest.mark.parametrize(
    ("data", "name", "arguments"),
    [
        ('{"tool_calls":[{"name":"a","args":{"x":1}}]}', "a", '{"x":1}'),
        ('{"tool_calls":[{"name":"a","arguments":"{not json"}]}', "a", "{not json"),
        ('{"tool_calls":[{"function":{"name":5}}]}', "", "{}"),
        ('{"tool_calls":[7]}', "", "7"),
        ('{"content":[{"type":"tool_call","name":"a","arguments":{"x":1}}]}', "a", '{"x": 1}'),
        ('{"tool_calls":[{"name":"a","args":{"s":"<|\\"|>P<|\\"|>"}}]}', "a", '{"s":"P"}'),
    ],
)
def test_tool_calls_in_other_shapes(data: str, name: str, arguments: str) -> None:
    (call,) = parse_chunk(data.encode()).tool_calls
    assert (call.name, call.arguments_json) == (name, arguments)


def filtered(pieces: list[str], **options: bool) -> tuple[str, str, bool]:
    answer = AnswerFilter(("<|im_end|>",), **options)
    text = thought = ""
    for piece in pieces:
        a, b = answer.feed(piece)
        text, thought = text + a, thought + b
    a, b = answer.finish()
    return text + a, thought + b, answer.looping


THINKING = "\n<think>first a plan</think>\n\nThe answer."


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 100])
def test_a_thought_at_the_start_is_no_answer(size: int) -> None:
    pieces = [THINKING[i : i + size] for i in range(0, len(THINKING), size)]
    assert filtered(pieces) == ("The answer.", "first a plan", False)


def test_a_thought_opened_by_the_prompt() -> None:
    assert filtered(["pl", "an</th", "ink>\nText"], thinking=True) == ("Text", "plan", False)


def test_a_thought_that_never_ends() -> None:
    assert filtered(["<think>", "on and on </thi"]) == ("", "on and on </thi", False)


@pytest.mark.parametrize(
    "text",
    [
        "Use `<think>` to think and `</think>` to stop.",
        "Use `<|im_end|>` to end a turn.",
        "It is <|im_end|>",
        "a < b and <|im_e",
        "  indented",
        "x <|im_end|> y <|im_end|> z",
        "<",
    ],
)
@pytest.mark.parametrize("size", [1, 4, 100])
def test_markers_inside_a_text_stay(text: str, size: int) -> None:
    pieces = [text[i : i + size] for i in range(0, len(text), size)]
    assert filtered(pieces) == (text, "", False)


@pytest.mark.parametrize("size", [1, 6, 10, 1000])
def test_a_loop_of_end_markers_ends_the_run(size: int) -> None:
    whole = "The answer." + "<|im_end|>\n" * 200
    pieces = [whole[i : i + size] for i in range(0, len(whole), size)]
    assert filtered(pieces) == ("The answer.", "", True)


def test_two_end_markers_at_the_end_are_dropped() -> None:
    assert filtered(["Done.", "<|im_end|>", "<|im_end|>"]) == ("Done.", "", False)
