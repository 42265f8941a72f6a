"""By hand: what Stop costs the next turn. Prints JSON.

    python -m tests.bench.stop_resume [MODEL] [--turns 6] [--rounds 8] [--spec]

Builds one long chat and measures the time to the first chunk, and the processor time of the
engine process for the whole short answer, of: an ordinary next turn; the turn after a Stop,
early and late in a long answer; after two and four Stops in a row; after a Stop in the first
turn of a chat that is opened again; a rebuild from the messages. The target is a ratio <= 1.5
for every turn after a Stop. With `--pause 0.8`, about what a person needs, the engine has read the
stopped turn to its end by then (`engine.settling`); without, the next turn comes at once.

The engine prefills in groups (32 tokens and more in the models here), so a few tokens more
cost nothing or a whole group, depending on the length of the question. Every round therefore
asks another question, of 4 to 60 words, and a ratio is made of two turns with the same one.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
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
MORE = (
    "Please tell me more about what happened next to the two friends and the old boat, "
    "since I would like to know how they came home, whom they met on the way, what they had "
    "to eat, where they slept, and why nobody in the village believed a single word of it "
    "when they told the story in the evening by the fire"
)
LENGTHS = (4, 12, 28, 8, 36, 20, 60, 16)
"""Words of the question of each round; eight rounds see every one once."""
LONG = "Tell me a very long story about a cat and a dog that travel through many countries."
SHORT, LONG_ONE, ROW, ANSWER = 4, 28, 12, 4
"""Tokens after which an answer is stopped: early, late, and each of several in a row; models
as small as these end many an answer after forty by themselves. Length of the other answers."""
PER_STEP = 2.4
"""Tokens of one step while drafting, about."""


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

    def stop(self, tokens: int) -> int | None:
        """A long answer, stopped; how many tokens of it stay, None if it ended by itself."""
        steps = max(1, round(tokens / PER_STEP)) if self.spec else tokens
        outcome = self.send(LONG, stop_after=steps)
        if outcome.reason is not FinishReason.STOPPED:
            return None
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
        self.question = QUESTION
        self.ratios: list[dict[str, float]] = []

    def measure(self, kind: str) -> Outcome:
        before = processor_s(self.chat.engine.pid)
        outcome = self.chat.send(self.question)
        used = processor_s(self.chat.engine.pid) - before
        self.first.setdefault(kind, []).append(outcome.chunk_times[0])
        self.processor.setdefault(kind, []).append(used)
        self.resumed.setdefault(kind, set()).add(outcome.resumed)
        return outcome

    def end_round(self, begin: dict[str, int]) -> None:
        """Ratios to the ordinary turns of the same round; `begin` counts what was before."""
        added = {kind: v[begin.get(kind, 0) :] for kind, v in self.first.items()}
        new = {kind: statistics.median(v) for kind, v in added.items() if v}
        self.ratios.append({kind: s / new["ordinary"] for kind, s in new.items()})

    def counts(self) -> dict[str, int]:
        return {kind: len(v) for kind, v in self.first.items()}

    def report(self) -> dict[str, object]:
        def told(values: dict[str, list[float]]) -> object:
            return {kind: round(statistics.median(v), 3) for kind, v in values.items()}

        rounds = {kind: [r[kind] for r in self.ratios if kind in r] for kind in self.first}
        return {
            "first_chunk_s": told(self.first),
            "processor_s": told(self.processor),
            "ratio_median": told(rounds),
            "ratio_mean": {kind: round(statistics.fmean(v), 3) for kind, v in rounds.items()},
            "ratio_rounds": {kind: [round(r, 2) for r in v] for kind, v in rounds.items()},
            "resumed": {kind: sorted(how) for kind, how in self.resumed.items()},
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", nargs="?", default=str(LARGER if LARGER.exists() else DEMO_MODEL))
    parser.add_argument("--turns", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=len(LENGTHS))
    parser.add_argument("--context", type=int, default=2048)
    parser.add_argument("--spec", action="store_true")
    parser.add_argument(
        "--pause", type=float, default=0.0, help="seconds from Stop to send, spent on writing"
    )
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

        def measured(kind: str, *stops: int) -> None:
            """The turn after these Stops, unless an answer was at its end before."""
            tokens = [chat.stop(after) for after in stops]
            if None not in tokens:
                if args.pause:
                    engine.expect("a")  # as the window does when somebody writes
                time.sleep(args.pause)
                kept.setdefault(kind, []).append(sum(t or 0 for t in tokens))
                figures.measure(kind)

        for number in range(args.rounds):
            figures.question = " ".join(MORE.split()[: LENGTHS[number % len(LENGTHS)]]) + "."
            begin = figures.counts()
            for kind, stops in (
                ("after_stop_short", (SHORT,)),
                ("after_stop_long", (LONG_ONE,)),
                ("after_two_stops", (ROW,) * 2),
                ("after_four_stops", (ROW,) * 4),
            ):
                chat.reopen(base)
                figures.measure("rebuild")
                depths.append(figures.measure("ordinary").context_used or 0)
                measured(kind, *stops)
            for kind, tokens in (
                ("reopened_stop_short", SHORT),
                ("reopened_stop_long", LONG_ONE),
            ):
                chat.reopen(base)
                measured(kind, tokens)
            figures.end_round(begin)
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
