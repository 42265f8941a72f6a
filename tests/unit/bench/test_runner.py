"""The runner against an engine with invented speeds: order, lives, cancel, partial results."""

from __future__ import annotations

import csv
import os
import sys
import threading
from pathlib import Path

import pytest

from app import auto_spec
from app.auto_spec import AutoChoice, AutoSpec
from app.bench import export, present, report, schedule, workloads
from app.bench import runner as runner_module
from app.bench.peak import OWN, RESET, PeakMeter
from app.bench.progress_line import describe
from app.bench.records import (
    SOURCE_LOG,
    SOURCE_LOG_WEIGHTED,
    Plan,
    Progress,
    Verdict,
    Workload,
)
from app.bench.runner import Cancelled, Runner
from app.bench.store import entry_of
from engine.errors import BackendError, EngineCrashed, EngineError
from engine.types import Backend, FinishReason, GenerateRequest, LoadOptions, SpecMode
from tests.fakes.paced_engine import PacedEngine
from ui import bench_strings as words


@pytest.fixture
def model(tmp_path: Path) -> str:
    path = tmp_path / "some.litertlm"
    path.write_bytes(b"x" * 100)
    return str(path)


def make_plan(model: str, classes: int = 1, runs: int = 2, **more: object) -> Plan:
    prompts = workloads.suite(workloads.CLASSES[:classes], 2)
    return Plan(model_path=model, prompts=prompts, runs=runs, **more)  # type: ignore[arg-type]


def requests(engine: PacedEngine) -> list[GenerateRequest]:
    return [e[1] for e in engine.log if e[0] == "send"]  # type: ignore[misc]


def loads(engine: PacedEngine) -> list[LoadOptions]:
    return [e[1] for e in engine.log if e[0] == "load"]  # type: ignore[misc]


def test_order_alternates_within_pairs(model: str) -> None:
    engine = PacedEngine()
    Runner(engine, make_plan(model)).run()
    sides = [r.speculative for r in requests(engine)]
    assert sides[:8] == [False, True, True, False, False, True, True, False]
    texts = [r.message.text for r in requests(engine)]
    assert texts[0::2] == texts[1::2], "the two sends of a pair have the same prompt"


def test_every_send_is_fresh_greedy_and_capped_alike(model: str) -> None:
    engine = PacedEngine()
    Runner(engine, make_plan(model, max_tokens=77)).run()
    sent = requests(engine)
    assert len({r.chat_key for r in sent}) == len(sent)
    assert len({r.run_id for r in sent}) == len(sent)
    assert all(not r.keep and r.history == () for r in sent)
    assert {(r.sampling.top_k, r.sampling.seed, r.sampling.max_output_tokens) for r in sent} == {
        (1, 42, 77)
    }


def test_each_class_has_an_engine_life_of_its_own_and_its_rate(model: str) -> None:
    """Rates come in the order of lives; the first load speculates in no send, so has none."""
    engine = PacedEngine(rates=[0.6, 0.3])
    record = Runner(engine, make_plan(model, classes=2)).run()
    assert [e[0] for e in engine.log if e[0] != "send"] == ["load", "unload"] * 5
    assert [g.acceptance for g in record.groups] == [0.6, 0.3]
    assert {g.acceptance_source for g in record.groups} == {SOURCE_LOG}
    assert record.overall is not None
    assert record.overall.acceptance == pytest.approx(0.45)
    assert record.overall.acceptance_source == SOURCE_LOG_WEIGHTED
    assert [options.speculative for options in loads(engine)] == [True, True, True, False, True]


def test_life_holds_nothing_but_the_prompts_of_its_class_warm_up_included(model: str) -> None:
    """Otherwise the log's rate over the engine's life would not be the leg's own."""
    engine = PacedEngine()
    plan = make_plan(model, runs=3)
    Runner(engine, plan).run()
    counts = {p.text: 0 for p in plan.prompts}
    for request in requests(engine)[: -2 * len(schedule.memory_prompts(plan.prompts))]:
        counts[request.message.text] += 1
    assert set(counts.values()) == {2 * (plan.runs + 1)}


def test_unknown_rate_stays_unknown(model: str) -> None:
    record = Runner(PacedEngine(), make_plan(model, classes=2)).run()
    assert record.overall is not None
    assert record.overall.acceptance is None
    assert record.overall.acceptance_source == ""


