"""Data of the pictures: latency per token, speedup over depth and over time. No Qt."""

from __future__ import annotations

import statistics
import time
from bisect import bisect_left
from collections.abc import Iterable, Sequence

from app.bench.records import Record, Sample
from app.bench.store import Entry
from ui import bench_strings as words
from ui import strings
from ui.bench_views import Line, Picture

BIN = 8
"""Tokens a latency is averaged over; while speculating several arrive at once."""

COLORS = ("accent", "warn", "bad")


def latency(record: Record) -> Picture:
    """Milliseconds per token along the answer, mean over the first run of each prompt."""
    lines = []
    for on, label, color in ((False, words.OFF_LEG, "muted"), (True, words.ON_LEG, "accent")):
        points = _latency(s for s in record.samples if s.speculative is on and s.part == "suite")
        if points:
            x, y = zip(*points, strict=True)
            lines.append(Line(label=label, x=x, y=y, color=color))
    return Picture(
        key="latency",
        title=words.PICTURE_NAMES["latency"],
        x_label=words.AXIS_POSITION,
        y_label=words.AXIS_LATENCY,
        lines=tuple(lines),
        empty="" if lines else words.NO_LATENCY,
    )


def _latency(samples: Iterable[Sample]) -> list[tuple[float, float]]:
    bins: dict[int, list[float]] = {}
    for sample in samples:
        for index, value in enumerate(token_latencies(sample)):
            bins.setdefault(index, []).append(value)
    return [(BIN * i + BIN / 2, statistics.fmean(v)) for i, v in sorted(bins.items())]


def token_latencies(sample: Sample) -> list[float]:
    """Milliseconds per token in each stretch of `BIN` tokens of one send. Tokens are spread
    evenly over the chunks, since a chunk does not say how many it holds."""
    times = sample.chunk_times
    if len(times) < 2 or not sample.decode_tokens:
        return []
    each = sample.decode_tokens / len(times)
    positions = [each * i for i in range(len(times))]
    out = []
    for at in range(0, int(positions[-1]) - BIN + 1, BIN):
        took = _at(positions, times, at + BIN) - _at(positions, times, at)
        out.append(1000 * took / BIN)
    return out


def _at(positions: Sequence[float], times: Sequence[float], where: float) -> float:
    right = min(max(1, bisect_left(positions, where)), len(positions) - 1)
    left = right - 1
    share = (where - positions[left]) / (positions[right] - positions[left])
    return times[left] + share * (times[right] - times[left])


def depth(record: Record) -> Picture:
    """Speedup over how full the context was."""
    known = [(float(g.key), g.speedup) for g in record.depths if g.speedup is not None]
    lines = []
    if known:
        lines.append(
            Line(
                label=words.SPEEDUP,
                x=tuple(x for x, _ in known),
                y=tuple(r.value for _, r in known),
                low=tuple(r.low if r.low is not None else r.value for _, r in known),
                high=tuple(r.high if r.high is not None else r.value for _, r in known),
            )
        )
    return Picture(
        key="depth",
        title=words.PICTURE_NAMES["depth"],
        x_label=words.AXIS_DEPTH,
        y_label=words.AXIS_SPEEDUP,
        lines=tuple(lines),
        level=1.0,
        ticks=tuple((x, f"{x:.0f} %") for x, _ in known),
        note=words.INTERVALS,
        empty="" if lines else words.NO_DEPTH,
    )


def history(model: str, entries: Sequence[Entry]) -> Picture:
    """Speedups of one model, oldest first, one line per backend."""
    mine = sorted(
        (e for e in entries if e.model == model and e.speedup is not None), key=lambda e: e.date
    )
    lines = []
    for color, backend in zip(COLORS, dict.fromkeys(e.backend for e in mine), strict=False):
        points = [(float(i), e) for i, e in enumerate(mine) if e.backend is backend]
        values = [e.speedup or 0.0 for _, e in points]
        lines.append(
            Line(
                label=strings.BACKENDS[backend],
                x=tuple(x for x, _ in points),
                y=tuple(values),
                low=tuple(e.low if e.low is not None else e.speedup or 0.0 for _, e in points),
                high=tuple(e.high if e.high is not None else e.speedup or 0.0 for _, e in points),
                color=color,
            )
        )
    step = max(1, len(mine) // 6)
    ticks = tuple((float(i), date_words(e.date)) for i, e in enumerate(mine) if i % step == 0)
    return Picture(
        key="history",
        title=words.PICTURE_NAMES["history"],
        x_label="",
        y_label=words.AXIS_SPEEDUP,
        lines=tuple(lines),
        level=1.0,
        ticks=ticks,
        note=words.INTERVALS,
        empty="" if lines else words.NO_BARS,
    )


def date_words(date: float, now: float | None = None) -> str:
    """`today 16:02`, `yesterday 9:15`, `29 Nov`, `3 Feb 2025`."""
    when, today = time.localtime(date), time.localtime(now)
    yesterday = time.localtime((time.time() if now is None else now) - 86_400)
    clock = f"{when.tm_hour}:{when.tm_min:02d}"
    if (when.tm_year, when.tm_yday) == (today.tm_year, today.tm_yday):
        return f"today {clock}"
    if (when.tm_year, when.tm_yday) == (yesterday.tm_year, yesterday.tm_yday):
        return f"yesterday {clock}"
    text = f"{when.tm_mday} {time.strftime('%b', when)}"
    return text if when.tm_year == today.tm_year else f"{text} {when.tm_year}"
