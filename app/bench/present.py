"""Records and entries as what the Benchmark tab shows. Pure functions, no Qt."""

from __future__ import annotations

import time
from collections.abc import Sequence

from app.bench import export, pictures, report, statistics
from app.bench.records import Group, Leg, Record, Spread, Verdict
from app.bench.store import Entry
from engine.types import Backend
from ui import bench_strings as words
from ui import format as fmt
from ui import strings
from ui.bench_views import BarRow, HistoryRow, HistoryView, ResultView

TONES: dict[Verdict, str] = {
    Verdict.FASTER: "accent",
    Verdict.SLOWER: "bad",
    Verdict.UNCLEAR: "",
    Verdict.TOO_FEW: "",
    Verdict.CANNOT: "bad",
}


def result_view(
    record: Record, entries: Sequence[Entry] = (), baseline: Record | None = None
) -> ResultView:
    """A comparison as shown. `entries` draw its model's history; `baseline` is the record
    it is measured against, if there is one."""
    made = _synthetic_of(record)
    whole = record.overall or (record.depths[0] if record.depths else made)
    padded = whole is not None and whole is made
    ratio = whole.speedup if whole else None
    verdict = whole.verdict if whole else Verdict.TOO_FEW
    rows, tips = table(record, baseline)
    return ResultView(
        id=record.id,
        value=fmt.speedup(ratio.value if ratio else None),
        tone="" if padded else TONES[verdict],
        headline=words.VERDICTS["synthetic" if padded else verdict.value],
        detail=report.detail(record),
        partial="\n".join(
            line for line in (report.why_partial(record), report.why_off_only(record)) if line
        ),
        warning="\n".join([*report.warnings(record.environment), *_unlike(record, baseline)]),
        bars=tuple(_bar(group) for group in record.groups),
        pictures=(
            pictures.latency(record),
            pictures.depth(record),
            pictures.history(record.model, entries),
        ),
        head=words.TABLE_HEAD,
        rows=rows,
        tips=tips,
        brief=2 if len(rows) > 1 and rows[1][0] == words.AGAINST_BASELINE else 1,
        heading=heading(record),
        foot=foot(record),
        report=report.text(record),
        command=export.reproduce(record.plan),
        notes=record.notes,
        baseline=record.baseline,
    )


def _synthetic_of(record: Record) -> Group | None:
    """The synthetic test as a group; it is shown first when nothing else was measured."""
    made = record.synthetic
    if made is None:
        return None
    return Group(
        key="synthetic",
        off=made.off,
        on=made.on,
        speedup=made.speedup,
        acceptance=made.acceptance,
    )


def _bar(group: Group) -> BarRow:
    off, on = group.off.decode, group.on.decode
    return BarRow(
        label=words.WORKLOADS[group.key],
        off=off.mean if off else None,
        on=on.mean if on else None,
        off_std=off.std if off else None,
        on_std=on.std if on else None,
        text=f"{fmt.tps(off.mean if off else None)} → {fmt.tps(on.mean if on else None)} tok/s",
    )


def table(
    record: Record, baseline: Record | None = None
) -> tuple[tuple[tuple[str, ...], ...], tuple[tuple[str, ...], ...]]:
    """Rows and their tooltips: everything first, then each class, depth and the rest."""
    rows: list[tuple[str, ...]] = []
    tips: list[tuple[str, ...]] = []
    tests = export.tests(record)
    tests.sort(key=lambda pair: pair[0] != "all")
    for index, (test, group) in enumerate(tests):
        name = place(record) if index == 0 else words.WORKLOADS.get(test, test)
        if index == 0 and test not in ("all", *words.WORKLOADS):
            name = test
        rows.append(_row(name, group))
        tips.append(_tips(group, record.memory_source))
    against = _against(record, baseline)
    if against:
        rows.insert(1, against)
        tips.insert(1, ("",) * len(against))
    return tuple(rows), tuple(tips)


