"""Schemas and regexes of others are checked where they cannot hold the window."""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import Future

import pytest

from app.tools import checking
from app.tools.arguments import BadCall, Prepared
from app.tools.calls import CallRunner, Consent, Stopped, prepare
from app.tools.checking import is_plain_regex, is_plain_schema, misfit, verdict
from app.tools.registry import BUILTIN, Registry, Tool
from engine.types import Constraint, ConstraintKind, FinishReason, ToolCall

EVIL = {"type": "object", "properties": {"s": {"type": "string", "pattern": "^(a+)+$"}}}
"""Against 40 times a and a b: longer than anybody lives."""
DOUBLING: dict[str, object] = {
    "$ref": "#/$defs/n30",
    "$defs": {
        "n0": {"type": "object"},
        **{f"n{i}": {"allOf": [{"$ref": f"#/$defs/n{i - 1}"}] * 2} for i in range(1, 31)},
    },
}
"""No pattern, and yet a thousand million steps."""
WORD = "a" * 40 + "b"


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checking, "LIMIT_S", 0.5)


class Gaps:
    """The longest pause of the event loop while something is awaited."""

    def __init__(self) -> None:
        self.longest = 0.0

    async def during(self, work: asyncio.Future[object]) -> object:
        last = time.monotonic()
        while not work.done():
            await asyncio.sleep(0.005)
            now = time.monotonic()
            self.longest, last = max(self.longest, now - last), now
        return await work


@pytest.mark.parametrize("schema", [EVIL, DOUBLING], ids=["pattern", "references"])
def test_a_schema_that_never_ends_is_given_up_and_the_loop_goes_on(
    schema: dict[str, object],
) -> None:
    gaps = Gaps()

    async def body() -> object:
        return await gaps.during(asyncio.ensure_future(misfit({"s": WORD}, schema)))

    assert asyncio.run(body()) == checking.TOO_LONG
    assert gaps.longest < 0.4, "never as long as the check itself"


def test_a_regex_that_never_ends_gives_no_verdict() -> None:
    form = Constraint(ConstraintKind.REGEX, "(a+)+")
    found = asyncio.run(verdict(form, WORD, FinishReason.END))
    assert (found.ok, found.sentence, found.pretty) == (None, checking.NOT_JUDGED, WORD)


def test_the_child_judges_as_this_process_does() -> None:
    schema = {"type": "object", "properties": {"d": {"pattern": "^[0-9]{4}$"}}, "required": ["n"]}

    async def body() -> None:
        assert await misfit({"n": 2**70, "d": "2026"}, schema) == ""
        assert await misfit({"n": 1, "d": "x"}, schema) == "d: 'x' does not match '^[0-9]{4}$'."
        assert "required" in await misfit({"d": "2026"}, schema)
        form = Constraint(ConstraintKind.REGEX, "(yes|no)+")
        assert (await verdict(form, "yesno", FinishReason.END)).ok is True
        assert (await verdict(form, "perhaps", FinishReason.END)).ok is False
        assert (await verdict(form, "yes", FinishReason.LIMIT)).ok is None

    asyncio.run(body())


def test_plain_schemas_start_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    def no(_job: bytes) -> bytes:
        raise AssertionError("a process for nothing")

    monkeypatch.setattr(checking, "_ask_child", no)
    schema = {"type": "object", "properties": {"n": {"type": "integer", "maximum": 3}}}
    assert "maximum" in asyncio.run(misfit({"n": 4}, schema))
    assert asyncio.run(verdict(Constraint(ConstraintKind.REGEX, "yes|no"), "no",
                               FinishReason.END)).ok  # fmt: skip


@pytest.mark.parametrize(
    ("schema", "plain"),
    [
        ({}, True),
        (True, True),
        ({"type": "array", "items": {"enum": [1, "a"]}}, True),
        ({"properties": {"a": {"properties": {"b": {"pattern": "x"}}}}}, False),
        ({"properties": {"pattern": {"type": "string"}}}, True),
        ({"patternProperties": {"^a": {}}}, False),
        ({"items": [{"pattern": "x"}]}, False),
        ({"additionalProperties": {"$ref": "#"}}, False),
        ({"anyOf": [{}]}, False),
        ({"uniqueItems": True}, False),
        ({"enum": list(range(3000))}, False),
        ({"properties": 3}, False),
        ([], False),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_is_plain(schema: object, plain: bool) -> None:
    assert is_plain_schema(schema) is plain


def test_deep_schemas_are_not_plain() -> None:
    schema: object = {}
    for _ in range(5000):
        schema = {"items": schema}
    assert not is_plain_schema(schema)
    assert is_plain_regex("[a-z]+ [0-9]{2}")
    assert not is_plain_regex("a*a*a*b")
    assert not is_plain_regex("(a|b)+")


def test_a_child_that_dies_is_an_answer_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checking, "work", _dies)
    assert asyncio.run(misfit({}, EVIL)) == checking.TOO_LONG


def _dies(_answers: object, _job: bytes) -> None:
    raise SystemExit(3)


def registry() -> Registry:
    def run(_arguments: dict[str, object]) -> Future[object]:
        raise AssertionError("must not run")

    made = Registry()
    made.set_source("server", [Tool("find", "", EVIL, run, ask=False)])
    return made


def test_the_call_of_such_a_tool_is_refused_in_a_sentence() -> None:
    call = ToolCall("find", f'{{"s": "{WORD}"}}')
    found = asyncio.run(prepare(call, registry()))
    assert isinstance(found, BadCall)
    assert found.reason.startswith("The arguments do not fit the tool: its schema cannot be check")


def test_stop_does_not_wait_for_the_check(monkeypatch: pytest.MonkeyPatch) -> None:
    release = threading.Event()

    def waits(_job: bytes) -> None:
        release.wait()

    monkeypatch.setattr(checking, "_ask_child", waits)

    async def ask(_prepared: Prepared) -> Consent:
        raise AssertionError("not asked")

    async def body() -> None:
        stop = asyncio.Event()
        call = ToolCall("find", f'{{"s": "{WORD}"}}')
        running = asyncio.ensure_future(
            CallRunner(registry(), ask).run((call,), lambda _event: None, stop)
        )
        await asyncio.sleep(0.05)
        assert not running.done()
        stop.set()
        with pytest.raises(Stopped):
            await running
        release.set()

    asyncio.run(body())


def test_tools_of_the_program_itself_need_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    def no(_job: bytes) -> bytes:
        raise AssertionError("a process for our own schema")

    monkeypatch.setattr(checking, "_ask_child", no)
    made = Registry()
    done: Future[object] = Future()
    schema = {"properties": {"s": {"pattern": "^a$"}}}
    made.set_source(BUILTIN, [Tool("own", "", schema, lambda _arguments: done)])
    assert isinstance(asyncio.run(prepare(ToolCall("own", '{"s": "a"}'), made)), Prepared)
    assert isinstance(asyncio.run(prepare(ToolCall("own", '{"s": "b"}'), made)), BadCall)
