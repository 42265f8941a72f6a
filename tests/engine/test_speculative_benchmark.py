"""Speculation off against on with a real model, one engine per leg.

Two forms. The gated one measures the model a person names:

    LITERTLM_TEST_MODEL=/path/model.litertlm LITERTLM_TEST_BENCH=1 [LITERTLM_TEST_BACKEND=gpu]

and prints the six-column Markdown row (also into GITHUB_STEP_SUMMARY). The other always runs
on the bundled model with few repetitions. A ratio below 1 is a warning, never a failure:
speed is measured here, not required.
"""

from __future__ import annotations

import os
import statistics
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.bench import export, summary, workloads
from app.bench import runner as runner_module
from app.bench.records import GREEDY, Plan, Record, Sample, Workload
from app.bench.runner import Runner
from engine.client import HostedEngine
from engine.model_file import inspect
from engine.types import (
    Backend,
    FinishReason,
    GenerateRequest,
    LoadOptions,
    Message,
    Outcome,
    Sampling,
    TextPart,
)

PROMPT = "Write a detailed paragraph about how the printing press changed the world."
SAMPLING = Sampling(temperature=1.0, top_p=0.95, top_k=40, seed=42, max_output_tokens=128)
CONTEXT = 2048

GATED_MODEL = os.environ.get("LITERTLM_TEST_MODEL", "")
GATED = os.environ.get("LITERTLM_TEST_BENCH") == "1" and Path(GATED_MODEL).is_file()
GATED_BACKEND = Backend(os.environ.get("LITERTLM_TEST_BACKEND") or "cpu")


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[HostedEngine]:
    made = HostedEngine(log_path=tmp_path / "engine.log")
    yield made
    made.close()


def leg(engine: HostedEngine, model: str, backend: Backend, cache: Path, *, on: bool) -> Outcome:
    """One blocking send on an engine of its own, made with or without the drafter."""
    largest = inspect(model).max_context or CONTEXT
    engine.load(
        LoadOptions(
            model_path=model,
            backend=backend,
            context_tokens=min(CONTEXT, largest),
            cache_dir=str(cache),
            speculative=on,
        )
    )
    request = GenerateRequest(
        run_id=1 + on,
        chat_key=f"leg-{on}",
        message=Message("user", (TextPart(PROMPT),)),
        sampling=SAMPLING,
        speculative=on,
        keep=False,
    )
    outcome = engine.generate(request, lambda _batch: None)
    engine.unload()
    return outcome


def check_leg(outcome: Outcome) -> None:
    assert outcome.reason in (FinishReason.END, FinishReason.LIMIT), outcome.error
    assert outcome.benchmark is not None
    assert outcome.benchmark.decode_tps is not None
    assert outcome.benchmark.decode_tps > 0
    text = outcome.text.strip()
    assert len(text) >= 16
    assert len(set(text)) > 3


def compare(engine: HostedEngine, model: str, backend: Backend, cache: Path) -> str:
    """Runs both legs; the Markdown table of one row."""
    outcomes = [leg(engine, model, backend, cache, on=on) for on in (False, True)]
    for outcome in outcomes:
        check_leg(outcome)
    samples = [_sample(outcome, on=bool(i)) for i, outcome in enumerate(outcomes)]
    group = summary.group("all", samples)
    assert group.speedup is not None
    ratio = group.speedup.value
    if ratio < 1:
        warnings.warn(f"speculation is slower here: {ratio:.2f}x", stacklevel=2)
    return f"{export.ROW_HEAD}\n{export.row(backend.value, group.off, group.on, ratio)}"


def _sample(outcome: Outcome, *, on: bool) -> Sample:
    assert outcome.benchmark is not None
    return Sample(
        prompt_id="printing",
        workload=Workload.WRITING,
        repetition=0,
        speculative=on,
        order=int(on),
        reason=outcome.reason,
        decode_tps=outcome.benchmark.decode_tps,
        ttft_s=outcome.benchmark.ttft_s,
        decode_tokens=outcome.benchmark.decode_tokens,
        steps=outcome.benchmark.steps,
    )


