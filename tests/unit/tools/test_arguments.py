"""From a model's call to checked arguments, or a clear refusal."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future

import pytest

from app.tools.arguments import MAX_ARGUMENT_CHARS, BadCall, Prepared, mismatch, parse
from app.tools.calls import prepare
from app.tools.registry import BUILTIN, Registry, Tool
from engine.types import ToolCall

ANY = {"type": "object"}
CITY = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer", "maximum": 3}},
    "required": ["city"],
    "additionalProperties": False,
}


def _never(_arguments: dict[str, object]) -> Future[object]:
    raise AssertionError("a check must not run a tool")


@pytest.fixture
def registry() -> Registry:
    made = Registry()
    made.set_source(BUILTIN, [Tool("keep", "", ANY, _never), Tool("weather", "", CITY, _never)])
    return made


def _ok(registry: Registry, name: str, text: str) -> dict[str, object]:
    made = asyncio.run(prepare(ToolCall(name, text), registry))
    assert isinstance(made, Prepared), made
    return made.arguments


def _bad(registry: Registry, name: str, text: str) -> BadCall:
    made = asyncio.run(prepare(ToolCall(name, text), registry))
    assert isinstance(made, BadCall), made
    return made


def test_values_stay_exact(registry: Registry) -> None:
    text = r'{"n": 9007199254740993, "m": -123456789012345678901234567890, "s": "a\"b\nc\t“x”",'
    text += r' "o": {"l": [1, null, true, {"deep": "\u00e9"}]}, "f": 0.1, "empty": ""}'
    assert _ok(registry, "keep", text) == {
        "n": 9007199254740993,
        "m": -123456789012345678901234567890,
        "s": 'a"b\nc\t“x”',
        "o": {"l": [1, None, True, {"deep": "é"}]},
        "f": 0.1,
        "empty": "",
    }


def test_string_marks_are_taken_out(registry: Registry) -> None:
    assert _ok(registry, '<|"|>weather<|"|>', '{"city": "<|\\"|>Paris<|\\"|>"}') == {
        "city": "Paris"
    }
    assert _ok(registry, "weather", '{"city": <|"|>Pa"ris\n<|"|>}') == {"city": 'Pa"ris\n'}
    assert _ok(registry, "keep", '{<|"|>k<|"|>: [<|"|>v<|"|>]}') == {"k": ["v"]}


def test_empty_arguments_are_an_empty_object(registry: Registry) -> None:
    assert _ok(registry, "keep", "") == {}


def test_unknown_and_switched_off_tools(registry: Registry) -> None:
    unknown = _bad(registry, "launch", "{}")
    assert unknown.state == "unknown"
    assert "launch" in unknown.reason
    assert "keep, weather" in unknown.reason
    registry.choose("keep", enabled=False)
    off = _bad(registry, "keep", "{}")
    assert off.state == "unknown"
    assert "switched off" in off.reason


@pytest.mark.parametrize(
    "text",
    [
        '{"city": Paris}',
        '{"city": "Paris"',
        "[]",
        '"Paris"',
        "null",
        '{"a": 1, "a": 2}',
        '{"a": NaN}',
        '{"a": Infinity}',
        "[" * 100_0,
        '{"a": ' + "9" * 5000 + "}",
        '{"a": "' + "x" * MAX_ARGUMENT_CHARS + '"}',
    ],
    ids=lambda t: t[:20],
)
def test_unusable_json_runs_nothing(registry: Registry, text: str) -> None:
    bad = _bad(registry, "keep", text)
    assert bad.state == "failed"
    assert bad.reason.endswith(".")
    assert bad.arguments_json == text, "shown as the model wrote it"


def test_deep_nesting_is_refused_not_a_crash(registry: Registry) -> None:
    assert _bad(registry, "keep", "[" * 30_000).state == "failed"


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("{}", "'city' is a required property"),
        ('{"city": 3}', "city: 3 is not of type 'string'"),
        ('{"city": "P", "days": 4}', "days: 4 is greater"),
        ('{"city": "P", "x": 1}', "unexpected"),
    ],
)
def test_arguments_that_do_not_fit(registry: Registry, text: str, part: str) -> None:
    assert part in _bad(registry, "weather", text).reason


def test_references_are_never_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    import urllib.request

    def no(*_args: object, **_kw: object) -> None:
        raise AssertionError("no network")

    monkeypatch.setattr(urllib.request, "urlopen", no)
    said = mismatch({}, {"$ref": "http://127.0.0.1:9/schema.json"})
    assert "cannot be checked" in said


def test_bad_schemas_of_others_are_a_sentence() -> None:
    assert "not valid" in mismatch({}, {"type": "nonsense"})
    assert mismatch("2026-13-01", {"type": "string", "format": "date"}, formats=True)
    assert not mismatch("2026-12-01", {"type": "string", "format": "date"}, formats=True)


def test_parse_gives_the_position() -> None:
    with pytest.raises(ValueError, match="column"):
        parse('{"a" 1}')
