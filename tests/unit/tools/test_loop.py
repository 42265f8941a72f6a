"""One question through the loop with a scripted engine: the odd cases."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from app.notices import Notices
from app.tools.arguments import Prepared
from app.tools.calls import (
    MAX_CALLS_PER_MESSAGE,
    MAX_RESULT_CHARS,
    Ask,
    CallRunner,
    Consent,
    result_text,
)
from app.tools.consent import ask_by_notice
from app.tools.loop import MAX_ROUNDS, Answer, EventKind, LoopEvent, Question, QuestionLoop
from app.tools.registry import Registry, Tool, ToolFailure
from engine.errors import GenerationError
from engine.types import (
    Constraint,
    ConstraintKind,
    ErrorInfo,
    FinishReason,
    GenerateRequest,
    LoadOptions,
    Outcome,
    TextBatch,
    ToolCall,
    ToolResultPart,
)
from tests.fakes.scripted_engine import Call, Fail, Finish, Say, ScriptedEngine, Step, Wait


def call(name: str, arguments: str = "{}") -> ToolCall:
    return ToolCall(name, arguments)


def done(value: object) -> Future[object]:
    out: Future[object] = Future()
    out.set_result(value)
    return out


class Rig:
    """The loop with scripted answers and one tool called "echo"."""

    def __init__(self, *scripts: list[Step], ask: Ask | None = None) -> None:
        self.engine = ScriptedEngine(scripts=list(scripts))
        self.engine.load(LoadOptions(model_path="demo.litertlm"))
        self.events: list[LoopEvent] = []
        self.ran: list[dict[str, object]] = []
        self.asked: list[Prepared] = []
        self.consent: Consent = Consent.ONCE
        self.result: Callable[[], Future[object]] = lambda: done({"ok": True})
        self.on_event: Callable[[LoopEvent], None] = lambda _event: None
        self.registry = Registry()
        self._ask: Ask = ask or self._answer
        self.loop: QuestionLoop

    async def _answer(self, prepared: Prepared) -> Consent:
        self.asked.append(prepared)
        return self.consent

    def _start(self, arguments: dict[str, object]) -> Future[object]:
        self.ran.append(arguments)
        return self.result()

    def _tell(self, event: LoopEvent) -> None:
        self.events.append(event)
        self.on_event(event)

    def run(
        self, question: Question | None = None, *, ask: bool = True, timeout_s: float = 30.0
    ) -> Answer:
        async def main() -> Answer:
            tool = Tool("echo", "Echoes.", {"type": "object"}, self._start, ask=ask,
                        timeout_s=timeout_s)  # fmt: skip
            self.registry.set_source("test", [tool])
            with ThreadPoolExecutor(1) as pool:

                async def generate(
                    request: GenerateRequest, on_text: Callable[[TextBatch], None]
                ) -> Outcome:
                    running = asyncio.get_running_loop()

                    def sink(batch: TextBatch) -> None:
                        running.call_soon_threadsafe(on_text, batch)

                    return await running.run_in_executor(pool, self.engine.generate, request, sink)

                ids = itertools.count(1)
                self.loop = QuestionLoop(
                    generate, self.engine.cancel, CallRunner(self.registry, self._ask),
                    lambda: next(ids), self._tell,
                )  # fmt: skip
                return await self.loop.ask(
                    question or Question(text="Q?", tools=self.registry.specs())
                )

        return asyncio.run(main())

    def kinds(self) -> list[str]:
        return [e.kind for e in self.events if e.kind is not EventKind.TEXT]


def test_an_answer_without_a_call_says_so() -> None:
    rig = Rig([Say("Hi "), Say("there.")])
    answer = rig.run()
    assert answer.text == "Hi there."
    assert rig.kinds() == ["question", "answer"]
    assert not rig.events[-1].called
    assert rig.events[-1].seconds is not None
    assert [e.text for e in rig.events if e.kind is EventKind.TEXT][-1] == "Hi there."


def test_call_result_answer_in_order_with_the_whole_history() -> None:
    rig = Rig([Call((call("echo", '{"a": 1}'), call("echo", '{"a": 2}')))], [Say("Done.")])
    answer = rig.run()
    assert rig.kinds() == ["question", "call", "result", "call", "result", "answer"]
    assert rig.ran == [{"a": 1}, {"a": 2}]
    assert [s.state for s in answer.steps] == ["done", "done"]
    assert rig.events[-1].called
    first, second = rig.engine.requests
    assert first.history == ()
    assert [m.role for m in second.history] == ["user", "assistant"]
    assert len(second.history[1].tool_calls) == 2
    assert second.message.role == "tool"
    assert len(second.message.parts) == 2
    assert first.chat_key == second.chat_key
    assert first.run_id != second.run_id


def test_every_question_is_a_fresh_conversation() -> None:
    rig = Rig([Say("a")], [Say("b")])
    rig.run()
    rig.run()
    keys = {r.chat_key for r in rig.engine.requests}
    assert len(keys) == 2
    assert all(r.history == () for r in rig.engine.requests)


@pytest.mark.parametrize(
    ("consent", "ran", "state", "asks_again"),
    [
        (Consent.ONCE, 1, "done", True),
        (Consent.ALWAYS, 1, "done", False),
        (Consent.REFUSE, 0, "refused", True),
    ],
)
def test_consent(consent: Consent, ran: int, state: str, asks_again: bool) -> None:
    rig = Rig([Call((call("echo", '{"x": "y"}'),))], [Say("Fine.")])
    rig.consent = consent
    answer = rig.run()
    assert len(rig.ran) == ran
    assert [s.state for s in answer.steps] == [state]
    assert rig.asked[0].arguments == {"x": "y"}
    assert rig.registry.tools()[0].ask is asks_again
    assert answer.text == "Fine."


def test_a_tool_that_does_not_ask_runs_at_once() -> None:
    rig = Rig([Call((call("echo"),))], [Say("ok")])
    rig.run(ask=False)
    assert rig.asked == []
    assert len(rig.ran) == 1


@pytest.mark.parametrize(
    ("bad", "state"),
    [
        (call("nobody"), "unknown"),
        (call("echo", '{"a": '), "failed"),
        (call("echo", "[1]"), "failed"),
        (call("", "{}"), "unknown"),
    ],
)
def test_bad_calls_are_shown_told_and_not_run(bad: ToolCall, state: str) -> None:
    rig = Rig([Call((bad,))], [Say("Sorry.")])
    answer = rig.run()
    assert rig.ran == []
    assert rig.asked == [], "nothing to consent to"
    assert answer.steps[0].state == state
    assert answer.steps[0].arguments_json == bad.arguments_json
    told = json.loads(answer.steps[0].result_json)["error"]
    assert told.endswith(".")
    assert rig.engine.requests[1].message.role == "tool"
    assert answer.text == "Sorry."


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>{"name": echo}</tool_call>',
        '{"name": "echo", "arguments": {"a": }',
        "```tool_code\necho()\n```",
        "<|tool_call>call:echo{a:1}",
    ],
)
def test_call_like_text_is_shown_with_a_note_and_told(text: str) -> None:
    rig = Rig([Say(text)], [Say("Plain.")])
    answer = rig.run()
    assert rig.ran == []
    assert rig.kinds() == ["question", "answer", "note", "answer"]
    assert rig.events[-1].text == "Plain."
    assert rig.engine.requests[1].message.role == "user"
    assert "could not be read" in rig.engine.requests[1].message.text
    assert answer.text == "Plain."


def test_the_engines_error_for_an_unreadable_call_is_that_call() -> None:
    detail = (
        'INVALID_ARGUMENT: Failed to parse tool calls from code block: {"name":x\n'
        'full response: <tool_call>{"name":x</tool_call>\nerror: Failed to parse JSON'
    )
    rig = Rig([Fail("send_failed", detail)], [Say("Plain.")])
    answer = rig.run()
    assert answer.text == "Plain."
    assert '<tool_call>{"name":x</tool_call>' in [e.text for e in rig.events]


def test_rounds_are_bounded() -> None:
    rig = Rig(*[[Call((call("echo"),))] for _ in range(20)])
    answer = rig.run()
    assert len(rig.ran) == MAX_ROUNDS
    assert len(rig.engine.requests) == MAX_ROUNDS + 1
    assert rig.events[-1].text == "rounds"
    assert answer.rounds == MAX_ROUNDS


def test_too_many_calls_in_one_message() -> None:
    rig = Rig([Call(tuple(call("echo") for _ in range(50)))], [Say("ok")])
    answer = rig.run(ask=False)
    assert len(rig.ran) == MAX_CALLS_PER_MESSAGE
    assert len(answer.steps) == 50


def test_tool_failures_are_sentences() -> None:
    for problem, said in (
        (ToolFailure("The cupboard is bare."), "The cupboard is bare."),
        (ZeroDivisionError("x"), "echo failed: ZeroDivisionError."),
    ):
        failed: Future[object] = Future()
        failed.set_exception(problem)
        rig = Rig([Call((call("echo"),))], [Say("ok")])
        rig.result = lambda f=failed: f  # type: ignore[misc]
        answer = rig.run()
        assert answer.steps[0].state == "failed"
        assert json.loads(answer.steps[0].result_json) == {"error": said}


def test_slow_tool_times_out() -> None:
    hung: Future[object] = Future()
    rig = Rig([Call((call("echo"),))], [Say("ok")])
    rig.result = lambda: hung
    answer = rig.run(timeout_s=0.05)
    assert "gave no answer" in answer.steps[0].result_json
    assert hung.cancelled()


def test_stop_while_the_model_writes() -> None:
    rig = Rig([Say("Hal"), Wait(20), Say("lo")])
    rig.on_event = lambda e: rig.loop.stop() if e.kind is EventKind.TEXT else None
    answer = rig.run()
    assert answer.reason is FinishReason.STOPPED
    assert answer.text == "Hal"


def test_stop_while_a_tool_runs() -> None:
    hung: Future[object] = Future()
    rig = Rig([Call((call("echo"),))], [Say("never")])

    def result() -> Future[object]:
        asyncio.get_running_loop().call_soon(rig.loop.stop)
        return hung

    rig.result = result
    answer = rig.run()
    assert answer.reason is FinishReason.STOPPED
    assert hung.cancelled()
    assert rig.events[-1].kind is EventKind.STOPPED
    assert len(rig.engine.requests) == 1


def test_stop_while_consent_is_open() -> None:
    cancelled: list[bool] = []

    async def ask(_prepared: Prepared) -> Consent:
        asyncio.get_running_loop().call_soon(rig.loop.stop)
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.append(True)
            raise
        return Consent.ONCE

    rig = Rig([Call((call("echo"),))], ask=ask)
    answer = rig.run()
    assert answer.reason is FinishReason.STOPPED
    assert rig.ran == []
    assert cancelled == [True]


def test_a_failed_send_ends_the_question_with_its_error() -> None:
    rig = Rig([Fail("message_too_long", "x")])
    answer = rig.run()
    assert answer.error is not None
    assert answer.error.code == "message_too_long"
    assert rig.kinds() == ["question", "error"]


def test_a_result_too_long_for_the_context_is_cut_once() -> None:
    rig = Rig([Call((call("echo"),))], [Say("Fine.")])
    rig.result = lambda: done("word " * 1000)
    generate = rig.engine.generate
    lengths: list[int] = []

    def limited(request: GenerateRequest, sink: Callable[[TextBatch], None]) -> Outcome:
        if request.message.role == "tool":
            part = request.message.parts[0]
            assert isinstance(part, ToolResultPart)
            lengths.append(len(part.result_json))
            if len(part.result_json) > 2500:
                error = ErrorInfo("message_too_long")
                return Outcome(
                    run_id=request.run_id, reason=FinishReason.ERROR, error=error, needs=1000,
                    left=500,
                )  # fmt: skip
        return generate(request, sink)

    rig.engine.generate = limited  # type: ignore[method-assign]
    answer = rig.run(ask=False)
    assert answer.text == "Fine."
    assert lengths[0] > 5000
    assert lengths[1] < 2500
    assert "result_cut" in [e.text for e in rig.events]
    assert "Cut to fit" in rig.engine.requests[-1].message.parts[0].result_json  # type: ignore[union-attr]
    assert len(answer.steps[0].result_json) > 5000, "the log keeps the whole result"


def test_limit_is_not_an_end() -> None:
    rig = Rig([Say("cut"), Finish(FinishReason.LIMIT)])
    assert rig.run().reason is FinishReason.LIMIT


def test_a_form_switches_speculation_and_thinking_off_and_says_so() -> None:
    form = Constraint(ConstraintKind.REGEX, "a")
    rig = Rig([Call((call("echo"),))], [Say("a")])
    rig.run(Question(text="q", speculative=True, thinking=True, constraints=(form,)), ask=False)
    first, second = rig.engine.requests
    assert (first.speculative, first.thinking, first.constraint) == (False, False, form)
    assert (second.speculative, second.thinking, second.constraint) == (True, True, None)
    assert [e.text for e in rig.events if e.kind is EventKind.NOTE] == ["speculation_off"]


def test_results_are_json_and_short() -> None:
    assert result_text({"n": 2**70, "é": '"'}) == '{"n": 1180591620717411303424, "é": "\\""}'
    cut = json.loads(result_text("x" * 50_000))
    assert len(cut["cut"]) == MAX_RESULT_CHARS
    with pytest.raises(ToolFailure):
        result_text({"bad": object()})
    with pytest.raises(ToolFailure):
        result_text(float("nan"))


def _noticed(act: Callable[[Notices], None]) -> tuple[Consent | None, Notices]:
    notices = Notices()

    async def main() -> Consent | None:
        tool = Tool("echo", "", {}, lambda _a: done(1), source="srv")
        task = asyncio.ensure_future(ask_by_notice(notices, Prepared(tool, {"a": 1})))
        await asyncio.sleep(0)
        assert notices.current is not None
        assert "srv" in notices.current.title
        assert notices.current.text == '{"a": 1}'
        act(notices)
        if not notices.open:
            return await asyncio.wait_for(task, 5)
        task.cancel()
        await asyncio.wait([task])
        return None

    return asyncio.run(main()), notices


@pytest.mark.parametrize(
    ("index", "consent"), [(0, Consent.ONCE), (1, Consent.ALWAYS), (2, Consent.REFUSE)]
)
def test_consent_by_notice(index: int, consent: Consent) -> None:
    def press(notices: Notices) -> None:
        notice = notices.current
        assert notice is not None
        notices.dismiss(notice.key)
        notice.actions[index].run()

    assert _noticed(press)[0] is consent


def test_a_dismissed_notice_refuses_and_a_stop_takes_it_away() -> None:
    assert _noticed(lambda n: n.dismiss(n.open[0].key))[0] is Consent.REFUSE
    assert _noticed(lambda _n: None)[1].open == ()


def test_errors_raised_by_generate_are_not_swallowed() -> None:
    async def main() -> None:
        def generate(_r: GenerateRequest, _t: object) -> Awaitable[Outcome]:
            raise GenerationError("not_loaded")

        loop = QuestionLoop(
            generate, lambda _i: None, CallRunner(Registry(), ask=_no), lambda: 1, lambda _e: None
        )
        with pytest.raises(GenerationError):
            await loop.ask(Question(text="x"))

    async def _no(_p: Prepared) -> Consent:
        return Consent.REFUSE

    asyncio.run(main())
