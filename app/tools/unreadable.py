"""Tool calls that the model wrote and nobody can read. Pure; imports no checker."""

from __future__ import annotations

import json
import re

import msgspec

from app.conversation import ToolStep
from engine.types import FinishReason, Outcome

_LIKE_A_CALL = re.compile(
    r"<\|?tool_call|<start_function_call|```tool_code|\"tool_calls\"\s*:"
    r"|^\s*\[?\s*\{\s*\"name\"\s*:.*\"(arguments|parameters)\"\s*:",
    re.DOTALL,
)

NOT_READABLE = (
    "The tool call could not be read, so nothing was run. "
    "Write the call again as valid JSON, or answer without a tool."
)

_BAD_CALL = re.compile(
    r"Failed to parse tool calls.*?full response: (.*?)(?:\nerror: |$)", re.DOTALL
)


def with_unreadable_call(outcome: Outcome) -> Outcome:
    """A send that failed because the engine could not read the model's tool call (0.18.1
    ends it with INVALID_ARGUMENT) as what it is: an answer with that call as its text."""
    found = _BAD_CALL.search(outcome.error.detail) if outcome.error else None
    if found is None:
        return outcome
    return msgspec.structs.replace(outcome, reason=FinishReason.END, text=found[1], error=None)


def looks_like_a_call(text: str) -> bool:
    """Whether an answer is a tool call that came out as text."""
    return _LIKE_A_CALL.search(text) is not None


def unreadable_step(outcome: Outcome) -> ToolStep | None:
    """The step of a chat for a call the engine could not read: shown as it was written,
    nothing run, and the model told with the next send. None for every other outcome."""
    found = with_unreadable_call(outcome)
    if found is outcome:
        return None
    return ToolStep(
        name="unreadable_call",
        arguments_json=json.dumps({"text": found.text}, ensure_ascii=False),
        result_json=json.dumps({"error": NOT_READABLE}),
        state="failed",
    )
