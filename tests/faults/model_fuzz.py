"""Damaged model files for tests: cut, zeroed, bit-flipped, over headers and sections."""

from __future__ import annotations

import random
import shutil
import threading
from dataclasses import dataclass
from pathlib import Path

from engine import model_file
from engine.client import HostedEngine
from engine.errors import EngineError, ModelFileError
from engine.types import (
    FinishReason,
    GenerateRequest,
    LoadOptions,
    Message,
    ModelInfo,
    Sampling,
    TextPart,
)

LOAD_LIMIT_S = 15.0
"""A load of a damaged file that takes longer is ended as a person would, by Cancel."""


@dataclass(frozen=True, slots=True)
class Damage:
    """One way a file is broken: bytes from `at` on are cut, zeroed or bit-flipped."""

    kind: str
    at: int
    length: int = 0
    bit: int = 0

    def apply(self, source: Path, target: Path) -> Path:
        """Copies `source` to `target`, broken."""
        shutil.copyfile(source, target)
        with target.open("r+b") as file:
            if self.kind == "cut":
                file.truncate(self.at)
                return target
            file.seek(self.at)
            if self.kind == "zero":
                file.write(b"\0" * self.length)
            else:
                byte = file.read(1) or b"\0"
                file.seek(self.at)
                file.write(bytes([byte[0] ^ (1 << self.bit)]))
        return target


def corpus(info: ModelInfo, rng: random.Random, rounds: int) -> list[Damage]:
    """Fixed damages at every edge of the header and each section, then random ones."""
    header_end = min((s.begin for s in info.sections), default=4096)
    edges = [0, 4, 8, 16, 24, 31, header_end - 1]
    edges += [s.begin for s in info.sections] + [s.end - 1 for s in info.sections]
    out = [Damage("flip", at, bit=rng.randrange(8)) for at in edges]
    out += [Damage("cut", at) for at in (0, 1, 7, 32, header_end, info.file_bytes // 2)]
    out += [Damage("cut", info.file_bytes - 1)]
    out += [Damage("zero", s.begin, min(4096, s.end - s.begin)) for s in info.sections]
    while len(out) < rounds:
        section = rng.choice([None, *info.sections])
        low, high = (0, header_end) if section is None else (section.begin, section.end)
        at = rng.randrange(low, high)
        if rng.random() < 0.7:
            out.append(Damage("flip", at, bit=rng.randrange(8)))
        else:
            out.append(Damage("zero", at, min(rng.choice([1, 16, 512, 65536]), high - at)))
    rng.shuffle(out)
    return out[:rounds]


def read_header(path: Path) -> str:
    """ "ok", or the code of the `ModelFileError`; anything else is raised."""
    try:
        info = model_file.inspect(path)
        model_file.check_loadable(info)
    except ModelFileError as error:
        return error.code
    return "ok"


def load_and_ask(engine: HostedEngine, path: Path, cache: Path) -> str:
    """Loads and sends one message in the child; how that went, as one word.

    Only errors of our tree are words; anything else is raised.
    """
    timer = threading.Timer(LOAD_LIMIT_S, engine.kill)
    timer.start()
    try:
        engine.load(LoadOptions(model_path=str(path), cache_dir=str(cache)))
        request = GenerateRequest(
            run_id=1,
            chat_key="fuzz",
            message=Message(role="user", parts=(TextPart(text="Say hello."),)),
            sampling=Sampling(top_k=1, max_output_tokens=8),
            keep=False,
        )
        outcome = engine.generate(request, lambda _batch: None)
    except EngineError as error:
        return error.code
    finally:
        timer.cancel()
        timer.join()
        engine.unload()
    if outcome.reason is FinishReason.ERROR:
        return outcome.error.code if outcome.error else "error without a reason"
    return "answered"
