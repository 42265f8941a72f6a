"""`tandem bench`: speculation off against on, from a terminal.

The result goes to stdout, progress to stderr. The comparison runs on a thread of its own
that owns the engine; the main thread waits and turns signals into a cancel, after which what
was measured is printed (`app.bench.job`). Exit codes: 0 done, 1 failed or cut short (one line
on stderr).
"""

from __future__ import annotations

import argparse
import contextlib
import sqlite3
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TextIO

import msgspec

import resources
from app import paths as app_paths
from app.bench import export, progress_line, report, workloads
from app.bench.job import Interruptions, Job
from app.bench.records import DEPTHS, GREEDY, Plan, Prompt, Record, Workload
from app.bench.runner import Cancelled
from app.bench.store import BenchmarkStore, StoreError
from app.engine_factory import hosted_engine
from app.model_names import display_name
from app.paths import Paths
from app.settings import SettingsStore
from engine.context_guard import DEFAULT_CONTEXT
from engine.errors import BackendError, EngineError
from engine.model_file import inspect
from engine.protocol import Engine
from engine.types import Backend, Sampling
from ui import bench_strings as words
from ui import strings

EngineFactory = Callable[[Paths], Engine]


def parser() -> argparse.ArgumentParser:
    """All options; `-p`/`-d` mean what they mean in `litert-lm benchmark`."""
    p = argparse.ArgumentParser(
        prog="tandem bench",
        description="Measures the same prompts with speculation off and on, in turn.",
    )
    p.add_argument("model", nargs="?", help="a .litertlm file; else the last used or the demo")
    p.add_argument("--backend", choices=[b.value for b in Backend], default="cpu")
    p.add_argument("--runs", type=_positive, default=5, metavar="N", help="repetitions (5)")
    p.add_argument(
        "--class",
        dest="classes",
        action="append",
        choices=[w.value for w in workloads.CLASSES],
        help="only this class of prompts; may be repeated",
    )
    p.add_argument("--prompts", type=int, choices=(1, 2, 3), default=workloads.PER_CLASS,
                   help="prompts of each class (2)")  # fmt: skip
    p.add_argument("--prompt", action="append", metavar="TEXT", help="your own prompt instead")
    p.add_argument("--max-tokens", type=_positive, default=128, metavar="N")
    p.add_argument("--context", type=_number(16, 1_048_576), default=0, metavar="N")
    p.add_argument("--threads", type=_number(1, 256), default=0, metavar="N")
    p.add_argument("--cache", default="disk", metavar="disk|no|memory|PATH")
    p.add_argument("--float16", action="store_true", help="half precision on the GPU")
    p.add_argument("-p", "--prefill-tokens", type=_positive, default=0, metavar="N")
    p.add_argument("-d", "--decode-tokens", type=_positive, default=0, metavar="N",
                   help="synthetic test of N prompt and N answer tokens")  # fmt: skip
    p.add_argument("--off-only", action="store_true",
                   help="leave speculation out of the synthetic test")  # fmt: skip
    p.add_argument("--depth", action="store_true", help="also at 0, 25, 50 and 75 %% of context")
    p.add_argument("--sample", action="store_true",
                   help="let the off leg sample (40/0.95/1.0) instead of greedy")  # fmt: skip
    p.add_argument("--seed", type=_number(0, 2**31 - 1), default=42)
    p.add_argument("--no-first-load", action="store_true", help="skip the load without a cache")
    p.add_argument("--no-save", action="store_true", help="keep it out of the history")
    form = p.add_mutually_exclusive_group()
    form.add_argument("--json", dest="form", action="store_const", const="json")
    form.add_argument("--csv", dest="form", action="store_const", const="csv")
    form.add_argument("--md", dest="form", action="store_const", const="md")
    return p


def _number(low: int, high: int = 1_048_576) -> Callable[[str], int]:
    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"must be between {low} and {high}")
        return value

    return parse


_positive = _number(1)


