"""By hand: Tandem's synthetic figures against Google's own benchmark tool.

    python tests/bench/agree.py [MODEL] [-p 256] [-d 256] [--rounds 9] [--runs 1] [--context N]

Installs `litert-lm==0.18.1` from PyPI into a throwaway environment (or takes `--tool`), then
runs its `litert-lm benchmark` and `tandem bench` by turns, the order changing every round.
Alike on both sides: model file, token counts, context, threads (one per core unless given),
disk cache already filled, one warm-up in each run, speculation off, half precision on a GPU
(the tool's only way). Both report the engine's own figures. Prints the medians over the
rounds, their spread and the ratio Tandem / Google; exit 1 if one median is off by more than
5 %. A busy machine moves single rounds by far more than that: run it on a quiet one.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from engine.model_file import inspect  # noqa: E402
from engine.types import LIBRARY_VERSION  # noqa: E402
from resources import DEMO_MODEL  # noqa: E402

ALLOWED = 0.05
PACKAGE = f"litert-lm=={LIBRARY_VERSION}"


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


def cores() -> int:
    """Cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def span(values: list[float]) -> str:
    return f"{min(values):.1f} to {max(values):.1f}"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("model", nargs="?", type=Path, default=DEMO_MODEL)
    parser.add_argument("-p", dest="prefill", type=int, default=256)
    parser.add_argument("-d", dest="decode", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--context", type=int, default=0)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--backend", default="cpu")
    parser.add_argument("--tool", default="", help="command of an installed litert-lm")
    args = parser.parse_args()
    if args.backend == "cpu":
        args.threads = args.threads or cores()
    args.context = args.context or inspect(str(args.model)).max_context or 4096
    ours: list[tuple[float, float]] = []
    theirs: list[tuple[float, float]] = []
    with tempfile.TemporaryDirectory(prefix="tandem-agree-") as folder:
        # Both tools get a copy: Google's writes its cache beside the model.
        model = Path(folder) / args.model.name
        shutil.copyfile(args.model, model)
        os.environ["TANDEM_HOME"] = str(Path(folder) / "home")
        tool = args.tool or shlex.quote(str(install(Path(folder) / "venv")))
        for number in range(args.rounds):
            for google_now in (True, False) if number % 2 == 0 else (False, True):
                if google_now:
                    theirs.append(google(tool, model, args))
                else:
                    ours.append(tandem(model, args))
            print(f"round {number + 1}: google {theirs[-1]}, tandem {ours[-1]}", file=sys.stderr)
    print(f"| {args.model.name} | litert-lm benchmark | tandem bench | ratio |")
    print("| --- | --- | --- | ---: |")
    worst = 0.0
    for column, name in enumerate(("prefill tok/s", "decode tok/s")):
        a = statistics.median(row[column] for row in theirs)
        b = statistics.median(row[column] for row in ours)
        worst = max(worst, abs(b / a - 1))
        spans = [span([row[column] for row in rows]) for rows in (theirs, ours)]
        print(f"| {name} | {a:.1f} ({spans[0]}) | {b:.1f} ({spans[1]}) | {b / a:.3f} |")
    print(f"Largest difference {100 * worst:.1f} %, allowed {100 * ALLOWED:.0f} %.")
    return 0 if worst <= ALLOWED else 1


if __name__ == "__main__":
    raise SystemExit(main())
