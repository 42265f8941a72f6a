"""From the call a model wrote to arguments that may be used, or to a clear refusal.

Nothing here runs a tool. Values stay exact: integers of any size stay integers, strings keep
quotes and line breaks. Some models leave their string marker `<|"|>` in names and values; it
is taken out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from app.tools.registry import Registry, Tool
from engine.types import ToolCall

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

STRING_MARK = '<|"|>'
MAX_ARGUMENT_CHARS = 64_000

_MARKED_STRING = re.compile(r'<\|"\|>(.*?)<\|"\|>', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A call that may run: the tool and its checked arguments."""

    tool: Tool
    arguments: dict[str, object]

    @property
    def arguments_json(self) -> str:
        return json.dumps(self.arguments, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class BadCall:
    """A call that must not run. `state` is "unknown" (no such tool) or "failed"; `reason` is
    one sentence, shown to the person and told to the model."""

    name: str
    arguments_json: str
    state: str
    reason: str


class _NotExact(ValueError):
    """The text is JSON by Python's rules, but its meaning is not certain."""


def read_call(call: ToolCall, registry: Registry) -> Prepared | BadCall:
    """One call as a tool that is on and its arguments, which are not checked against the
    tool's schema yet: only `calls.prepare` makes something that may run."""
    name = call.name.replace(STRING_MARK, "").strip()
    raw = call.arguments_json
    tool = registry.find(name)
    if tool is None or not tool.enabled:
        known = ", ".join(t.name for t in registry.enabled()) or "none"
        what = "is switched off" if tool else "does not exist"
        return BadCall(name, raw, "unknown", f"The tool “{name}” {what}. Tools: {known}.")
    try:
        arguments = parse(raw)
    except _NotExact as error:
        return BadCall(name, raw, "failed", f"The arguments cannot be used: {error}.")
    except (ValueError, RecursionError) as error:
        said = str(error) if isinstance(error, ValueError) else "too deeply nested"
        return BadCall(name, raw, "failed", f"The arguments are not valid JSON: {said}.")
    if not isinstance(arguments, dict):
        return BadCall(name, raw, "failed", "The arguments must be one JSON object.")
    return Prepared(tool, arguments)


def parse(text: str) -> object:
    """The JSON value in `text` without string marks. ValueError says what is wrong."""
    if len(text) > MAX_ARGUMENT_CHARS:
        raise _NotExact(f"they are longer than {MAX_ARGUMENT_CHARS} characters")
    try:
        return _clean(_strict_loads(text or "{}"))
    except json.JSONDecodeError:
        if STRING_MARK not in text:
            raise
        quoted = _MARKED_STRING.sub(lambda m: json.dumps(m[1], ensure_ascii=False), text)
        return _clean(_strict_loads(quoted))


def mismatch(value: object, schema: Mapping[str, object], *, formats: bool = False) -> str:
    """One sentence on why `value` does not fit `schema`, "" if it does.

    `formats` also checks formats such as "date". References are never fetched from anywhere:
    an unknown one is a mismatch. The checker is imported with the first call. It may take for
    ever with a schema of others: `checking.misfit` does not.
    """
    import jsonschema
    import referencing
    from jsonschema.exceptions import SchemaError, best_match
    from jsonschema.validators import validator_for

    try:
        kind = validator_for(dict(schema), default=jsonschema.Draft202012Validator)
        kind.check_schema(dict(schema))
        known = kind.FORMAT_CHECKER if formats else None
        checker = kind(dict(schema), registry=referencing.Registry(), format_checker=known)
        error = best_match(checker.iter_errors(cast(Any, value)))
    except SchemaError as bad:
        return f"its schema is not valid ({_first_line(bad.message)})."
    except (
        referencing.exceptions.Unresolvable,
        RecursionError,
        re.error,
        ValueError,
        ArithmeticError,
    ) as bad:
        return f"its schema cannot be checked ({_first_line(str(bad))})."
    return "" if error is None else _sentence(error)


def _strict_loads(text: str) -> object:
    return json.loads(text, object_pairs_hook=_no_twins, parse_constant=_no_constant)


def _no_twins(pairs: list[tuple[str, object]]) -> dict[str, object]:
    out = dict(pairs)
    if len(out) != len(pairs):
        raise _NotExact("a name occurs twice in one object")
    return out


def _no_constant(name: str) -> object:
    raise _NotExact(f"{name} is not a JSON number")


def _clean(value: object) -> object:
    if isinstance(value, str):
        return value.replace(STRING_MARK, "")
    if isinstance(value, list):
        return [_clean(v) for v in value]
    if isinstance(value, dict):
        return {k.replace(STRING_MARK, ""): _clean(v) for k, v in value.items()}
    return value


def _sentence(error: ValidationError) -> str:
    where = error.json_path.removeprefix("$").lstrip(".")
    return f"{where + ': ' if where else ''}{_first_line(error.message)}."


def _first_line(text: str) -> str:
    line = text.strip().splitlines()[0] if text.strip() else "no details"
    return line if len(line) <= 200 else line[:199] + "…"
