"""A record in words for a terminal: verdict first, then numbers, then where they come from."""

from __future__ import annotations

import time
from pathlib import Path

from app.bench import export
from app.bench.records import Environment, Group, Plan, Record
from app.model_names import display_name
from engine.types import ErrorInfo
from ui import bench_strings as words
from ui import error_words, strings
from ui import format as fmt


def text(record: Record) -> str:
    """The whole result as plain text, ready for stdout."""
    lines: list[str] = []
    if record.overall is not None:
        lines += [headline(record.overall), detail(record), ""]
    if not record.complete:
        lines += [why_partial(record), ""]
    if record.on_missing is not None:
        lines += [why_off_only(record), ""]
    lines += [*table(record), "", *legs_table(record), ""]
    lines += [difference_line(record)] if difference_line(record) else []
    lines += [*notes(record), environment(record.environment), memory(record)]
    lines += ["", "Repeat with:", f"  {export.reproduce(record.plan)}"]
    return "\n".join(line for line in lines if line is not None)


def headline(group: Group) -> str:
    """`1.60×  Faster with speculation on this computer.`"""
    value = group.speedup.value if group.speedup else None
    return f"{fmt.speedup(value)}  {words.VERDICTS[group.verdict.value]}"


def detail(record: Record) -> str:
    """The muted line under the verdict."""
    whole = record.overall
    if whole is None:
        return ""
    ratio = whole.speedup
    parts = []
    if ratio is not None and ratio.low is not None and ratio.high is not None:
        parts.append(f"95 % interval {ratio.low:.2f} – {ratio.high:.2f}")
    count, runs = len(record.groups), record.plan.runs
    works = f"{count} workload{'' if count == 1 else 's'}"
    parts.append(f"{works}, {runs} run{'' if runs == 1 else 's'} each, order alternated")
    if whole.acceptance is not None:
        source = whole.acceptance_source.partition(" at ")[0]
        parts.append(f"{words.percent(whole.acceptance)} of drafts accepted ({source})")
    if whole.on.tokens_per_step is not None:
        parts.append(f"{whole.on.tokens_per_step:.1f} tokens/step")
    return fmt.DOT.join(parts)


def why_partial(record: Record) -> str:
    """Why a record is not whole; "" if it is."""
    if record.complete:
        return ""
    if record.stopped == "cancelled":
        return words.PARTIAL
    error = record.failure or ErrorInfo(record.stopped)
    return words.PARTIAL_ERROR.format(sentence=sentence(error, record.plan, record.model))


def sentence(error: ErrorInfo, plan: Plan, model: str = "") -> str:
    """An error of the engine in one sentence, with the names of what was measured."""
    params = {"name": Path(plan.model_path).name, "path": plan.model_path}
    params |= {"model": model or display_name(plan.model_path)}
    params |= {"backend": strings.BACKENDS[plan.backend], **error.params}
    text = error_words.error(error.code, params, error.detail).sentence
    return text.replace(words.CHAT_IS_SAFE, "")


def why_off_only(record: Record) -> str:
    """Why there is no leg with speculation; "" if there is one or none was wanted."""
    error = record.on_missing
    if error is None:
        return ""
    return words.ON_MISSING.format(sentence=sentence(error, record.plan, record.model))


def table(record: Record) -> list[str]:
    """Aligned columns, one line per test."""
    head = ["", "off tok/s", "on tok/s", "speedup", "TTFT off", "TTFT on", "accepted",
            "tok/step", "same text"]  # fmt: skip
    rows = [head]
    for test, group in export.tests(record):
        off, on, ratio = group.off, group.on, group.speedup
        rows.append(
            [
                words.WORKLOADS.get(test, test),
                words.plus_minus(off.decode.mean, off.decode.std) if off.decode else fmt.DASH,
                words.plus_minus(on.decode.mean, on.decode.std) if on.decode else fmt.DASH,
                fmt.speedup(ratio.value if ratio else None),
                words.seconds(off.ttft.mean if off.ttft else None),
                words.seconds(on.ttft.mean if on.ttft else None),
                words.percent(group.acceptance),
                fmt.fixed(on.tokens_per_step, 2),
                words.same_text(group.same, group.compared),
            ]
        )
    return _aligned(rows)


