"""One question from text to answer, with as many tool calls in between as the bound allows.

A `QuestionLoop` belongs to the event loop's thread and runs one question at a time, each in
a fresh conversation. It knows no window and no engine: it gets `generate` and `cancel`, and
tells what happens through `on_event` in the order in which it happened.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum

import msgspec

from app.conversation import ToolStep
from app.tools.calls import (
    CallEnded,
    CallRunner,
    CallStarted,
    Stopped,
    shortened,
    tool_message,
)
from app.tools.unreadable import NOT_READABLE, looks_like_a_call, with_unreadable_call
from engine.types import (
    Constraint,
    ErrorInfo,
    FinishReason,
    GenerateRequest,
    Message,
    Outcome,
    Sampling,
    TextBatch,
    TextPart,
    ToolSpec,
)

MAX_ROUNDS = 5
"""Messages with tool calls that are answered by themselves in one question."""

DEFAULT_SAMPLING = Sampling(max_output_tokens=256)

SYSTEM = "You are a concise, helpful assistant. Use a tool when it helps to answer."


class EventKind(StrEnum):
    QUESTION = "question"
    CALL = "call"
    RESULT = "result"
    TEXT = "text"
    ANSWER = "answer"
    NOTE = "note"
    ERROR = "error"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopEvent:
    """One line of the log. TEXT carries the answer so far and is replaced by later ones.

    `seconds` is the time this step took; `called` on ANSWER tells whether a tool had run.
    NOTE texts are keys: "speculation_off", "rounds", "unreadable_call", "result_cut".
    """

    kind: EventKind
    text: str = ""
    seconds: float | None = None
    number: int = 0
    name: str = ""
    step: ToolStep | None = None
    outcome: Outcome | None = None
    error: ErrorInfo | None = None
    called: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """`constraints` force the form of the first, second ... message of the model."""

    text: str
    tools: tuple[ToolSpec, ...] = ()
    system: str = SYSTEM
    sampling: Sampling = DEFAULT_SAMPLING
    speculative: bool = False
    thinking: bool = False
    constraints: tuple[Constraint | None, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """How a question ended: `reason` is the last send's, STOPPED after `stop`."""

    reason: FinishReason
    text: str = ""
    steps: tuple[ToolStep, ...] = ()
    outcome: Outcome | None = None
    error: ErrorInfo | None = None
    rounds: int = 0


Generate = Callable[[GenerateRequest, Callable[[TextBatch], None]], Awaitable[Outcome]]