def _row(name: str, group: Group) -> tuple[str, ...]:
    off, on, ratio = group.off, group.on, group.speedup
    return (
        name,
        _plus_minus(off.decode),
        _plus_minus(on.decode),
        fmt.speedup(ratio.value if ratio else None),
        words.seconds(off.ttft.mean if off.ttft else None),
        words.seconds(on.ttft.mean if on.ttft else None),
        words.percent(group.acceptance),
        words.same_text(group.same, group.compared),
        words.memory(off.peak_memory, on.peak_memory),
    )


def _tips(group: Group, memory_source: str) -> tuple[str, ...]:
    ratio = group.speedup
    interval = words.speedup_line(ratio.value, ratio.low, ratio.high) if ratio else ""
    steps = group.on.tokens_per_step
    per_step = "" if steps is None else f"\n{steps:.2f} tokens/step (from the stream)"
    source = group.acceptance_source or words.NO_ACCEPTANCE
    return (
        "",
        _leg_tip(group.off),
        _leg_tip(group.on) + per_step,
        interval,
        _spread_tip(group.off.ttft, "s", 3),
        _spread_tip(group.on.ttft, "s", 3),
        f"{source}{per_step}",
        words.GREEDY_NOTE if group.compared else "",
        _memory_tip(group, memory_source),
    )


def _memory_tip(group: Group, source: str) -> str:
    sides = (("off", group.off.peak_memory), ("on", group.on.peak_memory))
    told = fmt.DOT.join(f"{name} {fmt.size(peak)}" for name, peak in sides if peak is not None)
    return f"{words.PEAK_MEMORY}: {told}\n{source}" if told else ""


def _leg_tip(leg: Leg) -> str:
    lines = [
        _spread_tip(leg.decode, "tok/s decode", 1),
        _spread_tip(leg.prefill, "tok/s prefill", 1),
    ]
    return "\n".join(line for line in lines if line)


def _spread_tip(spread: Spread | None, unit: str, digits: int) -> str:
    if spread is None:
        return ""
    std = "" if spread.std is None else f" ± {spread.std:.{digits}f}"
    return (
        f"{spread.mean:.{digits}f}{std} {unit}, median {spread.median:.{digits}f}, "
        f"min {spread.low:.{digits}f}, max {spread.high:.{digits}f}, n {spread.n}"
    )


def _plus_minus(spread: Spread | None) -> str:
    return words.plus_minus(spread.mean, spread.std) if spread else fmt.DASH


def _against(record: Record, baseline: Record | None) -> tuple[str, ...]:
    """Change of each figure against the baseline, better or worse in words."""
    mine, base = record.overall, baseline.overall if baseline else None
    if mine is None or base is None or baseline is None or baseline.id == record.id:
        return ()

    def tell(a: Spread | None, b: Spread | None, *, higher: bool) -> str:
        if a is None or b is None:
            return fmt.DASH
        return words.change(statistics.change(a.mean, b.mean, higher_is_better=higher))

    speedup = fmt.DASH
    if mine.speedup and base.speedup:
        found = statistics.change(mine.speedup.value, base.speedup.value, higher_is_better=True)
        speedup = words.change(found)
    return (
        words.AGAINST_BASELINE,
        tell(mine.off.decode, base.off.decode, higher=True),
        tell(mine.on.decode, base.on.decode, higher=True),
        speedup,
        tell(mine.off.ttft, base.off.ttft, higher=False),
        tell(mine.on.ttft, base.on.ttft, higher=False),
        "",
        "",
        _memory_change(mine, base),
    )


def _unlike(record: Record, baseline: Record | None) -> list[str]:
    """What was not alike in the baseline."""
    if baseline is None or record.overall is None or baseline.overall is None:
        return []
    asked = [({p.id for p in r.plan.prompts}, r.plan.max_tokens) for r in (record, baseline)]
    out = [words.OTHER_PROMPTS] if asked[0] != asked[1] else []
    where = [(place(r), r.environment.machine) for r in (record, baseline)]
    return out + ([words.OTHER_PLACE.format(place=where[1][0])] if where[0] != where[1] else [])