def test_warm_up_is_not_counted(model: str) -> None:
    """The first round is ten times slower; no figure may show it."""

    def speed(request: GenerateRequest, n: int) -> float:
        return (5.0 if n < 4 else 50.0) * (1.6 if request.speculative else 1)

    record = Runner(PacedEngine(speed=speed), make_plan(model, runs=5)).run()
    assert record.overall is not None
    assert record.overall.off.decode is not None
    assert record.overall.off.decode.low == 50.0
    assert record.overall.off.decode.n == 10
    assert record.overall.speedup is not None
    assert record.overall.speedup.value == pytest.approx(1.6)
    assert record.overall.verdict is Verdict.FASTER


def test_drift_of_the_machine_does_not_make_a_verdict(model: str) -> None:
    """The machine slows down by half during the run; both legs suffer alike."""

    def speed(_request: GenerateRequest, n: int) -> float:
        return 60.0 - 0.5 * n

    record = Runner(PacedEngine(speed=speed), make_plan(model, runs=10)).run()
    assert record.overall is not None
    assert record.overall.speedup is not None
    assert record.overall.speedup.value == pytest.approx(1.0, abs=0.01)
    assert record.overall.verdict is Verdict.UNCLEAR


def test_slower_is_said(model: str) -> None:
    engine = PacedEngine(speed=lambda r, n: (45 if r.speculative else 50) + (n % 3) * 0.1)
    record = Runner(engine, make_plan(model, runs=5)).run()
    assert record.overall is not None
    assert record.overall.verdict is Verdict.SLOWER


def test_tokens_per_step_comes_from_the_stream(model: str) -> None:
    record = Runner(PacedEngine(tokens=64, steps_on=25), make_plan(model)).run()
    assert record.overall is not None
    assert record.overall.on.tokens_per_step == pytest.approx(64 / 25)
    assert record.overall.off.tokens_per_step == pytest.approx(1.0)


def test_first_and_later_loads_and_peak_memory(model: str) -> None:
    record = Runner(PacedEngine(), make_plan(model, classes=2)).run()
    assert (record.load_first_s, record.load_warm_s) == (2.0, pytest.approx(0.55))
    assert record.peak_memory == 5_000_000
    assert record.environment.cache == "disk, cold"


def test_each_leg_has_its_memory_read_in_a_process_of_its_own(model: str) -> None:
    """Two more lives, without and with the drafter, in which only that leg runs; they give no
    speed and no load time."""
    engine = PacedEngine()
    plan = make_plan(model, classes=2)
    record = Runner(engine, plan).run()
    last = engine.log[[i for i, e in enumerate(engine.log) if e[0] == "load"][-2] :]
    assert [e[0] for e in last] == ["load", "send", "send", "unload"] * 2
    sides = [e[1].speculative for e in last if e[0] != "unload"]  # type: ignore[attr-defined]
    assert sides == [False] * 3 + [True] * 3
    assert len(record.samples) == 2 * 2 * 2 * 2
    assert record.overall is not None
    assert (record.overall.off.peak_memory, record.overall.on.peak_memory) == (4_000_000, 5_000_000)
    assert record.memory_source == OWN, "nothing is known of a process that is not there"
    assert record.groups[0].off.peak_memory is None
    shown = present.table(record)
    assert shown[0][0][-1] == "4 → 5 MB"
    assert "off 4 MB · on 5 MB" in shown[1][0][-1]
    rows = list(csv.DictReader(export.to_csv([record]).splitlines()))
    told = {(r["test"], r["spec"]): r["leg_peak_memory"] for r in rows}
    assert (told["all", "off"], told["all", "on"], told["writing", "on"]) == (
        "4000000",
        "5000000",
        "",
    )
    assert [line.split(" | ")[-2] for line in export.table(record).splitlines()[-2:]] == [
        "4 MB", "5 MB",
    ]  # fmt: skip
    assert "memory of the legs: own process for each leg" in report.text(record)


def test_first_load_uses_an_empty_cache_of_its_own(model: str, tmp_path: Path) -> None:
    cache = tmp_path / "cache" / "model"
    cache.mkdir(parents=True)
    (cache / "weights.bin").write_bytes(b"1")
    engine = PacedEngine()
    Runner(engine, make_plan(model, cache_dir=str(cache))).run()
    used = {options.cache_dir for options in loads(engine)}
    assert len(used) == 1
    assert used != {str(cache)}
    assert not Path(used.pop()).exists()
    assert [p.name for p in (tmp_path / "cache").iterdir()] == ["model"]


