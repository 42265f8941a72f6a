"""Freed memory goes back to the system, not too often and not in the middle of work."""

from __future__ import annotations

import gc
import sys

import pytest

from app import freed_memory
from app.freed_memory import CALM, EVERY_S, GROWN, FreedMemory
from engine import memory

pytestmark = pytest.mark.skipif(freed_memory._glibc() is None, reason="only glibc keeps it")

MB = 1 << 20


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What the clock says and how large the process is."""
    now = [1000.0, 100 * MB]
    monkeypatch.setattr(freed_memory.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(memory, "resident_bytes", lambda: int(now[1]))
    return now


def test_only_after_growth_and_in_a_calm_moment(clock: list[float]) -> None:
    freed = FreedMemory(lambda: None)
    assert not freed.look()
    clock[1] += GROWN - 1
    assert not freed.look()
    assert not freed.look()
    clock[1] += CALM + 2
    assert not freed.look()
    assert freed.look()


def test_not_too_often_and_not_without_growth_since(clock: list[float]) -> None:
    freed = FreedMemory(lambda: None)
    freed.look()
    clock[1] += GROWN
    freed.look()
    assert freed.look()
    clock[0] += EVERY_S
    assert not freed.look()
    clock[1] += GROWN
    freed.look()
    assert freed.look()
    clock[1] += GROWN
    freed.look()
    assert not freed.look()
    clock[0] += EVERY_S
    assert freed.look()


def test_it_really_comes_back_from_cycles_too() -> None:
    freed = FreedMemory(gc.collect)
    blocks: list[object] = [bytes(4000) for _ in range(15_000)]
    kept = blocks[::50]
    blocks.append(blocks)
    del blocks
    full = memory.resident_bytes() or 0
    freed._last, freed._low = full, 1
    assert freed.look()
    assert full - (memory.resident_bytes() or 0) > 30 * MB
    assert sys.getsizeof(kept[0]) > 4000


def test_few_arenas_is_harmless() -> None:
    freed_memory.few_arenas()
    freed_memory.few_arenas()
