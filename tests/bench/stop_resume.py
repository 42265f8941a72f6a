"""By hand: what Stop costs the next turn. Prints JSON.

    python tests/bench/stop_resume.py [MODEL] [--turns 6] [--rounds 5] [--spec]

Builds one long chat and measures, with the stream's first chunk and the engine's own TTFT:
an ordinary next turn (resident), the turn after a Stop (checkpoint, with the stopped
exchange sent along) and a rebuild from messages. The target is stop / ordinary <= 1.5.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from engine.client import HostedEngine
from engine.types import (
    GenerateRequest,
    LoadOptions,
    Message,
    Outcome,
    Sampling,
    TextBatch,
    TextPart,
)
from resources import DEMO_MODEL

LARGER = Path(__file__).resolve().parents[3] / "shared" / "models" / "smollm2-135m-mtp.litertlm"
QUESTION = "Tell me a little more about that, please, in a few plain sentences."
LONG = "Tell me a very long story about a cat and a dog that travel through many countries."


def say(role: str, text: str) -> Message:
    return Message(role, (TextPart(text),))


class Chat:
    """One chat with its transcript, driven the way the program does it."""

    def __init__(self, engine: HostedEngine, spec: bool) -> None:
        self.engine, self.spec = engine, spec
        self.history: tuple[Message, ...] = ()
        self.run_id = 0

    def send(self, text: str, *, stop_after: int = 0, limit: int = 24, key: str = "a") -> Outcome:
        self.run_id += 1
        request = GenerateRequest(
            run_id=self.run_id,
            chat_key=key,
            message=say("user", text),
            history=self.history,
            sampling=Sampling(top_k=1, max_output_tokens=limit),
            speculative=self.spec,
            record_times=True,
        )

        def sink(batch: TextBatch) -> None:
            if stop_after and batch.steps >= stop_after:
                self.engine.cancel(request.run_id)

        outcome = self.engine.generate(request, sink)
        if key == "a":
            self.history += (request.message, say("assistant", outcome.text))
        return outcome


def first(outcome: Outcome) -> tuple[float, float]:
    """(seconds to the first chunk, the engine's TTFT)."""
    numbers = outcome.benchmark
    return outcome.chunk_times[0], (numbers.ttft_s or 0.0) if numbers else 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", nargs="?", default=str(LARGER if LARGER.exists() else DEMO_MODEL))
    parser.add_argument("--turns", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--spec", action="store_true")
    args = parser.parse_args()
    seen: dict[str, list[tuple[float, float]]] = {"ordinary": [], "after_stop": [], "rebuild": []}
    depths: list[int] = []
    with tempfile.TemporaryDirectory() as cache:
        engine = HostedEngine()
        loaded = engine.load(
            LoadOptions(model_path=args.model, cache_dir=cache, context_tokens=2048)
        )
        chat = Chat(engine, args.spec)
        for turn in range(args.turns):
            chat.send(f"Question {turn}: {QUESTION} " * 2, limit=40)
        for _ in range(args.rounds):
            kept = chat.history
            ordinary = chat.send(QUESTION)
            depths.append(ordinary.context_used or 0)
            stopped = chat.send(LONG, stop_after=4, limit=200)
            after = chat.send(QUESTION)
            rebuilt = chat.send(QUESTION, key="other")
            engine.forget("other")
            how = (ordinary.resumed, stopped.reason.value, after.resumed, rebuilt.resumed)
            assert how == ("resident", "stopped", "checkpoint", "rebuilt"), how
            seen["ordinary"].append(first(ordinary))
            seen["after_stop"].append(first(after))
            seen["rebuild"].append(first(rebuilt))
            chat.history = kept
            chat.send(QUESTION)
        engine.close()
    median = {k: statistics.median(a for a, _ in v) for k, v in seen.items()}
    report = {
        "model": Path(args.model).name,
        "speculative": args.spec,
        "context": loaded.context_tokens,
        "depth_tokens": depths,
        "first_chunk_s": {k: round(v, 4) for k, v in median.items()},
        "engine_ttft_s": {k: round(statistics.median(b for _, b in v), 4) for k, v in seen.items()},
        "after_stop_to_ordinary": round(median["after_stop"] / median["ordinary"], 2),
        "rebuild_to_ordinary": round(median["rebuild"] / median["ordinary"], 2),
    }
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