def test_what_a_killed_comparison_left_on_the_disk_goes_with_the_next(
    model: str, tmp_path: Path
) -> None:
    cache = tmp_path / "caches" / "mine"
    old, new = cache.parent / "tandem-bench-old", cache.parent / "tandem-bench-new"
    for folder in (cache, old, new):
        folder.mkdir(parents=True)
        (folder / "file").write_bytes(b"x")
    os.utime(old, (1.0, 1.0))
    Runner(PacedEngine(), make_plan(model, cache_dir=str(cache))).run()
    assert sorted(p.name for p in cache.parent.iterdir()) == ["mine", "tandem-bench-new"]


def test_without_first_load_the_warm_cache_is_used_and_first_is_unknown(
    model: str, tmp_path: Path
) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    (cache / "weights.bin").write_bytes(b"1")
    engine = PacedEngine()
    record = Runner(engine, make_plan(model, cache_dir=str(cache), cold_load=False)).run()
    assert {options.cache_dir for options in loads(engine)} == {str(cache)}
    assert record.load_first_s is None
    assert record.environment.cache == "disk, warm"


def test_equal_and_different_texts(model: str) -> None:
    def text(request: GenerateRequest) -> str:
        tail = (
            "green leaves fall"
            if request.speculative and "lighthouse" in request.message.text
            else ("red leaves fall")
        )
        return f"One two three {tail}"

    plan = make_plan(model)
    record = Runner(PacedEngine(text=text), plan).run()
    assert record.overall is not None
    assert (record.overall.same, record.overall.compared) == (1, 2)
    (found,) = record.differences
    assert (found.prompt_id, found.word) == ("writing-1", 3)
    assert found.off == "One two three red leaves fall"
    assert found.on == "One two three green leaves fall"


def test_sampled_off_leg_is_not_compared_word_for_word(model: str) -> None:
    from engine.types import Sampling

    record = Runner(PacedEngine(), make_plan(model, sampling=Sampling(seed=42))).run()
    assert record.overall is not None
    assert record.overall.compared is None


def test_too_short_answers_give_no_speed(model: str) -> None:
    record = Runner(PacedEngine(tokens=3), make_plan(model, runs=5)).run()
    assert record.overall is not None
    assert record.overall.speedup is None
    assert record.overall.verdict is Verdict.TOO_FEW


def test_engine_without_numbers_gives_unknowns(model: str) -> None:
    record = Runner(PacedEngine(speed=lambda _r, _n: None), make_plan(model)).run()
    assert record.overall is not None
    assert record.overall.off.decode is None
    assert record.overall.speedup is None


def test_cancel_keeps_what_was_measured(model: str) -> None:
    engine = PacedEngine()
    runner = Runner(engine, make_plan(model, classes=2, runs=3))
    engine.on_send = lambda n: runner.cancel() if n == 11 else None
    record = runner.run()
    assert not record.complete
    assert record.stopped == "cancelled"
    assert len(record.samples) == 7, "four warm-ups, then sends 4 to 10; the cut one is dropped"
    assert engine.sends == 12
    assert engine.loaded is None
    assert record.overall is not None
    assert record.overall.speedup is not None
    assert record.overall.speedup.pairs == 3


def test_cancel_during_the_load_kills_it(model: str) -> None:
    engine = PacedEngine()
    runner = Runner(engine, make_plan(model))
    engine.on_load = lambda _n: runner.cancel()
    with pytest.raises(Cancelled):
        runner.run()
    assert engine.sends == 0


def test_cancel_before_the_start(model: str) -> None:
    runner = Runner(PacedEngine(), make_plan(model))
    runner.cancel()
    with pytest.raises(Cancelled):
        runner.run()


def test_crash_in_the_middle_keeps_what_was_measured(model: str) -> None:
    record = Runner(PacedEngine(fail_at=9), make_plan(model, runs=3)).run()
    assert (record.complete, record.stopped) == (False, "crashed")
    assert len(record.samples) == 5


