"""Mean, spread and the ratio on/off with an interval that does not flatter.

Pure functions on plain floats, no state, standard library only. The interval is a seeded
bootstrap over pairs of the same prompt and repetition, widened for few samples; a verdict
needs it to exclude 1 by a margin.
"""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Sequence

from app.bench.records import Ratio, Spread, Verdict

MIN_PAIRS = 5
"""Fewer pairs never give a verdict."""

MARGIN = 0.03
"""The interval must stay this far from 1: a difference nobody would notice is none."""

RESAMPLES = 4000
SEED = 20261129

Z = 1.959964
# Two-sided 95 % quantiles of Student's t for 1..30 degrees of freedom.
T = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
    2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip

Pair = tuple[float, float]
"""(off, on) speeds of one prompt in one repetition."""


def spread(values: Sequence[float]) -> Spread | None:
    """Mean, sample deviation, median and range; None without values."""
    if not values:
        return None
    return Spread(
        n=len(values),
        mean=statistics.fmean(values),
        std=statistics.stdev(values) if len(values) > 1 else None,
        median=statistics.median(values),
        low=min(values),
        high=max(values),
    )


def ratio_of_means(pairs: Sequence[Pair]) -> float:
    """Mean speed on / mean speed off: what the two columns beside it show."""
    return math.fsum(on for _, on in pairs) / math.fsum(off for off, _ in pairs)


def widening(n: int) -> float:
    """How much wider an interval from `n` samples must be than the plain bootstrap's, which
    is too narrow for few: Student's t over the normal quantile, and n - 1 for n."""
    t = T[min(n - 1, len(T)) - 1]
    return t / Z * math.sqrt(n / (n - 1))


def speedup(pairs: Sequence[Pair], *, seed: int = SEED, resamples: int = RESAMPLES) -> Ratio | None:
    """Ratio of the mean speeds with a 95 % interval; None without a pair.

    Pairs of the same prompt and repetition are resampled, so the interval holds both the
    noise of the machine and how much these prompts differ; it does not speak for prompts of
    another kind. A single pair has no interval.
    """
    known = [pair for pair in pairs if pair[0] > 0 and pair[1] > 0]
    if not known:
        return None
    value = ratio_of_means(known)
    if len(known) < 2:
        return Ratio(value, None, None, len(known))
    rng = random.Random(seed)
    logs = sorted(
        math.log(ratio_of_means(rng.choices(known, k=len(known)))) for _ in range(resamples)
    )
    centre, wide = math.log(value), widening(len(known))
    low = centre - (centre - _quantile(logs, 0.025)) * wide
    high = centre + (_quantile(logs, 0.975) - centre) * wide
    return Ratio(value, math.exp(low), math.exp(high), len(known))


def _quantile(ordered: Sequence[float], share: float) -> float:
    at = share * (len(ordered) - 1)
    below = math.floor(at)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (at - below)


def verdict(ratio: Ratio | None) -> Verdict:
    """Faster or slower only if the whole interval says so by `MARGIN`."""
    if ratio is None or ratio.pairs < MIN_PAIRS or ratio.low is None or ratio.high is None:
        return Verdict.TOO_FEW
    if ratio.low > 1 + MARGIN:
        return Verdict.FASTER
    if ratio.high < 1 - MARGIN:
        return Verdict.SLOWER
    return Verdict.UNCLEAR


def change(value: float, baseline: float, *, higher_is_better: bool) -> float | None:
    """How much better (positive) or worse (negative) than the baseline, as a share."""
    if baseline <= 0 or value <= 0:
        return None
    return value / baseline - 1 if higher_is_better else baseline / value - 1
