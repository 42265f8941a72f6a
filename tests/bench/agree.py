"""By hand: Tandem's synthetic figures against Google's own benchmark tool.

    python -m tests.bench.agree [MODEL] [-p 256] [-d 256] [--rounds 12] [--json FILE]

Installs `litert-lm==0.18.1` from PyPI into a throwaway environment (or takes `--tool`), then
runs its `litert-lm benchmark` and `tandem bench` in pairs, the order changing every round.
Alike on both sides: model file, token counts, context, threads (one per core unless given),
disk cache already filled, one warm-up in each run, speculation off, sampler of the model file,
one blocking native call for a send, half precision on a GPU (the tool's only way). Both report
the engine's own figures, the means of `--runs` sends.

Noise. A run starts when the rest of the machine rests, and what others used meanwhile is
measured: a pair in which that was more than `--others` of one core is not counted and made
again. What is told is the median over the pairs of the ratio Tandem / Google, with a 95 %
interval (bootstrap over pairs, fixed seed).

Exit code: 0 both medians within 5 %, 1 one is not, 2 the machine was never quiet enough.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

import msgspec
import psutil

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from app.bench.environment import cpu_name, load_average  # noqa: E402
from app.version import VERSION  # noqa: E402
from engine.model_file import inspect  # noqa: E402
from engine.types import LIBRARY_VERSION  # noqa: E402
from resources import DEMO_MODEL  # noqa: E402

ALLOWED = 0.05
PACKAGE = f"litert-lm=={LIBRARY_VERSION}"
FIGURES = ("prefill", "decode")
LOOK_S = 0.5
LEAST = 5
"""Fewer pairs than this say nothing."""


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One run of one tool: tok/s, seconds, and how many cores others used meanwhile."""

    prefill: float
    decode: float
    seconds: float
    others: float


class Pair(msgspec.Struct, frozen=True, kw_only=True):
    """Neighbouring runs. `first` names the tool that ran first; `counted` is whether the
    machine was quiet during both."""

    first: str
    google: Run
    tandem: Run
    counted: bool


class Ratio(msgspec.Struct, frozen=True, kw_only=True):
    """Medians over the counted pairs, and of their ratios Tandem / Google."""

    google: float
    tandem: float
    median: float
    low: float
    high: float


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that was run and what follows; `verdict` is agree, differ or not quiet."""

    verdict: str
    allowed: float
    ratios: dict[str, Ratio]
    pairs: list[Pair]
    parameters: dict[str, object]
    machine: dict[str, object]


# -- the two tools ------------------------------------------------------------------------------


def install(folder: Path) -> Path:
    """A fresh environment with Google's tool; the path of its command."""
    venv.create(folder, with_pip=True)
    place = folder / ("Scripts" if os.name == "nt" else "bin")
    command = [str(place / "python"), "-m", "pip", "install", "-q", PACKAGE]
    subprocess.run(command, check=True, stdout=sys.stderr)
    return place / ("litert-lm.exe" if os.name == "nt" else "litert-lm")


