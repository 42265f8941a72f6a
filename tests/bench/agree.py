"""By hand: Tandem's synthetic figures against Google's own benchmark tool.

    python tests/bench/agree.py [MODEL] [-p 256] [-d 256] [--rounds 3] [--runs 5] [--context N]

Installs `litert-lm==0.18.1` from PyPI into a throwaway environment, then runs its
`litert-lm benchmark` and `tandem bench` by turns with the same model, token counts, context,
threads, cache mode and warm-up, speculation off. Prints each figure and the ratio Tandem /
Google of the medians; exit 1 if one is off by more than 5 %. Run it on a quiet machine.
"""

from __future__ import annotations

import argparse
import json
import os
import re
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


def google(tool: Path, model: Path, args: argparse.Namespace) -> tuple[float, float]:
    """(prefill, decode) in tokens per second, the tool's averages."""
    command = [
        str(tool), "benchmark", str(model), "-p", str(args.prefill), "-d", str(args.decode),
        "--runs", str(args.runs), "--max-num-tokens", str(args.context), "--backend", args.backend,
        "--cache", "disk", "--speculative-decoding", "false",
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
        args.backend, "--no-first-load", "--no-save", "--json",
    ]  # fmt: skip
    if args.threads:
        command += ["--threads", str(args.threads)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
    leg = json.loads(done.stdout)["synthetic"]["off"]
    return leg["prefill"]["mean"], leg["decode"]["mean"]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("model", nargs="?", type=Path, default=DEMO_MODEL)
    parser.add_argument("-p", dest="prefill", type=int, default=256)
    parser.add_argument("-d", dest="decode", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--context", type=int, default=0)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--backend", default="cpu")
    args = parser.parse_args()
    args.context = args.context or inspect(str(args.model)).max_context or 4096
    ours: list[tuple[float, float]] = []
    theirs: list[tuple[float, float]] = []
    with tempfile.TemporaryDirectory(prefix="tandem-agree-") as folder:
        # Both tools get a copy: Google's writes its cache beside the model.
        model = Path(folder) / args.model.name
        shutil.copyfile(args.model, model)
        os.environ["TANDEM_HOME"] = str(Path(folder) / "home")
        tool = install(Path(folder) / "venv")
        for number in range(args.rounds):
            turns = [lambda: theirs.append(google(tool, model, args)),
                     lambda: ours.append(tandem(model, args))]  # fmt: skip
            for turn in turns if number % 2 == 0 else reversed(turns):
                turn()
            print(f"round {number + 1}: google {theirs[-1]}, tandem {ours[-1]}", file=sys.stderr)
    print(f"| {args.model.name} | litert-lm benchmark | tandem bench | ratio |")
    print("| --- | ---: | ---: | ---: |")
    worst = 0.0
    for column, name in enumerate(("prefill tok/s", "decode tok/s")):
        a = statistics.median(row[column] for row in theirs)
        b = statistics.median(row[column] for row in ours)
        worst = max(worst, abs(b / a - 1))
        print(f"| {name} | {a:.1f} | {b:.1f} | {b / a:.3f} |")
    print(f"Largest difference {100 * worst:.1f} %, allowed {100 * ALLOWED:.0f} %.")
    return 0 if worst <= ALLOWED else 1


if __name__ == "__main__":
    raise SystemExit(main())
