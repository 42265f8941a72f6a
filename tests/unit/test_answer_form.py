"""The form of a chat's answer: only the first send carries it, and the verdict is kept."""

from __future__ import annotations

import pytest

from app.answer_form import form_for_send, with_verdict
from app.conversation import RunRecord
from app.tools.structured import judge
from engine.errors import GenerationError
from engine.types import Constraint, ConstraintKind, FinishReason

YES = Constraint(ConstraintKind.REGEX, "yes|no")


def record(reason: FinishReason = FinishReason.END) -> RunRecord:
    return RunRecord(
        model="m", backend="cpu", speculative=False, engine_version="0.18.1", reason=reason
    )


def test_only_the_first_send_carries_the_form() -> None:
    first = form_for_send(YES, None, 0)
    assert first is not None
    assert first.kind is ConstraintKind.REGEX
    assert form_for_send(YES, None, 1) is None
    assert form_for_send(None, None, 0) is None


def test_a_form_that_is_none_fails_the_send_with_its_reason() -> None:
    with pytest.raises(GenerationError) as caught:
        form_for_send(Constraint(ConstraintKind.JSON_SCHEMA, "{"), None, 0)
    assert caught.value.code == "constraint_failed"
    assert "not valid JSON" in caught.value.info().detail


def test_the_verdict_is_part_of_the_record() -> None:
    good = with_verdict(record(), judge(YES, "yes", FinishReason.END))
    bad = with_verdict(record(), judge(YES, "maybe", FinishReason.END))
    cut = with_verdict(record(FinishReason.LIMIT), judge(YES, "ye", FinishReason.LIMIT))
    assert [good.form_ok, bad.form_ok, cut.form_ok] == [True, False, None]
    assert good.form.startswith("Valid")
    assert bad.form.startswith("Not valid")
    assert cut.form.startswith("Not complete")
