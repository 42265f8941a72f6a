"""Tool calls and forced answers on the real engine with variants of the demo model."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jsonschema
import pytest

from app.tools.builtin import builtin_tools
from app.tools.calls import CallRunner, Consent
from app.tools.loop import Answer, EventKind, LoopEvent, Question, QuestionLoop
from app.tools.picked_files import PickedFiles
from app.tools.registry import BUILTIN, Registry
from app.tools.structured import explain, judge, to_wire
from engine.litert import LiteRtEngine
from engine.types import (
    Constraint,
    ConstraintKind,
    FinishReason,
    GenerateRequest,
    LoadOptions,
    Message,
    ModelInfo,
    Outcome,
    Sampling,
    TextBatch,
    TextPart,
    ToolSpec,
)

_runs = itertools.count(1)


def _load(path: Path, folder: Path) -> LiteRtEngine:
    engine = LiteRtEngine()
    engine.load(LoadOptions(model_path=str(path), cache="disk", cache_dir=str(folder), threads=2))
    return engine


@pytest.fixture(scope="module")
def plain(demo_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiteRtEngine]:
    engine = _load(demo_model, tmp_path_factory.mktemp("cache"))
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def caller(demo_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiteRtEngine]:
    """The demo model declaring tool calls and thinking."""
    from tests.fakes.variants import make_variant

    folder = tmp_path_factory.mktemp("caller")
    path = make_variant(demo_model, folder / "caller.litertlm", tools=True, thinking=True)
    engine = _load(path, folder)
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def info(demo_model: Path) -> ModelInfo:
    from engine.model_file import inspect

    return inspect(str(demo_model))


def _user(text: str) -> Message:
    return Message(role="user", parts=(TextPart(text),))


def _send(engine: LiteRtEngine, text: str, **fields: object) -> Outcome:
    request = GenerateRequest(  # type: ignore[arg-type]
        run_id=next(_runs), chat_key="t", message=_user(text), keep=False, **fields
    )
    return engine.generate(request, lambda _batch: None)


def _form(engine: LiteRtEngine, info: ModelInfo, form: Constraint, text: str, seed: int) -> Outcome:
    return _send(
        engine,
        text,
        constraint=to_wire(form, info),
        sampling=Sampling(seed=seed, max_output_tokens=512),
    )


def _ask(
    engine: LiteRtEngine,
    forms: list[str],
    *,
    consent: Consent = Consent.ONCE,
    on_event: Callable[[LoopEvent, QuestionLoop], None] = lambda _e, _l: None,
    setup: Callable[[Registry], None] = lambda _r: None,
) -> tuple[Answer, list[LoopEvent], list[GenerateRequest]]:
    """One question through the real loop; the model is forced into `forms`, one by one."""
    events: list[LoopEvent] = []
    requests: list[GenerateRequest] = []

    async def main() -> Answer:
        with ThreadPoolExecutor(2) as pool:
            registry = Registry()
            registry.set_source(BUILTIN, builtin_tools(pool, PickedFiles()))
            registry.choose("calculate", ask=True)
            setup(registry)

            async def generate(
                request: GenerateRequest, on_text: Callable[[TextBatch], None]
            ) -> Outcome:
                requests.append(request)
                loop = asyncio.get_running_loop()
                return await loop.run_in_executor(
                    pool, engine.generate, request, lambda _batch: None
                )

            async def ask(_prepared: object) -> Consent:
                return consent

            def tell(event: LoopEvent) -> None:
                events.append(event)
                on_event(event, question_loop)

            question_loop = QuestionLoop(
                generate, engine.cancel, CallRunner(registry, ask), lambda: next(_runs), tell
            )
            return await question_loop.ask(
                Question(
                    text="What is 12.5 * 7?",
                    tools=registry.specs(),
                    sampling=Sampling(max_output_tokens=96, seed=3),
                    speculative=True,
                    constraints=tuple(Constraint(ConstraintKind.REGEX, f) for f in forms),
                )
            )

    return asyncio.run(main()), events, requests


CALL = r'<tool_call>\{"name":"calculate","arguments":\{"expression":"12\.5\*7"\}\}</tool_call>'


def test_call_consent_result_answer(caller: LiteRtEngine) -> None:
    answer, events, requests = _ask(caller, [CALL, r"[A-Z][a-z]{2,9}\."])
    kinds = [e.kind for e in events if e.kind is not EventKind.TEXT]
    assert kinds[:2] == [EventKind.QUESTION, EventKind.NOTE], "speculation off is said"
    assert EventKind.CALL in kinds
    assert EventKind.RESULT in kinds
    assert answer.reason is FinishReason.END, events
    assert [(s.name, json.loads(s.result_json), s.state) for s in answer.steps] == [
        ("calculate", {"result": 87.5}, "done")
    ]
    assert answer.text
    assert answer.outcome is not None
    assert not answer.outcome.speculative
    assert [m.role for m in requests[1].history] == ["user", "assistant"]
    assert requests[1].message.role == "tool"
    assert requests[1].history[1].tool_calls[0].name == "calculate"
    assert len({r.chat_key for r in requests}) == 1


def test_refused_call_is_not_run_and_the_model_goes_on(caller: LiteRtEngine) -> None:
    answer, _, _ = _ask(caller, [CALL, r"[A-Z][a-z]{2,9}\."], consent=Consent.REFUSE)
    assert [s.state for s in answer.steps] == ["refused"]
    assert "refused" in answer.steps[0].result_json
    assert answer.text


def test_unknown_tool_and_wrong_arguments_run_nothing(caller: LiteRtEngine) -> None:
    unknown = r'<tool_call>\{"name":"launch","arguments":\{\}\}</tool_call>'
    wrong = r'<tool_call>\{"name":"calculate","arguments":\{"text":"1"\}\}</tool_call>'
    answer, _, _ = _ask(caller, [unknown, wrong, r"[A-Z][a-z]{2,9}\."])
    assert [s.state for s in answer.steps] == ["unknown", "failed"]
    assert answer.reason is FinishReason.END


def test_big_integers_and_nested_values_come_exactly(caller: LiteRtEngine) -> None:
    values = {"n": 9007199254740993, "o": {"l": [1, {"q": 'a"b\nc'}], "f": -0.125}}
    written = json.dumps({"name": "keep", "arguments": values}, separators=(",", ":"))
    forced = f"<tool_call>{re.escape(written)}</tool_call>"
    outcome = _send(
        caller,
        "Call keep.",
        constraint=Constraint(ConstraintKind.REGEX, forced),
        tools=(ToolSpec(name="keep", description="Keeps.", parameters_json='{"type":"object"}'),),
        sampling=Sampling(max_output_tokens=200),
    )
    assert outcome.reason is FinishReason.TOOL_CALLS, outcome
    assert json.loads(outcome.tool_calls[0].arguments_json) == values


def test_broken_json_in_a_call_is_shown_and_told(caller: LiteRtEngine) -> None:
    broken = r'<tool_call>\{"name":calculate,"arguments":\{\}</tool_call>'
    answer, events, requests = _ask(caller, [broken, r"[A-Z][a-z]{2,9}\."])
    assert answer.steps == ()
    assert answer.reason is FinishReason.END, events
    shown = [e.text for e in events if e.kind is EventKind.ANSWER]
    assert '"name":calculate' in shown[0]
    assert [e.text for e in events if e.kind is EventKind.NOTE][1] == "unreadable_call"
    assert "could not be read" in requests[1].message.text
    assert '"name":calculate' in requests[1].history[1].text


def test_rounds_are_bounded(caller: LiteRtEngine) -> None:
    def only_one(registry: Registry) -> None:
        for tool in registry.tools():
            registry.choose(tool.name, enabled=tool.name == "calculate")

    answer, events, requests = _ask(caller, [CALL] * 10, setup=only_one)
    assert len(requests) == 6
    assert len(answer.steps) == 5
    assert events[-1].kind is EventKind.NOTE
    assert events[-1].text == "rounds"


def test_stop_while_the_tool_result_is_sent(caller: LiteRtEngine) -> None:
    def stop(event: LoopEvent, loop: QuestionLoop) -> None:
        if event.kind is EventKind.RESULT:
            loop.stop()

    answer, events, requests = _ask(caller, [CALL], on_event=stop)
    assert answer.reason is FinishReason.STOPPED
    assert len(requests) == 1
    assert events[-1].kind is EventKind.STOPPED


def test_preface_lists_the_tools(caller: LiteRtEngine) -> None:
    with ThreadPoolExecutor(1) as pool:
        registry = Registry()
        registry.set_source(BUILTIN, builtin_tools(pool, PickedFiles()))
        request = GenerateRequest(
            run_id=next(_runs), chat_key="p", message=_user("Hello"), tools=registry.specs()
        )
        text = caller.render(request)
    for tool in registry.tools():
        # No file was picked, so nothing is said of the tool that reads one.
        assert text.count(f'"{tool.name}"') == int(tool.useful())
    assert sum(tool.useful() for tool in registry.tools()) == 5
    assert "Hello" in text


def test_thinking_with_a_form_is_one_sentence(caller: LiteRtEngine) -> None:
    form = Constraint(ConstraintKind.REGEX, r"[A-Z][a-z]{3,9}\.")
    outcome = _send(caller, "Hello", constraint=form, thinking=True)
    if outcome.error is None:
        assert outcome.text
        return
    assert outcome.error.code == "constraint_failed"
    sentence = explain(outcome.error.detail)
    assert sentence.endswith(".")
    assert "\n" not in sentence
    assert _send(caller, "Hello", constraint=form).error is None, "the engine goes on"


PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "mood": {"enum": ["very good", "bad"]},
        "age": {"type": "integer"},
        "score": {"type": "number"},
        "tags": {"type": "array", "items": {"type": "string", "maxLength": 12}},
    },
    "required": ["name", "mood", "age", "score"],
}


def test_json_schema_answer_parses_every_time(plain: LiteRtEngine, info: ModelInfo) -> None:
    form = Constraint(ConstraintKind.JSON_SCHEMA, json.dumps(PERSON))
    for seed in range(10):
        outcome = _form(plain, info, form, "Describe a person. List towns:\n- A\n- B", seed)
        assert outcome.reason is FinishReason.END, (seed, outcome)
        jsonschema.validate(json.loads(outcome.text), PERSON)
        assert judge(form, outcome.text, outcome.reason).ok


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array", "items": {"type": "string"}, "minItems": 2},
        {"enum": ["light blue", "dark green", 3, None]},
        {"type": "string", "pattern": "[A-Z][a-z]+ [0-9]{2}"},
        {"type": "string", "format": "date"},
        {"type": ["string", "null"]},
        {"anyOf": [{"type": "integer"}, {"type": "object", "required": ["x"]}]},
        {"allOf": [{"properties": {"a": {"type": "boolean"}}, "required": ["a"]},
                   {"properties": {"b": {"type": "number"}}, "required": ["b"]}]},
        {"$defs": {"n": {"type": "integer"}}, "type": "array", "items": {"$ref": "#/$defs/n"}},
        {"type": "object", "minProperties": 2},
        {},
    ],
    ids=lambda s: json.dumps(s)[:40],
)  # fmt: skip
def test_shapes_of_schemas(plain: LiteRtEngine, info: ModelInfo, schema: object) -> None:
    form = Constraint(ConstraintKind.JSON_SCHEMA, json.dumps(schema))
    for seed in (1, 2):
        outcome = _form(plain, info, form, "Tell me about Paris.", seed)
        verdict = judge(form, outcome.text, outcome.reason)
        assert verdict.ok, (outcome, verdict)


@pytest.mark.parametrize(
    "pattern",
    [
        r'say "[a-z]{2,9}"',
        r"(light|dark) (blue|green)",
        r"# [A-Z][a-z]{2,9}\n\n(- [a-z ]{3,20}\n){2,3}",
        r"The answer is (yes|no)\.",
        r"[ -~]{5,40}",
        r"\d{4}-\d{2}-\d{2}",
    ],
)
def test_regexes_with_spaces_and_lines(plain: LiteRtEngine, info: ModelInfo, pattern: str) -> None:
    form = Constraint(ConstraintKind.REGEX, pattern)
    outcome = _form(plain, info, form, "Hello", 2)
    assert judge(form, outcome.text, outcome.reason).ok, outcome


def test_a_form_the_engine_refuses_is_one_sentence(plain: LiteRtEngine) -> None:
    form = Constraint(ConstraintKind.JSON_SCHEMA, '{"type":"array","uniqueItems":true}')
    outcome = _send(plain, "Hello", constraint=form)
    assert outcome.error is not None
    assert outcome.error.code == "constraint_failed"
    assert "uniqueItems" in explain(outcome.error.detail)
