"""A record as text for other places: Markdown, CSV, JSON, and the command that repeats it.

Pure functions. Column meanings are those of product.md: tok/s with one decimal, TTFT in
seconds with two; what is not known is "—", in CSV an empty field.
"""

from __future__ import annotations

import csv
import io
import os
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from app.bench.records import GREEDY, Group, Leg, Plan, Record, Sample, Workload
from app.bench.summary import depth_key
from app.bench.workloads import CLASSES, PER_CLASS
from ui import bench_strings as words
from ui import format as fmt

ROW_HEAD = (
    "| backend | spec off (tok/s) | spec on (tok/s) | speedup | TTFT off | TTFT on |\n"
    "| --- | --- | --- | --- | --- | --- |"
)


def row(backend: str, off: Leg, on: Leg, speedup: float | None) -> str:
    """The six-column Markdown row: backend, off, on, speedup, TTFT off, TTFT on."""
    cells = (
        backend,
        fmt.tps(off.decode.mean if off.decode else None),
        fmt.tps(on.decode.mean if on.decode else None),
        fmt.DASH if speedup is None else f"{speedup:.2f}x",
        _short_seconds(off.ttft.mean if off.ttft else None),
        _short_seconds(on.ttft.mean if on.ttft else None),
    )
    return f"| {' | '.join(cells)} |"


def markdown_row(record: Record) -> str:
    """Header and row of the whole comparison (of the synthetic test if that is all)."""
    whole = record.overall or record.synthetic
    if whole is None:
        return ROW_HEAD
    value = whole.speedup.value if whole.speedup else None
    return f"{ROW_HEAD}\n{row(record.environment.backend.value, whole.off, whole.on, value)}"


def table(record: Record) -> str:
    """One line per test and leg, in the manner of llama-bench."""
    head = (
        "model", "backend", "spec", "test", "reps", "prefill t/s", "decode t/s", "TTFT",
        "acceptance", "tokens/step", "speedup [95 % CI]", "peak memory", "stop",
    )  # fmt: skip
    lines = [f"| {' | '.join(head)} |", "| --- | --- | --- | --- |" + " ---: |" * 8 + " --- |"]
    for test, item in tests(record):
        for spec, leg in legs(item):
            on = spec == "on"
            cells = (
                record.model,
                record.environment.backend.value,
                spec,
                test,
                str(leg.decode.n) if leg.decode else fmt.DASH,
                words.plus_minus(leg.prefill.mean, leg.prefill.std) if leg.prefill else fmt.DASH,
                words.plus_minus(leg.decode.mean, leg.decode.std) if leg.decode else fmt.DASH,
                words.seconds(leg.ttft.mean if leg.ttft else None),
                words.percent(item.acceptance) if on else "",
                fmt.fixed(leg.tokens_per_step, 2) if on else "",
                _interval(item) if on else "",
                fmt.size(leg.peak_memory),
                stops(record, item.key, speculative=on),
            )
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def tests(record: Record) -> list[tuple[str, Group]]:
    """Every group of a record with the name of its test: a class, `all`, a class of sends
    at a depth (`@ 50%`), or `pp256+tg128` for the synthetic test."""
    out = [(group.key, group) for group in record.groups]
    if record.overall is not None and len(record.groups) != 1:
        out.append(("all", record.overall))
    out += [(f"@ {group.key}%", group) for group in record.depths]
    if record.synthetic is not None:
        made = record.synthetic
        group = Group(
            key="synthetic",
            off=made.off,
            on=made.on,
            speedup=made.speedup,
            acceptance=made.acceptance,
        )
        out.append((f"pp{made.prefill_tokens}+tg{made.decode_tokens}", group))
    return out


def legs(group: Group) -> list[tuple[str, Leg]]:
    """Both sides with their names; only off where nothing ran with speculation."""
    both = [("off", group.off), ("on", group.on)]
    return both if group.on.decode or group.on.prefill else both[:1]


def stops(record: Record, key: str, *, speculative: bool) -> str:
    """Why the sends of a group ended, most frequent first: `limit 8, end 2`."""
    counts = Counter(
        sample.reason.value
        for sample in record.samples
        if sample.speculative is speculative and _group_of(sample, key)
    )
    return ", ".join(f"{reason} {n}" for reason, n in counts.most_common())


def _group_of(sample: Sample, key: str) -> bool:
    if sample.part == "depth":
        return key == depth_key(sample.depth)
    if sample.part == "synthetic":
        return key == "synthetic"
    return key in ("all", sample.workload.value)


CSV_HEAD = (
    "date", "model", "model_key", "tandem", "engine", "os", "cpu", "cores", "threads", "backend",
    "adapter", "context", "cache", "test", "spec", "n", "decode_mean", "decode_std",
    "decode_median", "decode_min", "decode_max", "prefill_mean", "prefill_std", "ttft_mean",
    "ttft_std", "tokens_per_step", "acceptance", "acceptance_source", "speedup", "speedup_low",
    "speedup_high", "pairs", "verdict", "same", "compared", "load_first_s", "load_warm_s",
    "peak_memory", "complete", "leg_peak_memory", "leg_peak_memory_source",
)  # fmt: skip


