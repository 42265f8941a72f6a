"""`docs/cases.md`: every test named there exists, and every case is there once."""

from __future__ import annotations

import ast
import re
from functools import lru_cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "cases.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", TEXT)))
MISSING_NUMBERS = {17, 26, 33, 41, 54, 63}


@lru_cache
def _tests_in(file: str) -> frozenset[str]:
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return frozenset(n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef))


@pytest.mark.parametrize("file", sorted({file for file, _ in NAMED}))
def test_named_tests_exist(file: str) -> None:
    wanted = {name for where, name in NAMED if where == file}
    assert wanted <= _tests_in(file), wanted - _tests_in(file)


def test_code_named_instead_of_a_test_exists() -> None:
    for path in re.findall(r"`((?:app|engine|packaging|tests)/[\w/]+(?:\.py)?)`", TEXT):
        assert (ROOT / path).exists(), path


def test_every_case_is_there_once() -> None:
    numbers = [int(n) for n in re.findall(r"^\| (\d+) ", TEXT, re.MULTILINE)]
    assert numbers == [n for n in range(3, 81) if n not in MISSING_NUMBERS]


def test_every_row_has_a_state_and_a_test_or_says_why_not() -> None:
    for row in re.findall(r"^\| \d+ .*$", TEXT, re.MULTILINE):
        cells = [c.strip() for c in row.strip("|").split("|")]
        assert len(cells) == 4, row
        assert all(cells), row
        assert cells[2] != "none" or "open" in cells[3], row
