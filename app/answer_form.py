"""The form one message of a chat asks its answer to have: what is sent, and the verdict kept.

Pure functions. Only the first send of a message carries the form: what follows a tool call
is free. Speculation and thinking are off for that send.
"""

from __future__ import annotations

import msgspec

from app.conversation import RunRecord
from app.tools.regex_wire import NotSpellable
from app.tools.structured import Verdict, to_wire
from engine.errors import GenerationError
from engine.types import Constraint, ModelInfo


def form_for_send(
    form: Constraint | None, info: ModelInfo | None, number: int
) -> Constraint | None:
    """The form as the engine wants it for send `number` of a message (from 0). Raises
    `GenerationError` "constraint_failed" when this model cannot follow it."""
    if form is None or number:
        return None
    try:
        return to_wire(form, info)
    except NotSpellable as problem:
        raise GenerationError("constraint_failed", str(problem)) from None


def with_verdict(run: RunRecord, found: Verdict) -> RunRecord:
    """The record of an answer with whether the answer has its form."""
    return msgspec.structs.replace(run, form=found.sentence, form_ok=found.ok)