def plan_of(args: argparse.Namespace, model: str, cache_dir: str) -> Plan:
    """The plan asked for. `-p` and `-d` alone run only the synthetic test; `--prompt` alone
    only that prompt."""
    synthetic = bool(args.prefill_tokens or args.decode_tokens)
    prompts: tuple[Prompt, ...] = ()
    if args.classes or not (synthetic or args.prompt) or (args.depth and not args.prompt):
        chosen = [Workload(c) for c in args.classes] if args.classes else workloads.CLASSES
        prompts = workloads.suite(dict.fromkeys(chosen), args.prompts)
    prompts += tuple(workloads.own(text) for text in dict.fromkeys(args.prompt or ()))
    sampling = Sampling(temperature=1.0, top_p=0.95, top_k=40) if args.sample else GREEDY
    return Plan(
        model_path=model,
        backend=Backend(args.backend),
        prompts=prompts,
        runs=args.runs,
        max_tokens=args.max_tokens,
        context_tokens=args.context,
        threads=args.threads,
        cache=args.cache,
        cache_dir=cache_dir,
        gpu_float16=args.float16,
        sampling=msgspec.structs.replace(sampling, seed=args.seed),
        cold_load=not args.no_first_load,
        depths=DEPTHS if args.depth else (),
        prefill_tokens=(args.prefill_tokens or 256) if synthetic else 0,
        decode_tokens=(args.decode_tokens or 256) if synthetic else 0,
        padded_on=not args.off_only,
    )


def main(argv: Sequence[str], *, engine_factory: EngineFactory | None = None) -> int:
    """Entry of the subcommand. `engine_factory` is for tests."""
    args = parser().parse_args(argv)
    asked = Interruptions()
    with asked.watched():
        return _compare(args, asked, engine_factory or hosted_engine)


def _compare(args: argparse.Namespace, asked: Interruptions, make: EngineFactory) -> int:
    where = app_paths.resolve()
    model = str(Path(args.model or _default_model(where)).absolute())
    plan = plan_of(args, model, str(where.engine_cache(model)))
    try:
        info = inspect(model)
    except EngineError as error:
        return _fail(_sentence(error, plan))
    if plan.prompts and info.supports_mtp is False:
        return _fail(words.NO_DRAFTER.format(model=display_name(model)))
    largest = min(DEFAULT_CONTEXT, info.max_context or DEFAULT_CONTEXT)
    context = plan.context_tokens or largest
    padding, answer = plan.prefill_tokens, plan.decode_tokens
    if padding + answer > context:
        return _fail(words.DOES_NOT_FIT.format(prompt=padding, answer=answer, context=context))
    progress = progress_line.ProgressLine(sys.stderr)
    job = Job(plan, progress.show, lambda: make(where))
    try:
        record = job.wait(asked)
    finally:
        progress.done()
    if record is None:
        if isinstance(job.error, Cancelled):
            return _fail(words.CANCELLED_EMPTY)
        if isinstance(job.error, EngineError):
            return _fail(_sentence(job.error, plan))
        raise job.error or RuntimeError("no result")
    if not args.no_save:  # before it is printed: whoever reads that may be gone
        _save(where, record, sys.stderr)
    _tell(record, args.form or "text")
    if record.complete:
        return 0
    return _fail(report.why_partial(record))


def _tell(record: Record, form: str) -> None:
    """The result on stdout, and where GitHub shows the summary of a step."""
    print(_format(record, form), flush=True)
    export.append_step_summary(_markdown(record), strings.BACKENDS[record.plan.backend])


def _default_model(where: Paths) -> str:
    last = SettingsStore(where.settings_file).value.model_path
    return last if last and Path(last).is_file() else str(resources.DEMO_MODEL)


def _format(record: Record, form: str) -> str:
    if form == "json":
        return export.to_json(record)
    if form == "csv":
        return export.to_csv([record]).rstrip("\n")
    if form == "md":
        return f"{_markdown(record)}\n\nRepeat with: `{export.reproduce(record.plan)}`"
    return report.text(record)


def _markdown(record: Record) -> str:
    """Row and table; what they do not hold is said below them."""
    parts = (
        export.markdown_row(record),
        export.table(record),
        report.why_partial(record),
        report.why_off_only(record),
    )
    return "\n\n".join(part for part in parts if part)


def _save(where: Paths, record: Record, errors: TextIO) -> None:
    try:
        with contextlib.closing(BenchmarkStore(where.benchmark_file)) as store:
            store.add(record)
    except (sqlite3.Error, StoreError, OSError) as problem:
        print(f"tandem: not kept in the history: {problem}", file=errors)


def _sentence(error: EngineError, plan: Plan) -> str:
    text = report.sentence(error.info(), plan)
    if isinstance(error, BackendError) and plan.backend is Backend.GPU:
        return f"{text} {words.GPU_WAY_OUT}"
    return text


def _fail(sentence: str) -> int:
    print(f"tandem: {sentence}", file=sys.stderr)
    return 1