def _memory_change(mine: Group, base: Group) -> str:
    """Of the leg with speculation, or of the other where that did not run."""
    for a, b in (
        (mine.on.peak_memory, base.on.peak_memory),
        (mine.off.peak_memory, base.off.peak_memory),
    ):
        if a is not None and b is not None:
            return words.change(statistics.change(a, b, higher_is_better=False))
    return fmt.DASH


def place(record: Record) -> str:
    """`CPU, 2 threads` or `GPU NVIDIA H200`."""
    env = record.environment
    name = strings.BACKENDS[env.backend]
    if env.backend is Backend.GPU:
        return f"{name} {env.adapter}" if env.adapter else name
    count, unit = (env.threads, "thread") if env.threads else (env.cores, "core")
    return f"{name}, {count} {unit}{'' if count == 1 else 's'}"


def heading(record: Record) -> str:
    """`SmolLM2 · CPU, 2 threads · engine 0.18.1 · 29 Nov 2026`"""
    env = record.environment
    when = time.localtime(env.date)
    day = f"{when.tm_mday} {time.strftime('%b %Y', when)}"
    return fmt.DOT.join((record.model, place(record), f"engine {env.engine}", day))


def foot(record: Record) -> str:
    """`engine 0.18.1 · disk cache warm · load 0.4 s`"""
    parts = [f"engine {record.environment.engine}"]
    cache = record.environment.cache
    if cache.startswith("disk"):
        # A cold cache is filled by the first load; every timed leg then found it warm.
        parts.append("disk cache warm")
    elif cache:
        parts.append(f"cache {cache}")
    if record.load_warm_s is not None:
        parts.append(f"load {record.load_warm_s:.1f} s")
    if record.load_first_s is not None:
        parts.append(f"first load {record.load_first_s:.1f} s")
    if record.peak_memory is not None:
        parts.append(f"peak memory {fmt.size(record.peak_memory)}")
    return fmt.DOT.join(parts)


def history_view(
    entries: Sequence[Entry],
    shown: Sequence[Entry],
    selected: str = "",
    now: float | None = None,
) -> HistoryView:
    """The list: `shown` are the rows after filters, `entries` all of them."""
    bases = {e.model: e for e in entries if e.baseline}
    return HistoryView(
        rows=tuple(history_row(e, bases.get(e.model), now) for e in shown),
        models=tuple(sorted({e.model for e in entries})),
        backends=tuple(sorted({e.backend for e in entries})),
        selected=selected,
    )


def history_row(entry: Entry, baseline: Entry | None, now: float | None = None) -> HistoryRow:
    """One card; against the baseline of its model it tells better or worse in words."""
    where = strings.BACKENDS[entry.backend]
    if entry.adapter:
        where = f"{where} {entry.adapter}"
    when = pictures.date_words(entry.date, now)
    tail = words.VERDICT_WORDS[entry.verdict.value] if entry.verdict is Verdict.SLOWER else ""
    if entry.baseline:
        tail = words.BASELINE
    elif baseline is not None and entry.speedup and baseline.speedup:
        found = statistics.change(entry.speedup, baseline.speedup, higher_is_better=True)
        tail = words.change(found)
    tail = tail if entry.complete else words.CUT_SHORT
    subtitle = fmt.DOT.join(p for p in (where, when, tail) if p)
    tip = [entry.model, subtitle, words.VERDICT_WORDS[entry.verdict.value], entry.notes]
    return HistoryRow(
        id=entry.id,
        title=entry.model,
        subtitle=subtitle,
        value=fmt.speedup(entry.speedup),
        tone=TONES[entry.verdict],
        tip="\n".join(t for t in tip if t),
    )