def legs_table(record: Record) -> list[str]:
    """One line per test and leg: what the first table has no room for."""
    rows = [["", "decode median", "min – max", "prefill tok/s", "TTFT median", "peak memory"]]
    for test, group in export.tests(record):
        for spec, leg in export.legs(group):
            rows.append(
                [
                    f"{words.WORKLOADS.get(test, test)}, {spec}",
                    fmt.tps(leg.decode.median if leg.decode else None),
                    words.span(leg.decode.low, leg.decode.high) if leg.decode else fmt.DASH,
                    words.plus_minus(leg.prefill.mean, leg.prefill.std)
                    if leg.prefill
                    else fmt.DASH,
                    words.seconds(leg.ttft.median if leg.ttft else None),
                    fmt.size(leg.peak_memory),
                ]
            )
    return _aligned(rows)


def _aligned(rows: list[list[str]]) -> list[str]:
    """Names to the left, numbers to the right."""
    widths = [max(len(r[i]) for r in rows) for i in range(len(rows[0]))]
    return [
        "  ".join(
            cell.rjust(width) if column else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
        )
        for cells in rows
    ]


def difference_line(record: Record) -> str:
    """The first place where a greedy answer differed, "" if none did."""
    if not record.differences:
        return ""
    first = record.differences[0]
    return (
        f"First difference ({first.prompt_id}, word {first.word}): "
        f"off “{first.off}” / on “{first.on}”"
    )


def notes(record: Record) -> list[str]:
    """Sentences that keep the numbers honest."""
    out = []
    whole = record.overall
    if whole is not None and whole.speedup is not None and whole.speedup.low is not None:
        out.append(words.INTERVAL_NOTE)
    if whole is not None and whole.acceptance is not None:
        out.append(f"Acceptance: {whole.acceptance_source}; counts are not reported (—).")
    if whole is not None and record.plan.sampling.top_k == 1:
        out.append(words.GREEDY_NOTE)
    if record.synthetic is not None:
        out.append(words.SYNTHETIC_OVERDUE if record.synthetic.overdue else words.SYNTHETIC_NOTE)
    return out + warnings(record.environment)


def warnings(env: Environment) -> list[str]:
    """Why these numbers may not be what this computer can do."""
    out = [words.SOFTWARE] if env.software_adapter else []
    if env.load_average is not None and env.cores and env.load_average > env.cores:
        out.append(words.BUSY_MACHINE.format(load=env.load_average, cores=env.cores))
    return out


def environment(env: Environment) -> str:
    """One line: versions, machine, threads, cache, context, power, load, date."""
    parts = [
        f"Tandem {env.tandem}, engine {env.engine}",
        env.os,
        env.cpu + (f", {env.cores} cores" if env.cores else ""),
        f"GPU {env.adapter}" if env.adapter else "",
        f"{env.backend.value}, {env.threads or 'automatic'} threads",
        f"context {env.context_tokens}" if env.context_tokens else "",
        f"cache {env.cache}",
        f"on {env.power}" if env.power else "",
        f"load {env.load_average:.1f}" if env.load_average is not None else "",
        time.strftime("%Y-%m-%d %H:%M", time.localtime(env.date)),
    ]
    return fmt.DOT.join(p for p in parts if p)


def memory(record: Record) -> str:
    """Load times and peak memory, with how the legs' was read."""
    first = "" if record.load_first_s is None else f"first load {record.load_first_s:.2f} s"
    warm = "" if record.load_warm_s is None else f"later loads {record.load_warm_s:.2f} s"
    peak = "" if record.peak_memory is None else f"peak memory {fmt.size(record.peak_memory)}"
    source = record.memory_source and f"memory of the legs: {record.memory_source}"
    return fmt.DOT.join(p for p in (first, warm, peak, source) if p)
