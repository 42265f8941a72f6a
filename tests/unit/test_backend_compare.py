"""CPU and GPU are asked the same; fluent nonsense of a driver is found (case 13)."""

from __future__ import annotations

import pytest

from app import backend_compare
from engine.errors import LoadError
from engine.types import Backend, LoadOptions
from tests.fakes.scripted_engine import Say, ScriptedEngine
from ui import strings_report

GPU = LoadOptions(model_path="/models/a.litertlm", backend=Backend.GPU)
NUMBERS = ", ".join(str(n) for n in range(1, 31))
DATES = "4 July 1776, 9 November 1989, 1 January 2000"


def ask(*answers: str) -> tuple[backend_compare.Comparison, ScriptedEngine, list[str]]:
    engine = ScriptedEngine([[Say(a)] for a in answers])
    lines: list[str] = []
    return backend_compare.compare(engine, GPU, lines.append), engine, lines


def test_equal_answers_are_alike() -> None:
    found, engine, lines = ask(NUMBERS, DATES, NUMBERS, DATES)
    assert found.alike
    assert [o.backend for o in engine.loads] == [Backend.CPU, Backend.GPU]
    assert not any(r.speculative or r.keep for r in engine.requests)
    assert len(lines) == 2
    assert backend_compare.sentence(found) == strings_report.BACKENDS_ALIKE


def test_garbage_is_found_and_shown() -> None:
    found, _, lines = ask(NUMBERS, DATES, "1, 7, 1, 1", DATES)
    assert not found.alike
    assert "1, 7, 1, 1" in lines[0]
    assert backend_compare.sentence(found) == strings_report.BACKENDS_DIFFER


def test_rounding_far_into_an_answer_is_no_garbage() -> None:
    found, _, _ = ask(NUMBERS, DATES, NUMBERS.replace("29", "28"), DATES)
    assert found.alike


def test_a_load_that_fails_is_raised() -> None:
    engine = ScriptedEngine(load_results=[0.0, LoadError("no_gpu_adapter")])

    with pytest.raises(LoadError):
        backend_compare.compare(engine, GPU, lambda _line: None)
