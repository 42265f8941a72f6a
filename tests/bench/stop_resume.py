"""By hand: what Stop costs the next turn. Prints JSON.

    python -m tests.bench.stop_resume [MODEL] [--turns 6] [--rounds 5] [--spec]

Builds one long chat and measures the time to the first chunk, and the processor time of the
engine process for the whole short answer, of: an ordinary next turn; the turn after a Stop,
early and late in a long answer; after two Stops in a row; after a Stop in the first turn of
a chat that is opened again; a rebuild from the messages. The target is a ratio <= 1.5 for
every turn after one Stop.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path

from engine.client import HostedEngine
from engine.types import (
    FinishReason,
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
SHORT_STEPS, LONG_STEPS, ANSWER = 4, 150, 4


def say(role: str, text: str) -> Message:
    return Message(role, (TextPart(text),))


class Chat:
    """One chat with its transcript, driven the way the program does it."""

    def __init__(self, engine: HostedEngine, spec: bool) -> None:
        self.engine, self.spec = engine, spec
        self.history: tuple[Message, ...] = ()
        self.run_id = 0

    def send(self, text: str, *, stop_after: int = 0, limit: int = ANSWER) -> Outcome:
        self.run_id += 1
        request = GenerateRequest(
            run_id=self.run_id,
            chat_key="a",
            message=say("user", text),
            history=self.history,
            sampling=Sampling(top_k=1, max_output_tokens=None if stop_after else limit),
            speculative=self.spec,
            record_times=True,
        )

        def sink(batch: TextBatch) -> None:
            if stop_after and batch.steps >= stop_after:
                self.engine.cancel(request.run_id)

        outcome = self.engine.generate(request, sink)
        self.history += (request.message, say("assistant", outcome.text))
        return outcome

    def reopen(self, history: tuple[Message, ...]) -> None:
        self.engine.forget("a")
        self.history = history

    def stop(self, steps: int) -> int:
        """A long answer, stopped; how many tokens of it stay."""
        outcome = self.send(LONG, stop_after=steps)
        if outcome.reason is not FinishReason.STOPPED:
            print(f"the answer ended by itself after {len(outcome.chunk_times)} steps")
        return self.engine.count_tokens(outcome.text)


def processor_s(pid: int | None) -> float:
    """Processor time of a process so far, 0 where the system does not tell it this way."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Figures:
    """Wall and processor seconds of every kind of turn."""

    def __init__(self, chat: Chat) -> None:
        self.chat = chat
        self.first: dict[str, list[float]] = {}
        self.processor: dict[str, list[float]] = {}
        self.resumed: dict[str, set[str]] = {}

    def measure(self, kind: str) -> Outcome:
        before = processor_s(self.chat.engine.pid)
        outcome = self.chat.send(QUESTION)
        used = processor_s(self.chat.engine.pid) - before
        self.first.setdefault(kind, []).append(outcome.chunk_times[0])
        self.processor.setdefault(kind, []).append(used)
        self.resumed.setdefault(kind, set()).add(outcome.resumed)
        return outcome

    def report(self) -> dict[str, object]:
        def middle(values: dict[str, list[float]], pick: Callable[[list[float]], float]) -> object:
            ordinary = pick(values["ordinary"])
            return {
                kind: {"s": round(pick(v), 3), "ratio": round(pick(v) / ordinary, 2)}
                for kind, v in values.items()
                if ordinary
            }

        return {
            "first_chunk_median": middle(self.first, statistics.median),
            "first_chunk_best": middle(self.first, min),
            "processor_median": middle(self.processor, statistics.median),
            "resumed": {kind: sorted(how) for kind, how in self.resumed.items()},
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", nargs="?", default=str(LARGER if LARGER.exists() else DEMO_MODEL))
    parser.add_argument("--turns", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--context", type=int, default=2048)
    parser.add_argument("--spec", action="store_true")
    args = parser.parse_args()
    kept: dict[str, list[int]] = {}
    depths: list[int] = []
    with tempfile.TemporaryDirectory() as cache:
        engine = HostedEngine()
        loaded = engine.load(
            LoadOptions(model_path=args.model, cache_dir=cache, context_tokens=args.context)
        )
        chat = Chat(engine, args.spec)
        figures = Figures(chat)
        for turn in range(args.turns):
            chat.send(f"Question {turn}: {QUESTION} " * 2, limit=40)
        base = chat.history
        for _ in range(args.rounds):
            for kind, stops in (
                ("after_stop_short", (SHORT_STEPS,)),
                ("after_stop_long", (LONG_STEPS,)),
                ("after_two_stops", (LONG_STEPS // 3, LONG_STEPS // 3)),
            ):
                chat.reopen(base)
                figures.measure("rebuild")
                depths.append(figures.measure("ordinary").context_used or 0)
                kept.setdefault(kind, []).append(sum(chat.stop(steps) for steps in stops))
                figures.measure(kind)
            for kind, steps in (
                ("reopened_stop_short", SHORT_STEPS),
                ("reopened_stop_long", LONG_STEPS),
            ):
                chat.reopen(base)
                kept.setdefault(kind, []).append(chat.stop(steps))
                figures.measure(kind)
        engine.close()
    report = {
        "model": Path(args.model).name,
        "speculative": args.spec,
        "context": loaded.context_tokens,
        "depth_tokens": round(statistics.median(depths)),
        "stopped_answer_tokens": {k: round(statistics.median(v)) for k, v in kept.items()},
        **figures.report(),
    }
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
