"""Answers of a forced form: what is sent to the engine, and whether the answer kept to it.

No engine here. `to_wire` before the send, `judge` after it, `explain` for a send that failed.
A form goes without speculation and without thinking: LiteRT-LM 0.18.1 can do neither together
with a constraint.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from app.tools.arguments import mismatch
from app.tools.regex_wire import NotSpellable, Vocabulary, check_regex, translate
from app.tools.schema_wire import narrowed
from engine.types import Constraint, ConstraintKind, FinishReason, ModelInfo

MAX_FORM_CHARS = 20_000


@dataclass(frozen=True, slots=True)
class Verdict:
    """`ok` None: there was no whole answer to check. `pretty` is the answer for reading."""

    ok: bool | None
    sentence: str
    pretty: str


def check(constraint: Constraint) -> None:
    """NotSpellable says in one sentence why this is no form at all, whatever the model."""
    if len(constraint.text) > MAX_FORM_CHARS:
        raise NotSpellable(f"The form is longer than {MAX_FORM_CHARS} characters.")
    if constraint.kind is ConstraintKind.REGEX:
        check_regex(constraint.text)
    else:
        _schema(constraint.text)


def to_wire(constraint: Constraint, info: ModelInfo | None) -> Constraint:
    """The form as this model's engine can follow it. NotSpellable when it cannot."""
    check(constraint)
    vocabulary = Vocabulary.of(info)
    if constraint.kind is ConstraintKind.REGEX:
        return Constraint(constraint.kind, translate(constraint.text, vocabulary))
    try:
        made = narrowed(_schema(constraint.text), vocabulary)
    except RecursionError:
        raise NotSpellable("The schema is nested too deeply.") from None
    return Constraint(constraint.kind, json.dumps(made, ensure_ascii=False))


def judge(constraint: Constraint, text: str, reason: FinishReason) -> Verdict:
    """Whether a finished answer has the form that was asked for."""
    if reason is FinishReason.LIMIT:
        return Verdict(None, "Not complete: the output limit came first.", text)
    if reason is FinishReason.CONTEXT_FULL:
        return Verdict(None, "Not complete: the context is full.", text)
    if reason is not FinishReason.END:
        return Verdict(None, "Not complete.", text)
    if constraint.kind is ConstraintKind.REGEX:
        if re.fullmatch(constraint.text, text):
            return Verdict(True, "Valid: the answer matches the regex.", text)
        return Verdict(False, "Not valid: the answer does not match the regex.", text)
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        return Verdict(False, f"Not valid JSON: {error}.", text)
    pretty = json.dumps(value, ensure_ascii=False, indent=2)
    schema = _schema(constraint.text)
    wrong = mismatch(value, schema, formats=True) if isinstance(schema, dict) else ""
    if wrong:
        return Verdict(False, f"Not valid: {wrong}", pretty)
    return Verdict(True, "Valid: the answer fits the schema.", pretty)


_REFUSED = re.compile(r"Failed to create LLGuidance constraint: *(?:at \d+\(\d+\): *)?([^\n]+)")
_UNSPELLED = re.compile(r"token .* doesn't satisfy the grammar; forced bytes: got '(.+?)';")


def explain(detail: str) -> str:
    """One sentence for the raw text of a send that failed because of its form."""
    if found := _REFUSED.search(detail):
        return f"The engine does not accept this form: {found[1].strip().rstrip('.:')[:160]}."
    if found := _UNSPELLED.search(detail):
        return f"This model’s vocabulary cannot spell “{found[1]}” in a forced form."
    if "ff_tokens" in detail:
        return "The engine cannot think and keep to a form in one message."
    return "The model could not keep to the form that was asked for."


def _schema(text: str) -> object:
    try:
        schema = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise NotSpellable(f"The schema is not valid JSON: {error}.") from None
    if not isinstance(schema, dict | bool):
        raise NotSpellable("A schema is an object, true or false.")
    import jsonschema
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import validator_for

    try:
        default = jsonschema.Draft202012Validator
        if isinstance(schema, dict):
            validator_for(schema, default=default).check_schema(schema)
    except SchemaError as error:
        line = error.message.splitlines()[0][:160]
        raise NotSpellable(f"This is not a JSON schema: {line}.") from None
    except RecursionError:
        raise NotSpellable("The schema is nested too deeply.") from None
    return schema