def test_crash_before_any_result_is_raised(model: str) -> None:
    with pytest.raises(EngineCrashed):
        Runner(PacedEngine(fail_at=0), make_plan(model)).run()


def test_failing_load_is_raised(model: str) -> None:
    engine = PacedEngine(load_error=BackendError("no_gpu_adapter"))
    with pytest.raises(BackendError):
        Runner(engine, make_plan(model, backend=Backend.GPU)).run()


def test_progress_counts_every_send_and_knows_the_time_left(model: str) -> None:
    events: list[Progress] = []
    now = iter(range(100_000))
    plan = make_plan(model, classes=2, runs=2)
    Runner(PacedEngine(), plan, events.append, clock=lambda: float(next(now))).run()
    assert events[0].phase == "load_first"
    assert events[0].eta_s is None
    sends = [e for e in events if e.speculative is not None]
    assert [e.done for e in sends] == list(range(schedule.sends(plan)))
    assert all(e.total == 28 for e in events)
    assert sends[-1].eta_s == pytest.approx(1.0)
    assert sends[-1].workload is Workload.REWRITE
    assert [e.phase for e in sends[-4:]] == ["memory"] * 4
    assert sends[-1].off_tps == pytest.approx(50)


def test_depth_sweep_fills_the_context(model: str) -> None:
    engine = PacedEngine(rates=[0.5, 0.9, 0.4, 0.3])
    plan = make_plan(model, classes=1, runs=2, depths=(0.0, 0.5), context_tokens=2048)
    record = Runner(engine, plan).run()
    assert [g.key for g in record.depths] == ["0", "50"]
    assert [g.acceptance for g in record.depths] == [0.4, 0.3]
    history = requests(engine)[-1].history
    tokens = sum(len(m.text) // 4 for m in history)
    assert tokens == pytest.approx(1024, rel=0.1)
    assert [m.role for m in history] == ["user", "assistant"]
    assert record.overall is not None
    assert record.overall.off.decode is not None
    assert record.overall.off.decode.n == 4, "depth sends are no part of the whole"


def padded_plan(model: str, **more: object) -> Plan:
    return Plan(
        model_path=model,
        runs=3,
        prefill_tokens=128,
        decode_tokens=64,
        cold_load=False,
        **more,  # type: ignore[arg-type]
    )


def test_synthetic_test_has_its_own_engine_and_both_legs_in_turn(model: str) -> None:
    engine = PacedEngine()
    plan = padded_plan(model)
    seen: list[Progress] = []
    record = Runner(engine, plan, seen.append).run()
    sends = [e for e in seen if e.speculative is not None]
    assert {describe(e).split(" · ")[0] for e in sends} == {"Synthetic test"}
    assert not any("Your prompt" in describe(e) for e in seen), "padding is nobody's prompt"
    assert [(o.prefill_tokens, o.decode_tokens) for o in loads(engine)][-1] == (128, 64)
    assert [r.speculative for r in requests(engine)] == [False, True, True, False] * 2
    assert {r.sampling.max_output_tokens for r in requests(engine)} == {64}
    assert len(requests(engine)) == schedule.sends(plan)
    assert record.synthetic is not None
    assert record.synthetic.off.decode is not None
    assert record.synthetic.off.decode.n == 3
    assert record.synthetic.on.decode is not None
    assert record.synthetic.speedup is not None
    assert record.synthetic.speedup.value == pytest.approx(1.6)
    assert record.overall is None
    shown = present.result_view(record)
    assert shown.headline == words.VERDICTS["synthetic"], "padding gives no verdict"
    assert shown.tone == ""


def test_synthetic_test_can_do_without_speculation(model: str) -> None:
    engine = PacedEngine()
    plan = padded_plan(model, padded_on=False)
    record = Runner(engine, plan).run()
    assert not any(o.speculative for o in loads(engine))
    assert [r.speculative for r in requests(engine)] == [False] * 4
    assert len(requests(engine)) == schedule.sends(plan)
    assert record.synthetic is not None
    assert record.synthetic.on.decode is None
    assert "--off-only" in export.reproduce(plan)


def test_padded_reply_that_does_not_end_is_stopped_and_said(
    model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner_module, "ON_DEADLINE_S", 0.05)
    ended = threading.Event()

    class Stuck(PacedEngine):
        def cancel(self, run_id: int) -> None:
            super().cancel(run_id)
            ended.set()

    engine = Stuck(rates=[0.4])

    def on_send(_n: int) -> None:
        if requests(engine)[-1].speculative:
            assert ended.wait(10), "nobody stopped the reply"

    engine.on_send = on_send
    record = Runner(engine, padded_plan(model)).run()
    assert record.complete
    assert record.synthetic is not None
    assert record.synthetic.overdue
    assert record.synthetic.off.decode is not None
    assert record.synthetic.off.decode.n == 3
    assert record.synthetic.on.decode is None
    assert record.synthetic.acceptance is None, "the rate of a life that was ended"
    assert words.SYNTHETIC_OVERDUE in report.text(record)


@pytest.mark.parametrize(
    "problem",
    [
        BackendError("gpu_unsupported_ops", "GATHER_ND", ops="GATHER_ND"),
        EngineCrashed(exit="signal 6 (abort)"),
    ],
)
def test_model_that_cannot_load_with_speculation_is_measured_without(
    model: str, problem: EngineError
) -> None:
    engine = PacedEngine(refuses_on=problem)
    plan = make_plan(model, runs=3, depths=(0.0, 0.5), prefill_tokens=128, decode_tokens=64)
    seen: list[Progress] = []
    record = Runner(engine, plan, seen.append).run()
    assert record.complete
    assert record.on_missing is not None
    assert record.on_missing.code == problem.code
    assert not any(r.speculative for r in requests(engine))
    assert record.overall is not None
    assert record.overall.verdict is Verdict.CANNOT
    assert record.overall.off.decode is not None
    assert record.overall.on.decode is None
    assert seen[-1].total == len(requests(engine))
    text = report.text(record)
    assert words.VERDICTS["cannot"] in text
    assert report.why_off_only(record) in text
    assert "Your conversation" not in text
    view = present.result_view(record)
    assert view.partial == report.why_off_only(record)
    assert view.tone == "bad"
    spec = AutoSpec([entry_of(record)]).choice(model, Backend.CPU)
    assert spec.measured
    assert not spec.on
    assert words.CANNOT_HERE in spec.texts[SpecMode.AUTO]
    assert spec.texts[SpecMode.ON] == spec.told == words.CANNOT_HERE
    card = auto_spec.on_card({Backend.CPU: spec, Backend.GPU: AutoChoice()}, Backend.CPU)
    assert (card.text, card.measured) == ("speculation cannot run here", True)


def test_model_that_loads_neither_way_is_an_error(model: str) -> None:
    engine = PacedEngine(load_error=BackendError("no_gpu_adapter"))
    with pytest.raises(BackendError):
        Runner(engine, make_plan(model)).run()
    assert len(loads(engine)) == 2


def test_stop_reasons_and_chunk_times_are_recorded(model: str) -> None:
    record = Runner(PacedEngine(reason=FinishReason.END), make_plan(model, runs=2)).run()
    assert {s.reason for s in record.samples} == {FinishReason.END}
    assert all(bool(s.chunk_times) == (s.repetition == 0) for s in record.samples)


@pytest.mark.skipif(sys.platform != "linux", reason="the system must keep the peak")
def test_peak_of_each_part_is_its_own() -> None:
    """Of this very process: a part that takes 80 MB says so, the next one no longer does."""
    meter = PeakMeter(os.getpid())
    for part, size in (("large", 80_000_000), ("small", 1)):
        with meter.of(part):
            taken = bytearray(size)
            taken[::4096] = b"x" * len(taken[::4096])
            del taken
    peaks = meter.whole(None)
    assert meter.source == RESET
    assert (peaks["large"] or 0) - (peaks["small"] or 0) > 60_000_000
    assert (peaks["all"] or 0) >= (peaks["large"] or 0)


def test_load_that_fails_later_is_no_proof_that_speculation_cannot_run(model: str) -> None:
    """It ran before in this comparison: what was measured stays, and the failure is told."""
    engine = PacedEngine()

    def on_load(number: int) -> None:
        if number == 3:
            engine.load_error = EngineCrashed("crashed")

    engine.on_load = on_load
    record = Runner(engine, make_plan(model, classes=2, runs=3)).run()
    assert (record.stopped, record.on_missing) == ("crashed", None)
    assert [g.verdict for g in record.groups] == [Verdict.FASTER]