class QuestionLoop:
    """See the module text. `stop` works at any step: while the model writes, while a consent
    is open and while a tool runs."""

    def __init__(
        self,
        generate: Generate,
        cancel: Callable[[int], None],
        runner: CallRunner,
        new_run_id: Callable[[], int],
        on_event: Callable[[LoopEvent], None],
    ) -> None:
        self._generate = generate
        self._cancel = cancel
        self._runner = runner
        self._new_run_id = new_run_id
        self._tell = on_event
        self._stop = asyncio.Event()
        self._run_id: int | None = None
        self._steps: list[ToolStep] = []

    def stop(self) -> None:
        self._stop.set()
        if self._run_id is not None:
            self._cancel(self._run_id)

    async def ask(self, question: Question) -> Answer:
        """Runs one question to its end. Errors of the engine come back in the answer."""
        self._stop.clear()
        self._steps = []
        self._tell(LoopEvent(kind=EventKind.QUESTION, text=question.text))
        try:
            return await self._rounds(question)
        except Stopped:
            self._tell(LoopEvent(kind=EventKind.STOPPED))
            return Answer(reason=FinishReason.STOPPED, steps=tuple(self._steps))

    async def _rounds(self, question: Question) -> Answer:
        key = f"tools-{uuid.uuid4().hex}"
        history: tuple[Message, ...] = ()
        message = Message(role="user", parts=(TextPart(question.text),))
        for round_number in range(MAX_ROUNDS + 1):
            request = self._request(question, key, round_number, history, message)
            started = time.perf_counter()
            outcome = await self._send(request)
            too_long = outcome.error is not None and outcome.error.code == "message_too_long"
            shorter = shortened(message, outcome.left, outcome.needs) if too_long else None
            if shorter is not None:
                self._tell(LoopEvent(kind=EventKind.NOTE, text="result_cut"))
                message, new_id = shorter, self._new_run_id()
                outcome = await self._send(
                    msgspec.structs.replace(request, run_id=new_id, message=message)
                )
            seconds = time.perf_counter() - started
            follow_up = await self._follow_up(outcome, question, round_number, seconds)
            if isinstance(follow_up, Answer):
                return follow_up
            history = (*history, message, answer_message(with_unreadable_call(outcome)))
            message = follow_up
        raise AssertionError("the last round always ends the question")

    def _request(
        self,
        question: Question,
        key: str,
        round_number: int,
        history: tuple[Message, ...],
        message: Message,
    ) -> GenerateRequest:
        forms = question.constraints
        constraint = forms[round_number] if round_number < len(forms) else None
        if constraint is not None and question.speculative:
            self._tell(LoopEvent(kind=EventKind.NOTE, text="speculation_off"))
        return GenerateRequest(
            run_id=self._new_run_id(),
            chat_key=key,
            message=message,
            history=history,
            system=question.system,
            sampling=question.sampling,
            speculative=question.speculative and constraint is None,
            thinking=question.thinking and constraint is None,
            tools=question.tools,
            constraint=constraint,
        )

    async def _send(self, request: GenerateRequest) -> Outcome:
        if self._stop.is_set():
            raise Stopped
        text = ""

        def on_text(batch: TextBatch) -> None:
            nonlocal text
            if batch.text:
                text += batch.text
                self._tell(LoopEvent(kind=EventKind.TEXT, text=text))

        self._run_id = request.run_id
        try:
            return await self._generate(request, on_text)
        finally:
            self._run_id = None

    async def _follow_up(
        self, outcome: Outcome, question: Question, round_number: int, seconds: float
    ) -> Message | Answer:
        """The next message to the model, or the end."""
        outcome = with_unreadable_call(outcome)
        if outcome.reason is FinishReason.ERROR:
            self._tell(LoopEvent(kind=EventKind.ERROR, error=outcome.error, text=outcome.text))
            return self._answer(outcome, round_number)
        unreadable = not outcome.tool_calls and looks_like_a_call(outcome.text)
        if outcome.reason is FinishReason.STOPPED or not (outcome.tool_calls or unreadable):
            self._tell(
                LoopEvent(
                    kind=EventKind.ANSWER,
                    text=outcome.text,
                    seconds=seconds,
                    outcome=outcome,
                    called=any(s.state == "done" for s in self._steps),
                )
            )
            return self._answer(outcome, round_number)
        if outcome.text:
            self._tell(
                LoopEvent(
                    kind=EventKind.ANSWER, text=outcome.text, seconds=seconds, outcome=outcome,
                    called=True,
                )
            )  # fmt: skip
        if unreadable:
            self._tell(LoopEvent(kind=EventKind.NOTE, text="unreadable_call"))
        if round_number == MAX_ROUNDS:
            self._tell(LoopEvent(kind=EventKind.NOTE, text="rounds"))
            return self._answer(outcome, round_number)
        if unreadable:
            return Message(role="user", parts=(TextPart(NOT_READABLE),))
        steps = await self._runner.run(outcome.tool_calls, self._on_call, self._stop)
        if self._stop.is_set():
            raise Stopped
        return tool_message(steps)

    def _on_call(self, event: CallStarted | CallEnded) -> None:
        if isinstance(event, CallStarted):
            self._tell(
                LoopEvent(
                    kind=EventKind.CALL,
                    number=event.number,
                    name=event.name,
                    text=event.arguments_json,
                )
            )
            return
        self._steps.append(event.step)
        self._tell(
            LoopEvent(
                kind=EventKind.RESULT,
                number=event.number,
                name=event.step.name,
                text=event.step.result_json,
                seconds=event.step.seconds,
                step=event.step,
            )
        )

    def _answer(self, outcome: Outcome, rounds: int) -> Answer:
        return Answer(
            reason=outcome.reason,
            text=outcome.text,
            steps=tuple(self._steps),
            outcome=outcome,
            error=outcome.error,
            rounds=rounds,
        )


def answer_message(outcome: Outcome) -> Message:
    """The model's message as history for the next send of the same conversation."""
    parts = (TextPart(outcome.text),) if outcome.text else ()
    return Message(role="assistant", parts=parts, tool_calls=outcome.tool_calls)
