"""Runs the calls of one model message: check, consent, run, result.

Belongs to the event loop's thread; the tools themselves run elsewhere. Nothing runs that did
not pass `prepare` and, where the tool asks, the person's consent. Used by the
Tools tab and by chats alike.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar

from app.conversation import ToolStep
from app.tools.arguments import BadCall, Prepared, mismatch, read_call
from app.tools.checking import misfit
from app.tools.registry import BUILTIN, Registry, ToolFailure
from engine.types import Message, Part, ToolCall, ToolResultPart

T = TypeVar("T")

MAX_CALLS_PER_MESSAGE = 8
MAX_RESULT_CHARS = 8_000
SHORT_ENOUGH = 100
"""Characters of a result that are never cut away."""

REFUSED = "The user refused this call."


class Consent(StrEnum):
    ONCE = "once"
    ALWAYS = "always"
    REFUSE = "refuse"


class Stopped(Exception):
    """The person stopped while a consent was open or a tool ran."""


Ask = Callable[[Prepared], Awaitable[Consent]]
"""Asks the person; cancelled when the question is stopped."""


@dataclass(frozen=True, slots=True)
class CallStarted:
    """A call as the model wrote it, before anything is decided. `number` counts calls."""

    number: int
    name: str
    arguments_json: str


@dataclass(frozen=True, slots=True)
class CallEnded:
    """The step as it is kept; `seconds` of the step is the run time without the waiting."""

    number: int
    step: ToolStep


OnCall = Callable[[CallStarted | CallEnded], None]


async def prepare(call: ToolCall, registry: Registry) -> Prepared | BadCall:
    """Checks one call against the tools that are on and against its tool's schema."""
    read = read_call(call, registry)
    if isinstance(read, BadCall):
        return read
    own, schema = read.tool.source == BUILTIN, read.tool.schema
    wrong = mismatch(read.arguments, schema) if own else await misfit(read.arguments, schema)
    if wrong:
        said = f"The arguments do not fit the tool: {wrong}"
        return BadCall(read.tool.name, call.arguments_json, "failed", said)
    return read


class CallRunner:
    """See the module text. `ask` is awaited for tools that ask before they run."""

    def __init__(self, registry: Registry, ask: Ask) -> None:
        self._registry = registry
        self._ask = ask
        self._number = 0

    async def run(
        self, calls: Sequence[ToolCall], on_call: OnCall, stop: asyncio.Event
    ) -> tuple[ToolStep, ...]:
        """One step per call, in order. Raises `Stopped` when `stop` is set meanwhile; the
        steps so far were reported through `on_call`."""
        steps = []
        for index, call in enumerate(calls):
            self._number += 1
            number = self._number
            on_call(CallStarted(number, call.name, call.arguments_json))
            if index < MAX_CALLS_PER_MESSAGE:
                step = await self._one(call, stop)
            else:
                step = _refusal(call.name, call.arguments_json, "failed", _TOO_MANY)
            on_call(CallEnded(number, step))
            steps.append(step)
        return tuple(steps)

    async def _one(self, call: ToolCall, stop: asyncio.Event) -> ToolStep:
        prepared = await until_stopped(asyncio.ensure_future(prepare(call, self._registry)), stop)
        if isinstance(prepared, BadCall):
            return _refusal(prepared.name, prepared.arguments_json, prepared.state, prepared.reason)
        name, arguments = prepared.tool.name, prepared.arguments_json
        if prepared.tool.ask:
            answer = await until_stopped(asyncio.ensure_future(self._ask(prepared)), stop)
            if answer is Consent.REFUSE:
                return _refusal(name, arguments, "refused", REFUSED)
            if answer is Consent.ALWAYS:
                self._registry.allow(prepared.tool)
        started = time.perf_counter()
        try:
            running = asyncio.wrap_future(prepared.tool.start(prepared.arguments))
            value = await until_stopped(running, stop, prepared.tool.timeout_s)
            text = result_text(value)
        except ToolFailure as failure:
            return _refusal(name, arguments, "failed", str(failure), started)
        except TimeoutError:
            said = f"{name} gave no answer within {prepared.tool.timeout_s:.0f} seconds."
            return _refusal(name, arguments, "failed", said, started)
        except Stopped:
            raise
        except Exception as problem:
            said = f"{name} failed: {type(problem).__name__}."
            return _refusal(name, arguments, "failed", said, started)
        return ToolStep(
            name=name,
            arguments_json=arguments,
            result_json=text,
            seconds=time.perf_counter() - started,
        )


_TOO_MANY = f"Only {MAX_CALLS_PER_MESSAGE} calls in one message are run."


async def until_stopped(
    work: asyncio.Future[T], stop: asyncio.Event, timeout_s: float | None = None
) -> T:
    """The result of `work`. Cancels it and raises `Stopped` or TimeoutError otherwise."""
    stopping = asyncio.ensure_future(stop.wait())
    try:
        both: list[asyncio.Future[Any]] = [work, stopping]
        await asyncio.wait(both, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
        if work.done() and not work.cancelled():
            return work.result()
        if stop.is_set() or work.cancelled():
            raise Stopped
        raise TimeoutError
    finally:
        stopping.cancel()
        work.cancel()
        await asyncio.gather(stopping, return_exceptions=True)


def result_text(value: object) -> str:
    """A result as JSON text, short enough for a context. ToolFailure if it is no JSON."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        raise ToolFailure("The tool gave something that is not JSON.") from None
    if len(text) <= MAX_RESULT_CHARS:
        return text
    cut = {"cut": text[:MAX_RESULT_CHARS], "note": f"Cut from {len(text)} characters."}
    return json.dumps(cut, ensure_ascii=False)


def tool_message(steps: Sequence[ToolStep]) -> Message:
    """What the model is told about `steps`."""
    parts = tuple(ToolResultPart(name=s.name, result_json=s.result_json) for s in steps)
    return Message(role="tool", parts=parts)


def shortened(message: Message, left: int | None, needs: int | None) -> Message | None:
    """`message` with its results cut to about what is left of the context; None when that
    would leave next to nothing. `left` and `needs` are tokens of the whole message."""
    if not left or not needs or left >= needs:
        return None
    parts: list[Part] = []
    for part in message.parts:
        if isinstance(part, ToolResultPart) and len(part.result_json) > SHORT_ENOUGH:
            keep = int(len(part.result_json) * left / needs * 0.7)
            if keep < SHORT_ENOUGH:
                return None
            cut = {"cut": part.result_json[:keep], "note": "Cut to fit the context."}
            text = json.dumps(cut, ensure_ascii=False)
            parts.append(ToolResultPart(name=part.name, result_json=text))
        else:
            parts.append(part)
    made = Message(role=message.role, parts=tuple(parts), tool_calls=message.tool_calls)
    return None if made == message else made


def _refusal(
    name: str, arguments_json: str, state: str, reason: str, started: float | None = None
) -> ToolStep:
    return ToolStep(
        name=name,
        arguments_json=arguments_json,
        result_json=json.dumps({"error": reason}, ensure_ascii=False),
        state=state,
        seconds=None if started is None else time.perf_counter() - started,
    )
