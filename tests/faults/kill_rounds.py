"""Ends the engine process with random signals at random moments and goes on using it."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from engine.client import HostedEngine
from engine.errors import EngineCrashed, EngineError
from engine.types import GenerateRequest, LoadOptions, Message, Sampling, TextPart

SIGNALS = (
    signal.SIGKILL,
    signal.SIGTERM,
    signal.SIGSEGV,
    signal.SIGABRT,
    signal.SIGBUS,
    signal.SIGILL,
    signal.SIGFPE,
    signal.SIGINT,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGPIPE,
)


@dataclass
class Tally:
    """What happened: how rounds ended, and texts that were wrong."""

    ends: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


def _request(run_id: int) -> GenerateRequest:
    return GenerateRequest(
        run_id=run_id,
        chat_key="kill",
        message=Message(role="user", parts=(TextPart(text="Tell me a long story."),)),
        sampling=Sampling(top_k=1, max_output_tokens=400),
        speculative=run_id % 2 == 0,
    )


def _shoot(engine: HostedEngine, rng: random.Random, done: threading.Event) -> None:
    done.wait(rng.uniform(0.0, 0.8))
    pid = engine.pid
    if pid is not None and not done.is_set():
        try:
            os.kill(pid, rng.choice(SIGNALS))
        except ProcessLookupError:
            pass


def rounds(count: int, model: Path, folder: Path, seed: int = 1) -> Tally:
    """`count` rounds of load, send, signal. Every round must end in an outcome or one error
    of our tree, within a bounded time; after the last the engine must still answer."""
    rng = random.Random(seed)
    tally = Tally()
    options = LoadOptions(model_path=str(model), cache_dir=str(folder / "cache"))
    engine = HostedEngine(log_path=folder / "engine.log")
    loaded = False
    try:
        for number in range(count):
            done = threading.Event()
            shooter = threading.Thread(target=_shoot, args=(engine, rng, done))
            started = time.monotonic()
            shooter.start()
            try:
                if not loaded:
                    engine.load(options)
                    loaded = True
                outcome = engine.generate(_request(number + 1), lambda _batch: None)
                tally.ends[f"outcome {outcome.reason}"] += 1
            except EngineCrashed as error:
                loaded = False
                tally.ends[f"crashed: {error.params.get('exit', '?')}"] += 1
                if not error.params.get("exit"):
                    tally.wrong.append(f"round {number}: no exit in words")
            except EngineError as error:
                loaded = False
                tally.ends[f"error {error.code}"] += 1
            done.set()
            shooter.join()
            if time.monotonic() - started > 30:
                tally.wrong.append(f"round {number}: took {time.monotonic() - started:.0f} s")
        engine.load(options)
        if not engine.generate(_request(count + 1), lambda _batch: None).text:
            tally.wrong.append("no answer after the last round")
    finally:
        engine.close()
    return tally
