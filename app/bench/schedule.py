"""Which send comes when: the order of a comparison, as data, before anything runs.

Within a class the order alternates by pair (off, on, on, off, …), so a machine that slowly
warms up or gets busy touches both legs alike, and the two sends of a pair are neighbours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from app.bench.records import Plan, Prompt, Workload

WARM_UP = -1
"""Repetition number of the round that is not recorded."""

DEPTH_RUNS = 3
DEPTH_PROMPTS = 2
SHORT = 200
"""Depth prompts have at most this many characters, so they fit beside a full context."""


class Send(msgspec.Struct, frozen=True):
    """One send to make. `repetition` is `WARM_UP` for the round that is thrown away."""

    prompt: Prompt
    repetition: int
    speculative: bool


def by_class(prompts: Sequence[Prompt]) -> dict[Workload, tuple[Prompt, ...]]:
    """Prompts by class, classes in order of first appearance."""
    out: dict[Workload, tuple[Prompt, ...]] = {}
    for prompt in prompts:
        out[prompt.workload] = (*out.get(prompt.workload, ()), prompt)
    return out


def rounds(prompts: Sequence[Prompt], runs: int) -> Iterator[Send]:
    """A warm-up round of every prompt on both legs, then `runs` rounds.

    The warm-up is a whole round on purpose: greedy drafting repeats exactly, so the log's
    acceptance rate over the engine's life (warm-up included) is the timed leg's own.
    """
    pair = 0
    for repetition in (WARM_UP, *range(runs)):
        for prompt in prompts:
            first = bool(pair % 2)
            pair += 1
            yield Send(prompt, repetition, first)
            yield Send(prompt, repetition, not first)


def padded(prompt: Prompt, runs: int, *, on: bool) -> Iterator[Send]:
    """The synthetic test: like `rounds`, or without the speculating sends."""
    return (send for send in rounds((prompt,), runs) if on or not send.speculative)


def memory_prompts(prompts: Sequence[Prompt]) -> tuple[Prompt, ...]:
    """The longest prompt of each class: what is sent while the memory of a leg is read."""
    return tuple(max(mine, key=lambda p: len(p.text)) for mine in by_class(prompts).values())


def depth_prompts(plan: Plan) -> tuple[Prompt, ...]:
    """Up to two short prompts, of different classes if there are such."""
    short = [p for p in plan.prompts if len(p.text) <= SHORT]
    firsts = list({p.workload: p for p in reversed(short)}.values())[::-1]
    return tuple((firsts if len(firsts) >= DEPTH_PROMPTS else short)[:DEPTH_PROMPTS])


def depth_runs(plan: Plan) -> int:
    return min(plan.runs, DEPTH_RUNS)


def sends(plan: Plan, *, on: bool = True) -> int:
    """How many sends the whole plan makes, warm-ups included; `on` False where speculation
    cannot run."""
    pairs = len(plan.prompts) * (plan.runs + 1)
    pairs += len(plan.depths) * len(depth_prompts(plan)) * (depth_runs(plan) + 1)
    count = plan.runs + 1 if plan.prefill_tokens and plan.decode_tokens else 0
    if not on:
        return pairs + count
    pairs += len(memory_prompts(plan.prompts))
    return 2 * pairs + count * (2 if plan.padded_on else 1)