def to_csv(records: Sequence[Record]) -> str:
    """One line per test and leg with the environment beside it, for spreadsheets."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(CSV_HEAD)
    for record in records:
        for test, item in tests(record):
            for spec, leg in legs(item):
                writer.writerow(_csv_row(record, test, spec, item, leg))
    return out.getvalue()


def _csv_row(record: Record, test: str, spec: str, item: Group, leg: Leg) -> list[object]:
    env, ratio, decode = record.environment, item.speedup, leg.decode
    values: list[object] = [
        env.date, record.model, record.model_key, env.tandem, env.engine, env.os, env.cpu,
        env.cores, env.threads or "auto", env.backend.value, env.adapter, env.context_tokens,
        env.cache, test, spec, decode.n if decode else 0,
    ]  # fmt: skip
    values += (
        [decode.mean, decode.std, decode.median, decode.low, decode.high]
        if decode
        else ([None] * 5)
    )
    values += [leg.prefill.mean, leg.prefill.std] if leg.prefill else [None, None]
    values += [leg.ttft.mean, leg.ttft.std] if leg.ttft else [None, None]
    values += [leg.tokens_per_step, item.acceptance, item.acceptance_source]
    values += [ratio.value, ratio.low, ratio.high, ratio.pairs] if ratio else [None] * 4
    values += [item.verdict.value, item.same, item.compared, record.load_first_s]
    values += [record.load_warm_s, record.peak_memory, record.complete]
    values += [leg.peak_memory, record.memory_source if leg.peak_memory else None]
    return [_safe_cell(value) for value in values]


_FORMULA = "=+-@\t\r\n＝＋－＠"
"""What a spreadsheet takes for the beginning of a formula, wide forms too."""


def _safe_cell(value: object) -> object:
    """None as empty; text that a spreadsheet would take for a formula gets a quote before."""
    if value is None:
        return ""
    if isinstance(value, str) and value[:1] and value[:1] in _FORMULA:
        return f"'{value}"
    return value


def to_json(record: Record) -> str:
    """Everything: plan, environment, every sample, results."""
    return msgspec.json.format(msgspec.json.encode(record), indent=2).decode()


def reproduce(plan: Plan) -> str:
    """The command line that runs the same comparison again."""
    parts = ["tandem", "bench", plan.model_path, "--backend", plan.backend.value]
    parts += ["--runs", str(plan.runs)]
    padded = plan.prefill_tokens and plan.decode_tokens
    suite: dict[Workload, int] = Counter(
        p.workload for p in plan.prompts if p.workload is not Workload.OWN
    )
    if tuple(suite) != CLASSES or padded:
        for workload in suite:
            parts += ["--class", workload.value]
    if suite and max(suite.values()) != PER_CLASS:
        parts += ["--prompts", str(max(suite.values()))]
    for prompt in plan.prompts:
        if prompt.workload is Workload.OWN:
            parts += ["--prompt", prompt.text]
    parts += ["--max-tokens", str(plan.max_tokens)]
    if plan.context_tokens:
        parts += ["--context", str(plan.context_tokens)]
    if plan.threads:
        parts += ["--threads", str(plan.threads)]
    if plan.cache != "disk":
        parts += ["--cache", plan.cache]
    if plan.gpu_float16:
        parts += ["--float16"]
    if not plan.cold_load:
        parts += ["--no-first-load"]
    if plan.sampling != GREEDY:
        parts += ["--sample", "--seed", str(plan.sampling.seed or 0)]
    if plan.depths:
        parts += ["--depth"]
    if padded:
        parts += ["-p", str(plan.prefill_tokens), "-d", str(plan.decode_tokens)]
        parts += [] if plan.padded_on else ["--off-only"]
    return shlex.join(parts)


def append_step_summary(text: str, backend: str, environ: Mapping[str, str] | None = None) -> bool:
    """Adds `text` to the file named by GITHUB_STEP_SUMMARY under a heading naming the
    backend; False where the variable is not set or the file cannot be written."""
    target = (os.environ if environ is None else environ).get("GITHUB_STEP_SUMMARY")
    if not target:
        return False
    try:
        with Path(target).open("a", encoding="utf-8") as file:
            file.write(f"### Speculative decoding on {backend}\n\n{text}\n\n")
    except OSError:
        return False
    return True


def _short_seconds(value: float | None) -> str:
    return fmt.DASH if value is None else f"{value:.2f}s"


def _interval(group: Group) -> str:
    ratio = group.speedup
    if ratio is None:
        return fmt.DASH
    if ratio.low is None or ratio.high is None:
        return fmt.speedup(ratio.value)
    return f"{ratio.value:.2f}× [{ratio.low:.2f}, {ratio.high:.2f}]"