@pytest.mark.skipif(not GATED, reason="set LITERTLM_TEST_MODEL and LITERTLM_TEST_BENCH=1")
@pytest.mark.timeout(1800)
def test_named_model_off_and_on(
    engine: HostedEngine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        rows = compare(engine, GATED_MODEL, GATED_BACKEND, tmp_path / "cache")
    with capsys.disabled():
        print(f"\n{rows}", file=sys.stderr)
    export.append_step_summary(rows, GATED_BACKEND.value)


@pytest.mark.filterwarnings("default:speculation is slower")
def test_bundled_model_off_and_on(engine: HostedEngine, demo_model: Path, tmp_path: Path) -> None:
    rows = compare(engine, str(demo_model), Backend.CPU, tmp_path / "cache")
    cells = rows.splitlines()[2].strip("| ").split(" | ")
    assert len(cells) == 6
    assert cells[0] == "cpu"
    assert cells[3].endswith("x")


@pytest.fixture(scope="module")
def measured(demo_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Record:
    """A small whole comparison with everything in it, made once."""
    folder = tmp_path_factory.mktemp("measured")
    made = HostedEngine(log_path=folder / "engine.log")
    plan = Plan(
        model_path=str(demo_model),
        prompts=workloads.suite((Workload.WRITING, Workload.CODE), 1),
        runs=2,
        max_tokens=48,
        cache_dir=str(folder / "cache"),
        depths=(0.0, 0.5),
        prefill_tokens=64,
        decode_tokens=32,
    )
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(runner_module, "ON_DEADLINE_S", 3.0)
            return Runner(made, plan).run()
    finally:
        made.close()


def test_every_leg_was_measured_and_wrote_greedily_the_same(measured: Record) -> None:
    assert measured.complete
    suite = [s for s in measured.samples if s.part == "suite"]
    assert len(suite) == 8
    assert all(s.decode_tps and s.ttft_s and s.prefill_tps for s in suite)
    assert measured.overall is not None
    assert measured.overall.compared == 2
    assert (measured.overall.same or 0) + len(measured.differences) == 2


def test_acceptance_comes_from_the_log_of_each_class(measured: Record) -> None:
    for group in (*measured.groups, *measured.depths):
        assert group.acceptance is not None
        assert 0 < group.acceptance < 1
        assert group.acceptance_source == "engine log at unload"


def test_tokens_per_step_stays_within_what_the_log_allows(measured: Record) -> None:
    """A step gives one token and at most the accepted share of the three it drafted; the last
    step of a turn is cut, so the figure from the stream lies below the log's."""
    for group in measured.groups:
        assert group.on.tokens_per_step is not None
        assert group.acceptance is not None
        assert 1.1 < group.on.tokens_per_step < 1 + 3 * group.acceptance + 0.15
        assert group.off.tokens_per_step == pytest.approx(1.0, abs=0.1)


def test_rate_times_time_is_the_token_count(measured: Record) -> None:
    """The engine's own decode speed against the clock of the stream, on both legs: most sends
    agree. (The clock alone also counts what a busy machine does in between.)"""
    for on in (False, True):
        shares = [
            (s.ttft_s + s.decode_tokens / s.decode_tps) / s.elapsed_s
            for s in measured.samples
            if s.part == "suite" and s.speculative is on and s.decode_tps
            if s.decode_tokens is not None and s.ttft_s is not None
        ]
        assert len(shares) == 4
        assert 0.6 < statistics.median(shares) < 1.1


def test_depth_is_really_reached(measured: Record) -> None:
    deep = [s for s in measured.samples if s.part == "depth" and s.depth == 0.5]
    assert deep
    for sample in deep:
        assert sample.context_used is not None
        before = sample.context_used - (sample.decode_tokens or 0)
        assert before == pytest.approx(0.5 * measured.environment.context_tokens, rel=0.15)


def test_synthetic_counts_are_exact(measured: Record) -> None:
    padded = [s for s in measured.samples if s.part == "synthetic"]
    assert sum(not s.speculative for s in padded) == 2
    # Whether engine 0.18.1 ends a padded reply while speculating depends on its length.
    assert measured.synthetic is not None
    assert measured.synthetic.overdue is not any(s.speculative for s in padded)
    for sample in padded:
        assert sample.prefill_tokens == pytest.approx(64, abs=1)
        assert sample.decode_tokens == pytest.approx(32, abs=4)
        assert sample.reason is FinishReason.LIMIT


def test_environment_and_memory_are_known(measured: Record) -> None:
    assert measured.environment.engine == "0.18.1"
    assert measured.environment.context_tokens == 1024
    assert measured.environment.cache == "disk, cold"
    assert measured.peak_memory is not None
    assert measured.peak_memory > 20_000_000
    assert measured.load_first_s is not None
    assert measured.load_warm_s is not None


def test_memory_of_each_leg_is_its_own(measured: Record) -> None:
    """The drafter takes some MB; without it the process is smaller."""
    whole = measured.overall
    assert whole is not None
    off, on = whole.off.peak_memory, whole.on.peak_memory
    assert off is not None
    assert on is not None
    assert 20_000_000 < off < on <= (measured.peak_memory or 0)
    assert measured.memory_source.startswith("own process for each leg")
    for group in measured.groups:
        assert (group.off.peak_memory or 0) <= off


def test_engine_does_not_tell_the_size_of_the_program_that_started_it(
    engine: HostedEngine, demo_model: Path, tmp_path: Path
) -> None:
    large = bytearray(600_000_000)
    large[::4096] = b"x" * len(large[::4096])
    engine.load(LoadOptions(model_path=str(demo_model), cache_dir=str(tmp_path / "cache")))
    peak = engine.unload().peak_memory
    assert peak is not None
    assert 20_000_000 < peak < len(large) / 2


def test_cancel_in_the_middle_of_a_send(
    engine: HostedEngine, demo_model: Path, tmp_path: Path
) -> None:
    """From another thread; the engine can be used again at once."""
    import threading

    plan = Plan(
        model_path=str(demo_model),
        prompts=workloads.suite((Workload.WRITING,), 1),
        runs=50,
        cache_dir=str(tmp_path / "cache"),
        cold_load=False,
    )
    enough = threading.Event()
    runner = Runner(engine, plan, lambda e: enough.set() if e.done == 6 else None)

    def stop() -> None:
        assert enough.wait(60)
        runner.cancel()

    stopper = threading.Thread(target=stop)
    stopper.start()
    record = runner.run()
    stopper.join()
    assert record.stopped == "cancelled"
    assert 4 <= len(record.samples) < 20
    assert record.overall is not None
    assert record.overall.off.decode is not None
    again = leg(engine, str(demo_model), Backend.CPU, tmp_path / "cache", on=False)
    check_leg(again)


def test_load_without_a_drafter_is_refused_with_a_code(
    engine: HostedEngine, plain_model: Path, tmp_path: Path
) -> None:
    from engine.errors import LoadError

    plan = Plan(
        model_path=str(plain_model),
        prompts=workloads.suite((Workload.WRITING,), 1),
        cache_dir=str(tmp_path / "cache"),
        sampling=GREEDY,
    )
    with pytest.raises(LoadError) as refused:
        Runner(engine, plan).run()
    assert refused.value.code == "no_drafter"
