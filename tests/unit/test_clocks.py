"""Durations come from clocks that never jump; the wall clock only stamps (clock changes, sleep)."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from app.library.presenter import when
from ui.sidebar_model import ChatItem, Heading, grouped

ROOT = Path(__file__).resolve().parents[2]
YEAR = 365 * 86_400.0
NOW = 1_800_000_000.0
AGES = {
    "app/library/presenter.py", "app/history_worker.py", "app/attachments.py", "app/bench/disk.py",
}  # fmt: skip
"""Where the wall clock is subtracted on purpose: ages of stored things, in days."""
PICTURES = "app/bench/pictures.py"


def _wall_clock(node: ast.AST) -> bool:
    return any(
        isinstance(n, ast.Attribute)
        and n.attr == "time"
        and isinstance(n.value, ast.Name)
        and n.value.id == "time"
        for n in ast.walk(node)
    )


@pytest.mark.parametrize("folder", ["app", "engine", "ui"])
def test_no_duration_is_measured_with_the_wall_clock(folder: str) -> None:
    for file in sorted((ROOT / folder).rglob("*.py")):
        name = file.relative_to(ROOT).as_posix()
        if name in AGES or name == PICTURES:
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
                assert not _wall_clock(node), f"{name}:{node.lineno}"


def test_stamps_from_the_future_are_today() -> None:
    """As after the clock was set back."""
    assert when(NOW + YEAR, NOW) == "today"
    rows = grouped([ChatItem(id="a", title="a", updated=NOW + YEAR)], NOW)
    assert isinstance(rows[0], Heading)
    assert [r.id for r in rows if isinstance(r, ChatItem)] == ["a"]
