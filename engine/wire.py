"""Our messages as the JSON that the engine reads. Pure functions.

C strings cannot carry NUL and the engine's JSON reader rejects lone surrogates: both
become U+FFFD (`clean_text`). The program calls `clean_text` too when a message is made,
so that what is sent equals what is shown.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from engine.errors import GenerationError
from engine.types import (
    AudioPart,
    ImagePart,
    Message,
    Sampling,
    TextPart,
    ToolResultPart,
    ToolSpec,
)

_BAD = re.compile("[\x00\ud800-\udfff]")


def clean_text(text: str) -> str:
    """`text` with NUL and lone surrogates replaced by U+FFFD, one for one."""
    return _BAD.sub("\ufffd", text)


def text_parts(text: str) -> list[dict[str, object]]:
    """A text as a content-parts array; a bare string or object may be dropped or parsed."""
    return [{"type": "text", "text": clean_text(text)}]


def system_json(text: str) -> str | None:
    return json.dumps(text_parts(text)) if text else None


def messages_json(messages: Sequence[Message]) -> str | None:
    return json.dumps([_message(m) for m in messages]) if messages else None


def send_json(messages: Sequence[Message]) -> str:
    """What one send carries: a single message, or several as an array (0.18.1 takes both
    and renders the array as consecutive turns)."""
    values = [_message(m) for m in messages]
    return json.dumps(values[0] if len(values) == 1 else values)


def tools_json(tools: Sequence[ToolSpec]) -> str | None:
    """Tools in the function-calling form. Raises `GenerationError` for a bad schema."""
    if not tools:
        return None
    out = []
    for tool in tools:
        try:
            parameters = json.loads(tool.parameters_json or "{}")
        except ValueError as error:
            raise GenerationError("send_failed", f"schema of {tool.name}: {error}") from error
        function = {
            "name": clean_text(tool.name),
            "description": clean_text(tool.description),
            "parameters": parameters,
        }
        out.append({"type": "function", "function": function})
    return json.dumps(out)


def _message(message: Message) -> dict[str, object]:
    content: list[dict[str, object]] = []
    for part in message.parts:
        if isinstance(part, TextPart):
            content.extend(text_parts(part.text))
        elif isinstance(part, ImagePart):
            content.append({"type": "image", "path": part.path})
        elif isinstance(part, AudioPart):
            content.append({"type": "audio", "path": part.path})
        elif isinstance(part, ToolResultPart):
            value = _value(part.result_json)
            content.append({"type": "tool_response", "name": part.name, "response": value})
    out: dict[str, object] = {"role": message.role, "content": content}
    if message.tool_calls:
        out["tool_calls"] = [
            {
                "type": "function",
                "function": {"name": call.name, "arguments": _value(call.arguments_json)},
            }
            for call in message.tool_calls
        ]
    return out


def _value(text: str) -> object:
    """JSON text as a value; text that is no JSON stays a string. Big integers survive."""
    try:
        return json.loads(clean_text(text))
    except ValueError:
        return clean_text(text)


def safe_sampling(sampling: Sampling) -> Sampling:
    """`sampling` with every value in range; the native setters check nothing.

    Temperature 0 means greedy. Bad values fall back to the defaults of `Sampling`.
    """
    default = Sampling()
    temperature = _number(sampling.temperature, 0.0, 100.0, default.temperature)
    top_p = _number(sampling.top_p, 1e-6, 1.0, default.top_p)
    top_k = sampling.top_k if 1 <= sampling.top_k <= 1_000_000 else default.top_k
    if temperature == 0:
        temperature, top_k = 1.0, 1
    limit = sampling.max_output_tokens
    penalty = sampling.repetition_penalty
    return Sampling(
        temperature=temperature,
        top_p=top_p,
        top_k=top_k,
        seed=None if sampling.seed is None else sampling.seed & 0x7FFFFFFF,
        max_output_tokens=limit if limit is not None and limit > 0 else None,
        repetition_penalty=penalty if penalty is not None and 0 < penalty <= 10 else None,
    )


def _number(value: float, low: float, high: float, default: float) -> float:
    return value if low <= value <= high else default
