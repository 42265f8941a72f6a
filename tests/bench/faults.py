"""Long fault rounds, by hand: `python -m tests.bench.faults kill 500` or `… fuzz 200`.

`kill` ends the engine process with random signals at random moments; `fuzz` loads damaged
copies of the demo model in the engine process. Prints JSON; exit 1 when anything was wrong.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import resources
from engine import model_file
from engine.client import HostedEngine
from engine.errors import CODES
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


def main() -> int:
    what, count = sys.argv[1], int(sys.argv[2])
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        result = {"kill": kill, "fuzz": fuzz}[what](count, Path(folder))
    result |= {"what": what, "rounds": count, "seconds": round(time.monotonic() - started, 1)}
    print(json.dumps(result, indent=1))
    return 1 if result["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
