"""Plain values of a comparison: what was asked, what each send gave, what follows.

Everything is an immutable `msgspec.Struct`; a whole `Record` is stored and exported as
JSON. Times in seconds, speeds in tokens per second, sizes in bytes; unknown is None.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from engine.types import Backend, ErrorInfo, FinishReason, Sampling

GREEDY = Sampling(temperature=1.0, top_p=1.0, top_k=1, seed=42)
"""Sampling of the speed legs. While speculating the engine decodes greedily whatever is
asked (engine-facts), so any other sampler would compare two different texts, of different
length and difficulty. Greedy on both sides times the same words, and the same sends then
answer whether the texts are equal."""

DEPTHS = (0.0, 0.25, 0.5, 0.75)
"""Shares of the context filled before the prompt in a depth sweep."""

SOURCE_LOG = "engine log at unload"
SOURCE_LOG_WEIGHTED = "engine log at unload, classes weighted by verify steps"


class Workload(StrEnum):
    """Classes of prompts; the values are what `--class` takes."""

    WRITING = "writing"
    REWRITE = "rewrite"
    SUMMARY = "summary"
    CODE = "code"
    QA = "qa"
    TRANSLATION = "translation"
    OWN = "own"


class Verdict(StrEnum):
    """What the numbers allow to say. `TOO_FEW` is shown as no clear difference, with why;
    `CANNOT` means that the model does not load with speculation on this backend."""

    FASTER = "faster"
    UNCLEAR = "unclear"
    SLOWER = "slower"
    TOO_FEW = "too_few"
    CANNOT = "cannot"


class Prompt(msgspec.Struct, frozen=True):
    """One prompt of the suite. `id` is stable over versions unless the text changes."""

    id: str
    workload: Workload
    text: str


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """All that decides a comparison; two equal plans ask the engine for the same sends.

    `cold_load` measures the first load into an empty cache folder of its own.
    `prefill_tokens`/`decode_tokens` > 0 add the synthetic test; `depths` are shares of
    the context filled before the prompt. `padded_on` False leaves speculation out of the
    synthetic test, as a run of `litert-lm benchmark` without it does.
    """

    model_path: str
    backend: Backend = Backend.CPU
    prompts: tuple[Prompt, ...] = ()
    runs: int = 5
    max_tokens: int = 128
    context_tokens: int = 0
    threads: int = 0
    cache: str = "disk"
    cache_dir: str = ""
    gpu_float16: bool = False
    sampling: Sampling = GREEDY
    cold_load: bool = True
    depths: tuple[float, ...] = ()
    prefill_tokens: int = 0
    decode_tokens: int = 0
    padded_on: bool = True


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """One timed send. `order` counts sends of the comparison, so drift can be seen. `part`
    is "suite", "depth" or "synthetic".

    `chunk_times` (seconds since the send) are kept for the first repetition only.
    """

    prompt_id: str
    workload: Workload
    repetition: int
    speculative: bool
    order: int
    reason: FinishReason
    part: str = "suite"
    depth: float = 0.0
    decode_tps: float | None = None
    prefill_tps: float | None = None
    ttft_s: float | None = None
    elapsed_s: float = 0.0
    decode_tokens: int | None = None
    prefill_tokens: int | None = None
    steps: int | None = None
    context_used: int | None = None
    chunk_times: tuple[float, ...] = ()


class Spread(msgspec.Struct, frozen=True):
    """A sample of one figure. `std` is the sample deviation (n - 1), None for one value."""

    n: int
    mean: float
    std: float | None
    median: float
    low: float
    high: float


class Ratio(msgspec.Struct, frozen=True):
    """On divided by off with a 95 % interval (None from a single pair). `pairs` counts
    (prompt, repetition) pairs."""

    value: float
    low: float | None
    high: float | None
    pairs: int


class Leg(msgspec.Struct, frozen=True, kw_only=True):
    """Figures of one side; each None without a single known value. `peak_memory` is of an
    engine process in which only this side ran (`Record.memory_source`)."""

    decode: Spread | None = None
    prefill: Spread | None = None
    ttft: Spread | None = None
    tokens_per_step: float | None = None
    steps: int | None = None
    decode_tokens: int | None = None
    peak_memory: int | None = None


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """Numbers of one class, one depth or everything. `key` is a `Workload` value, a
    percentage such as "50", or "all"."""

    key: str
    off: Leg
    on: Leg
    speedup: Ratio | None = None
    verdict: Verdict = Verdict.TOO_FEW
    acceptance: float | None = None
    acceptance_source: str = ""
    same: int | None = None
    compared: int | None = None


class Difference(msgspec.Struct, frozen=True):
    """First place where greedy texts of off and on part: `word` counts from 0."""

    prompt_id: str
    word: int
    off: str
    on: str


class Synthetic(msgspec.Struct, frozen=True, kw_only=True):
    """Padded prompt of exactly `prefill_tokens`, `decode_tokens` decoded, no stop token. `on`
    is empty where it was not asked for, cannot run, or did not end in time (`overdue`)."""

    prefill_tokens: int
    decode_tokens: int
    off: Leg
    on: Leg
    speedup: Ratio | None = None
    acceptance: float | None = None
    overdue: bool = False


class Environment(msgspec.Struct, frozen=True, kw_only=True):
    """Where and under what a comparison ran. `cache` is "disk, warm", "off" and so on;
    `power` is "mains", "battery" or None; `load_average` is of one minute before start."""

    tandem: str
    engine: str
    os: str
    cpu: str
    cores: int | None
    threads: int
    backend: Backend
    context_tokens: int
    cache: str
    date: float
    machine: str
    python: str = ""
    adapter: str | None = None
    adapter_type: str | None = None
    software_adapter: bool = False
    memory: int | None = None
    power: str | None = None
    load_average: float | None = None
    gpu_float16: bool = False


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """One comparison, whole or cut short (`complete` False; `stopped` says why: "cancelled"
    or an error code, with the whole error in `failure`). `model_key` names the exact file as
    it was at the start: size, mtime and a hash of its name.
    `on_missing` is why the model cannot load with speculation here; only off was measured.
    `peak_memory` is of the engine process, the largest of all its lives; that of each leg is
    in its `Leg`, and `memory_source` says how it was read ("" where it was not)."""

    id: str
    model: str
    model_key: str
    plan: Plan
    environment: Environment
    samples: tuple[Sample, ...] = ()
    overall: Group | None = None
    groups: tuple[Group, ...] = ()
    depths: tuple[Group, ...] = ()
    synthetic: Synthetic | None = None
    differences: tuple[Difference, ...] = ()
    load_first_s: float | None = None
    load_warm_s: float | None = None
    peak_memory: int | None = None
    memory_source: str = ""
    complete: bool = True
    stopped: str = ""
    failure: ErrorInfo | None = None
    on_missing: ErrorInfo | None = None
    notes: str = ""
    baseline: bool = False


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """Where a running comparison is. `phase`: "load_first", "load", "warmup", "measure",
    "memory", "depth", "synthetic". `done`/`total` count sends; `eta_s` is None until something is
    known. `off_tps`/`on_tps` are means so far."""

    phase: str
    done: int
    total: int
    workload: Workload | None = None
    depth: float = 0.0
    speculative: bool | None = None
    repetition: int = 0
    eta_s: float | None = None
    elapsed_s: float = 0.0
    off_tps: float | None = None
    on_tps: float | None = None