def google(tool: str, model: Path, args: argparse.Namespace) -> tuple[float, float]:
    """(prefill, decode) in tokens per second, the tool's averages."""
    command = [
        *shlex.split(tool), "benchmark", str(model), "-p", str(args.prefill),
        "-d", str(args.decode), "--runs", str(args.runs), "--max-num-tokens", str(args.context),
        "--backend", args.backend, "--cache", "disk", "--speculative-decoding", "false",
    ]  # fmt: skip
    if args.threads:
        command += ["--cpu-thread-count", str(args.threads)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = {
        name: float(value)
        for name, value in re.findall(r"(Prefill|Decode) speed:\s+([\d.]+)", text)
    }
    if len(found) != 2:
        raise SystemExit(f"litert-lm benchmark gave no figures:\n{text}")
    return found["Prefill"], found["Decode"]


def tandem(model: Path, args: argparse.Namespace) -> tuple[float, float]:
    """The same figures from `tandem bench`."""
    command = [
        sys.executable, "-m", "app", "bench", str(model), "-p", str(args.prefill), "-d",
        str(args.decode), "--runs", str(args.runs), "--context", str(args.context), "--backend",
        args.backend, "--no-first-load", "--no-save", "--off-only", "--json",
    ]  # fmt: skip
    if args.backend == "gpu":
        command += ["--float16"]
    if args.threads:
        command += ["--threads", str(args.threads)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
    leg = json.loads(done.stdout)["synthetic"]["off"]
    return leg["prefill"]["mean"], leg["decode"]["mean"]


# -- quiet --------------------------------------------------------------------------------------


def busy_s() -> float:
    """Seconds in which some core worked, or was taken away, since the machine started."""
    t = psutil.cpu_times()
    names = ("user", "nice", "system", "irq", "softirq", "steal", "interrupt", "dpc")
    return sum(getattr(t, name, 0.0) for name in names)


def children_s() -> float:
    """Seconds of work of this program's ended children and theirs; 0 where unknown."""
    times = os.times()
    return times.children_user + times.children_system


class Quiet:
    """Waits until the machine rests; gives up after `patience_s` seconds in all."""

    def __init__(self, others: float, patience_s: float) -> None:
        self._others = others
        self._left = patience_s

    def wait(self) -> bool:
        while self._left > 0:
            before = busy_s()
            time.sleep(LOOK_S)
            if (busy_s() - before) / LOOK_S <= self._others:
                return True
            self._left -= LOOK_S
        return False


def timed(figures: tuple[float, float], before: tuple[float, float, float]) -> Run:
    """The run that just ended, from its (prefill, decode) and the clocks before it."""
    seconds = time.monotonic() - before[0]
    others = (busy_s() - before[1]) - (children_s() - before[2])
    return Run(
        prefill=figures[0], decode=figures[1], seconds=seconds, others=max(0.0, others / seconds)
    )


def pair(number: int, quiet: Quiet, tool: str, model: Path, args: argparse.Namespace) -> Pair:
    order = ("google", "tandem") if number % 2 == 0 else ("tandem", "google")
    runs: dict[str, Run] = {}
    rested = True
    for name in order:
        rested = quiet.wait() and rested
        before = (time.monotonic(), busy_s(), children_s())
        figures = google(tool, model, args) if name == "google" else tandem(model, args)
        runs[name] = timed(figures, before)
    calm = all(run.others <= args.others for run in runs.values())
    counted = args.anyway or (rested and (calm or os.name == "nt"))
    return Pair(first=order[0], google=runs["google"], tandem=runs["tandem"], counted=counted)


# -- numbers ------------------------------------------------------------------------------------


def ratio(pairs: list[Pair], figure: str) -> Ratio:
    theirs = [getattr(p.google, figure) for p in pairs]
    ours = [getattr(p.tandem, figure) for p in pairs]
    each = [b / a for a, b in zip(theirs, ours, strict=True)]
    rng = random.Random(20261129)
    medians = sorted(statistics.median(rng.choices(each, k=len(each))) for _ in range(4000))
    return Ratio(
        google=statistics.median(theirs),
        tandem=statistics.median(ours),
        median=statistics.median(each),
        low=medians[round(0.025 * (len(medians) - 1))],
        high=medians[round(0.975 * (len(medians) - 1))],
    )


def report(pairs: list[Pair], args: argparse.Namespace, load: float | None) -> Report:
    counted = [p for p in pairs if p.counted]
    enough = len(counted) >= min(LEAST, args.rounds)
    ratios = {name: ratio(counted, name) for name in FIGURES} if enough else {}
    worst = max((abs(r.median - 1) for r in ratios.values()), default=0.0)
    verdict = "not quiet" if not enough else "agree" if worst <= ALLOWED else "differ"
    names = ("prefill", "decode", "runs", "rounds", "context", "threads", "backend", "others")
    return Report(
        verdict=verdict,
        allowed=ALLOWED,
        ratios=ratios,
        pairs=pairs,
        parameters={
            "model": args.model.name,
            "file_bytes": args.model.stat().st_size,
            **{name: getattr(args, name) for name in names},
        },
        machine={
            "tandem": VERSION,
            "litert_lm": LIBRARY_VERSION,
            "os": platform.platform(),
            "cpu": cpu_name(),
            "cores": cores(),
            "load_average_before": load,
            "date": time.strftime("%Y-%m-%d %H:%M"),
        },
    )


def table(made: Report) -> str:
    counted = sum(p.counted for p in made.pairs)
    lines = [
        f"| {made.parameters['model']} | litert-lm benchmark | tandem bench | ratio [95 %] |",
        "| --- | ---: | ---: | ---: |",
    ]
    for name, r in made.ratios.items():
        interval = f"{r.median:.3f} [{r.low:.3f}, {r.high:.3f}]"
        lines.append(f"| {name} tok/s | {r.google:.1f} | {r.tandem:.1f} | {interval} |")
    told = f"{made.verdict}: {counted} of {len(made.pairs)} pairs counted"
    return "\n".join([*lines, "", f"{told}, allowed difference {100 * ALLOWED:.0f} %."])


def cores() -> int:
    """Cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("model", nargs="?", type=Path, default=DEMO_MODEL)
    parser.add_argument("-p", dest="prefill", type=int, default=256)
    parser.add_argument("-d", dest="decode", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=12, help="pairs to count (12)")
    parser.add_argument("--runs", type=int, default=3, help="sends in each run (3)")
    parser.add_argument("--context", type=int, default=0)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--backend", default="cpu")
    parser.add_argument("--tool", default="", help="command of an installed litert-lm")
    parser.add_argument("--others", type=float, default=0.1, help="cores others may use (0.1)")
    parser.add_argument("--patience", type=float, default=600.0, help="seconds to wait for quiet")
    parser.add_argument("--anyway", action="store_true", help="count pairs of a busy machine too")
    parser.add_argument("--json", dest="file", default="", help="also write everything here")
    args = parser.parse_args()
    if args.backend == "cpu":
        args.threads = args.threads or cores()
    args.context = args.context or inspect(str(args.model)).max_context or 4096
    return args


def main() -> int:
    args = options()
    load = load_average()
    pairs: list[Pair] = []
    quiet = Quiet(args.others, 0.0 if args.anyway else args.patience)
    with tempfile.TemporaryDirectory(prefix="tandem-agree-") as folder:
        # Both tools get a copy: Google's writes its cache beside the model.
        model = Path(folder) / args.model.name
        shutil.copyfile(args.model, model)
        os.environ["TANDEM_HOME"] = str(Path(folder) / "home")
        tool = args.tool or shlex.quote(str(install(Path(folder) / "venv")))
        for fill in (google(tool, model, args), tandem(model, args)):
            print(f"caches filled: {fill[0]:.1f} / {fill[1]:.1f} tok/s", file=sys.stderr)
        for number in range(3 * args.rounds):
            made = pair(number, quiet, tool, model, args)
            pairs.append(made)
            counted = sum(p.counted for p in pairs)
            told = " ".join(f"{n} {getattr(made.tandem, n) / getattr(made.google, n):.3f}"
                            for n in FIGURES)  # fmt: skip
            busy = max(made.google.others, made.tandem.others)
            print(f"pair {number + 1} ({made.first} first): {told}, others {busy:.2f} cores, "
                  f"{counted} of {args.rounds} counted", file=sys.stderr)  # fmt: skip
            if counted >= args.rounds:
                break
    whole = report(pairs, args, load)
    print(table(whole))
    if args.file:
        Path(args.file).write_bytes(msgspec.json.format(msgspec.json.encode(whole), indent=2))
    return {"agree": 0, "differ": 1}.get(whole.verdict, 2)


if __name__ == "__main__":
    raise SystemExit(main())
