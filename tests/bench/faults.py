"""Long fault rounds, by hand: `python -m tests.bench.faults kill 500` or `… fuzz 200`.

`kill` ends the engine process with random signals at random moments; `fuzz` loads damaged
copies of the demo model in the engine process. In the real window (needs a display or Xvfb):
`switch 30` changes the model while streaming, `stops 100` stops and sends again, `suspend 60`
lets all processes sleep for so many seconds as a closed laptop does. Prints JSON; exit 1
when anything was wrong.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import psutil

import resources
from engine import model_file
from engine.client import HostedEngine
from engine.errors import CODES
from tests.fakes.variants import make_variant
from tests.faults import kill_rounds, model_fuzz


def kill(count: int, folder: Path) -> dict[str, object]:
    tally = kill_rounds.rounds(count, resources.DEMO_MODEL, folder)
    return {"ends": dict(tally.ends), "wrong": tally.wrong}


def fuzz(count: int, folder: Path) -> dict[str, object]:
    info = model_file.inspect(resources.DEMO_MODEL)
    words: Counter[str] = Counter()
    wrong: list[str] = []
    engine = HostedEngine(log_path=folder / "engine.log")
    for damage in model_fuzz.corpus(info, random.Random(1), count):
        broken = damage.apply(resources.DEMO_MODEL, folder / "broken.litertlm")
        word = model_fuzz.load_and_ask(engine, broken, folder / "cache")
        words[word] += 1
        if word != "answered" and word not in CODES:
            wrong.append(f"{damage}: {word}")
    engine.close()
    return {"ends": dict(words), "wrong": wrong}


def _window(name: str, folder: Path, **env: str) -> subprocess.Popen[str]:
    """`tests.e2e.drive_resilience` in a process of its own."""
    plain = make_variant(resources.DEMO_MODEL, folder / "plain.litertlm", plain=True)
    values = dict(os.environ, TANDEM_HOME=str(folder / "home"))
    values |= {"TANDEM_TEST_PLAIN_MODEL": str(plain), **env}
    command = [sys.executable, "-m", "tests.e2e.drive_resilience", name]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, env=values, stdout=pipe, stderr=pipe, text=True)


def _judge(process: subprocess.Popen[str]) -> dict[str, object]:
    _, errors = process.communicate()
    wrong = [] if process.returncode == 0 else [errors[-2000:]]
    return {"exit": process.returncode, "wrong": wrong}


def switch(count: int, folder: Path) -> dict[str, object]:
    return _judge(_window("switches", folder, TANDEM_TEST_ROUNDS=str(count)))


def stops(count: int, folder: Path) -> dict[str, object]:
    return _judge(_window("stops", folder, TANDEM_TEST_ROUNDS=str(count)))


def suspend(seconds: int, folder: Path) -> dict[str, object]:
    """All processes of the program sleep; before and after, answers are streamed."""
    process = _window("suspended", folder, TANDEM_TEST_SECONDS=str(seconds + 25))
    if process.stdout is not None:
        process.stdout.readline()
    time.sleep(3)
    asleep = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
    for one in asleep:
        one.suspend()
    time.sleep(seconds)
    for one in reversed(asleep):
        one.resume()
    return _judge(process)


ROUNDS = {"kill": kill, "fuzz": fuzz, "switch": switch, "stops": stops, "suspend": suspend}


def main() -> int:
    what, count = sys.argv[1], int(sys.argv[2])
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        result = ROUNDS[what](count, Path(folder))
    result |= {"what": what, "rounds": count, "seconds": round(time.monotonic() - started, 1)}
    print(json.dumps(result, indent=1))
    return 1 if result["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
