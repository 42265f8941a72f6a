"""Does a GPU answer as the CPU does? Some drivers give fluent nonsense without any error.

Asks the model in use the same fixed questions on both, greedily, without speculation, and
compares word for word. Digits and dates show it first. Blocks; runs on the engine worker
with the slot held; the engine is empty afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from app.bench.equality import difference
from app.bench.records import Difference
from engine.protocol import Engine
from engine.types import (
    Backend,
    GenerateRequest,
    LoadOptions,
    Message,
    Outcome,
    Sampling,
    TextPart,
)
from ui import strings_report as words

PROMPTS = (
    "Count from 1 to 30, separated by commas.",
    "Write these three dates again: 4 July 1776, 9 November 1989, 1 January 2000.",
)
MAX_TOKENS = 96
SURELY_SAME = 12
"""Differing only after so many words is rounding, as between kernels of one backend."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """`differences` holds the first place where each pair of answers parts, None if equal."""

    differences: tuple[Difference | None, ...]

    @property
    def alike(self) -> bool:
        return all(d is None or d.word >= SURELY_SAME for d in self.differences)


def compare(engine: Engine, options: LoadOptions, say: Callable[[str], None]) -> Comparison:
    """`options` are those of the GPU. Raises `EngineError` when a load or a send fails."""
    answers = {
        backend: _answers(engine, msgspec.structs.replace(options, backend=backend))
        for backend in (Backend.CPU, options.backend)
    }
    engine.unload()
    found = []
    pairs = zip(PROMPTS, answers[Backend.CPU], answers[options.backend], strict=True)
    for number, (prompt, cpu, gpu) in enumerate(pairs, 1):
        say(f"{prompt}\nCPU: {cpu.text.strip()}\nGPU: {gpu.text.strip()}")
        found.append(difference(str(number), cpu.text, gpu.text, cpu.reason, gpu.reason))
    return Comparison(tuple(found))


def sentence(comparison: Comparison) -> str:
    return words.BACKENDS_ALIKE if comparison.alike else words.BACKENDS_DIFFER


def _answers(engine: Engine, options: LoadOptions) -> list[Outcome]:
    engine.load(options)
    answers = []
    for number, prompt in enumerate(PROMPTS, 1):
        request = GenerateRequest(
            run_id=-number,
            chat_key=f"compare-{number}",
            message=Message(role="user", parts=(TextPart(text=prompt),)),
            sampling=Sampling(top_k=1, seed=0, max_output_tokens=MAX_TOKENS),
            keep=False,
        )
        answers.append(engine.generate(request, lambda _batch: None))
    return answers
