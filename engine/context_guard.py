"""Decides before a send whether it fits, and how long the answer may get.

The engine plans a prompt in work groups of fixed sizes and fails, or in older versions
corrupted memory, when fewer entries are left than the plan needs. So: render, tokenize,
compare. Pure functions; all numbers are tokens.

Source: measured on 0.18.1; the same numbers are published by other bindings (reserve =
smallest prefill group, 128 where unknown; 16 tokens of safety).
"""

from __future__ import annotations

from typing import NamedTuple

from engine.types import ModelInfo

MARGIN = 16
UNKNOWN_GROUP = 128
DEFAULT_CONTEXT = 4096
HIGHEST_CONTEXT = 1 << 20


class Room(NamedTuple):
    """Verdict for one send. `cap` is the longest answer that fits, 0 when nothing does.

    `full` means that not even the shortest message fits any more.
    """

    fits: bool
    full: bool
    needs: int
    left: int
    cap: int


def group(info: ModelInfo) -> int:
    """Size of the smallest prefill group of a model."""
    return info.prefill_sizes[0] if info.prefill_sizes else UNKNOWN_GROUP


def usable_context(wanted: int, info: ModelInfo) -> tuple[int, str]:
    """The context size to load with, and a note code when `wanted` had to be changed.

    0 or less means the default. Static models cannot exceed what they declare; nothing
    may exceed `HIGHEST_CONTEXT` or lie below four groups.
    """
    highest = info.max_context or HIGHEST_CONTEXT
    lowest = min(highest, max(4 * group(info), 64))
    if wanted == 0:
        return min(DEFAULT_CONTEXT, highest), ""
    if wanted < lowest:
        value = min(DEFAULT_CONTEXT, highest) if wanted < 0 else lowest
        return value, "context_raised"
    if wanted > highest:
        return highest, "context_clamped"
    return wanted, ""


def room(limit: int, used: int, needs: int, smallest: int) -> Room:
    """Whether `needs` prompt tokens fit into `limit` with `used` entries taken.

    `left` is what a message may take at most, so that an answer of one token fits too.
    """
    entries = max(0, limit - used)
    left = max(0, min(entries - MARGIN - 1, entries // smallest * smallest))
    cap = limit - used - needs - MARGIN
    return Room(fits=needs <= left, full=left < smallest, needs=needs, left=left, cap=max(0, cap))
