"""From timed sends to numbers and a verdict. Pure functions, no engine, no files."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from app.bench import statistics
from app.bench.records import (
    SOURCE_LOG,
    SOURCE_LOG_WEIGHTED,
    Difference,
    Group,
    Leg,
    Sample,
    Synthetic,
    Verdict,
    Workload,
)

ALL = "all"
"""Key of the group that holds every class."""

MIN_TOKENS = 8
"""A shorter answer has no decode speed worth the name; such pairs are left out."""

Rates = Mapping[str, float]
"""Acceptance rate of an engine life by the key of the group it belongs to."""

Peaks = Mapping[tuple[str, bool], int]
"""Peak memory in bytes by the key of a group and the leg that ran alone."""


def usable(sample: Sample) -> bool:
    return bool(sample.decode_tps) and (sample.decode_tokens or 0) >= MIN_TOKENS


def pairs(samples: Iterable[Sample]) -> list[statistics.Pair]:
    """(off, on) decode speeds of each prompt and repetition where both legs are usable."""
    legs: dict[tuple[str, int], dict[bool, float]] = {}
    for sample in samples:
        if usable(sample) and sample.decode_tps:
            key = (sample.prompt_id, sample.repetition)
            legs.setdefault(key, {})[sample.speculative] = sample.decode_tps
    return [(both[False], both[True]) for both in legs.values() if len(both) == 2]


def leg(samples: Sequence[Sample], *, speculative: bool) -> Leg:
    """Figures of one side. Decode speeds are those of complete pairs, so that the two
    columns and the speedup between them tell of the same sends."""
    mine = [s for s in samples if s.speculative is speculative]
    side = 1 if speculative else 0
    decode = [pair[side] for pair in pairs(samples)]
    if not decode:
        decode = [s.decode_tps for s in mine if s.decode_tps and usable(s)]
    stepped = [s for s in mine if s.steps and s.decode_tokens]
    steps = sum(s.steps or 0 for s in stepped)
    tokens = sum(s.decode_tokens or 0 for s in stepped)
    return Leg(
        decode=statistics.spread(decode),
        prefill=statistics.spread([s.prefill_tps for s in mine if s.prefill_tps]),
        ttft=statistics.spread([s.ttft_s for s in mine if s.ttft_s is not None]),
        tokens_per_step=tokens / steps if steps else None,
        steps=steps or None,
        decode_tokens=tokens or None,
    )


def group(
    key: str,
    samples: Sequence[Sample],
    *,
    acceptance: float | None = None,
    source: str = SOURCE_LOG,
    compared: Sequence[str] = (),
    differences: Sequence[Difference] = (),
) -> Group:
    """Numbers of one set of samples. `compared` are the prompts whose texts were compared."""
    ratio = statistics.speedup(pairs(samples))
    prompts = {s.prompt_id for s in samples}
    mine = [p for p in compared if p in prompts]
    parted = {d.prompt_id for d in differences}
    return Group(
        key=key,
        off=leg(samples, speculative=False),
        on=leg(samples, speculative=True),
        speedup=ratio,
        verdict=statistics.verdict(ratio),
        acceptance=acceptance,
        acceptance_source=source if acceptance is not None else "",
        same=sum(p not in parted for p in mine) if mine else None,
        compared=len(mine) or None,
    )


def classes(
    samples: Sequence[Sample],
    rates: Rates,
    compared: Sequence[str],
    differences: Sequence[Difference],
) -> tuple[Group, ...]:
    """One group per class, in the order in which they ran."""
    order: dict[Workload, list[Sample]] = {}
    for sample in samples:
        order.setdefault(sample.workload, []).append(sample)
    return tuple(
        group(
            workload.value,
            mine,
            acceptance=rates.get(workload.value),
            compared=compared,
            differences=differences,
        )
        for workload, mine in order.items()
    )


def overall(
    samples: Sequence[Sample],
    groups: Sequence[Group],
    compared: Sequence[str],
    differences: Sequence[Difference],
) -> Group | None:
    """All classes together; None without samples."""
    if not samples:
        return None
    rate, source = acceptance(groups)
    return group(
        ALL,
        samples,
        acceptance=rate,
        source=source,
        compared=compared,
        differences=differences,
    )


def acceptance(groups: Sequence[Group]) -> tuple[float | None, str]:
    """The rate of several engine lives. Each verify step drafts the same number of tokens
    (fixed by the model), so steps are the weights; None if one of them has no rate."""
    known = [(g.acceptance, g.on.steps) for g in groups]
    if len(groups) == 1:
        return groups[0].acceptance, SOURCE_LOG
    if not known or any(rate is None or not steps for rate, steps in known):
        return None, ""
    total = sum(steps or 0 for _, steps in known)
    return math.fsum((r or 0) * (s or 0) for r, s in known) / total, SOURCE_LOG_WEIGHTED


def depth_groups(samples: Sequence[Sample], rates: Rates) -> tuple[Group, ...]:
    """One group per context depth, keyed by its percentage."""
    order: dict[float, list[Sample]] = {}
    for sample in samples:
        order.setdefault(sample.depth, []).append(sample)
    return tuple(
        group(depth_key(depth), mine, acceptance=rates.get(depth_key(depth)))
        for depth, mine in sorted(order.items())
    )


def depth_key(depth: float) -> str:
    return f"{round(depth * 100)}"


def without_on(item: Group) -> Group:
    """The group of a model that cannot load with speculation here."""
    return msgspec.structs.replace(item, verdict=Verdict.CANNOT)


def with_memory(item: Group, peaks: Peaks, parts: Sequence[Group] = ()) -> Group:
    """The group with the peak memory of its legs; one that was not read by itself has the
    largest of its parts."""

    def told(side: Leg, *, on: bool) -> Leg:
        peak = peaks.get((item.key, on))
        if peak is None:
            legs = (part.on if on else part.off for part in parts)
            peak = max((leg.peak_memory or 0 for leg in legs), default=0) or None
        return msgspec.structs.replace(side, peak_memory=peak)

    off, on = told(item.off, on=False), told(item.on, on=True)
    return msgspec.structs.replace(item, off=off, on=on)


def synthetic(
    samples: Sequence[Sample],
    prefill: int,
    decode: int,
    rate: float | None,
    *,
    peaks: Peaks,
    overdue: bool = False,
) -> Synthetic | None:
    """The synthetic test as one value; None before its first timed send."""
    if not samples:
        return None
    whole = with_memory(group("synthetic", samples, acceptance=rate), peaks)
    return Synthetic(
        prefill_tokens=prefill,
        decode_tokens=decode,
        off=whole.off,
        on=whole.on,
        speedup=whole.speedup,
        acceptance=rate,
        overdue=overdue,
    )


def without_times(samples: Iterable[Sample]) -> tuple[Sample, ...]:
    """The same samples without chunk times, for exports that list them."""
    return tuple(msgspec.structs.replace(s, chunk_times=()) for s in samples)
