"""What the tab is told: words, tooltips, baseline, pictures."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec
import pytest

from app.bench import pictures, present, workloads
from app.bench.records import Plan, Record, Sample, Workload
from app.bench.runner import Runner
from app.bench.store import entry_of
from engine.types import Backend, FinishReason
from tests.fakes.paced_engine import PacedEngine
from ui import bench_strings as words


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "some.litertlm"
    path.write_bytes(b"x")
    return path


def make(model: Path, on: float = 80.0, date: float = 0.0, **plan: object) -> Record:
    prompts = workloads.suite(workloads.CLASSES[:2], 1)
    made = Plan(model_path=str(model), prompts=prompts, **plan)  # type: ignore[arg-type]
    engine = PacedEngine(
        speed=lambda r, n: (on if r.speculative else 50.0) + n % 3 * 0.01, rates=[0.575] * 9
    )
    record = Runner(engine, made).run()
    env = msgspec.structs.replace(record.environment, date=date or record.environment.date)
    return msgspec.structs.replace(record, environment=env)


def test_verdict_card_says_everything_once(model: Path) -> None:
    view = present.result_view(make(model))
    assert (view.value, view.tone) == ("1.60×", "accent")
    assert view.headline == words.VERDICTS["faster"]
    assert "2 workloads, 5 runs each, order alternated" in view.detail
    assert "57.5 % of drafts accepted (engine log)" in view.detail
    assert view.detail.endswith("2.0 tokens/step")
    assert view.partial == ""


def test_slower_and_unclear_have_other_tones(model: Path) -> None:
    assert present.result_view(make(model, on=45)).tone == "bad"
    unclear = present.result_view(make(model, on=50))
    assert (unclear.tone, unclear.headline) == ("", words.VERDICTS["unclear"])


def test_table_is_brief_first_and_whole_with_details(model: Path) -> None:
    view = present.result_view(
        make(model, threads=2, depths=(0.5,), prefill_tokens=8, decode_tokens=8)
    )
    assert [row[0] for row in view.rows] == [
        "CPU, 2 threads", "Free writing", "Rewrite", "@ 50%", "pp8+tg8",
    ]  # fmt: skip
    assert view.brief == 1
    assert {len(row) for row in view.rows} == {len(view.head)} == {9}
    assert "median" in view.tips[0][1]
    assert "engine log" in view.tips[0][6]
    assert "tokens/step (from the stream)" in view.tips[0][2]


def test_unknown_numbers_are_dashes(model: Path) -> None:
    engine = PacedEngine(speed=lambda _r, _n: None)
    plan = Plan(model_path=str(model), prompts=workloads.suite(workloads.CLASSES[:1], 1))
    view = present.result_view(Runner(engine, plan).run())
    assert view.value == "—"
    assert view.rows[0][1:4] == ("—", "—", "—")
    assert "0.0" not in " ".join(view.rows[0])


def test_against_the_baseline_in_words_and_direction(model: Path) -> None:
    base, other = make(model, on=80), make(model, on=96)
    view = present.result_view(other, baseline=base)
    row = view.rows[1]
    assert row[0] == words.AGAINST_BASELINE
    assert row[1:6] == ("same", "20 % better", "20 % better", "same", "same")
    assert view.brief == 2
    assert present.result_view(base, baseline=base).brief == 1


def test_a_baseline_of_other_prompts_is_told(model: Path) -> None:
    one, other = make(model), make(model, max_tokens=64)
    assert words.OTHER_PROMPTS not in present.result_view(one, baseline=one).warning
    assert words.OTHER_PROMPTS in present.result_view(other, baseline=one).warning
    elsewhere = present.result_view(make(model, threads=2), baseline=make(model, threads=1))
    assert "The baseline was measured elsewhere: CPU, 1 thread." in elsewhere.warning


def test_history_cards(model: Path) -> None:
    now = time.mktime((2026, 11, 29, 18, 0, 0, 0, 0, -1))
    base = msgspec.structs.replace(entry_of(make(model, date=now - 7_000)), baseline=True)
    slow = entry_of(make(model, on=45, date=now - 86_400))
    gpu = msgspec.structs.replace(
        entry_of(make(model, on=45, date=now - 86_400 * 10, backend=Backend.GPU)),
        adapter="NVIDIA H200",
        model="other",
    )
    view = present.history_view([base, slow, gpu], [base, slow, gpu], base.id, now)
    assert [row.subtitle for row in view.rows] == [
        "CPU · today 16:03 · baseline",
        "CPU · yesterday 18:00 · 44 % worse",
        "GPU NVIDIA H200 · 19 Nov · slower: leave it off",
    ]
    assert [row.tone for row in view.rows] == ["accent", "bad", "bad"]
    assert (view.models, view.backends) == (("other", "some"), (Backend.CPU, Backend.GPU))


def test_partial_result_says_so(model: Path) -> None:
    record = msgspec.structs.replace(make(model), complete=False, stopped="cancelled")
    assert present.result_view(record).partial == words.PARTIAL
    crashed = msgspec.structs.replace(record, stopped="crashed")
    assert present.result_view(crashed).partial.startswith("Cut short by an error")
    row = present.history_row(entry_of(record), None)
    assert row.subtitle.endswith(words.CUT_SHORT)


def test_software_adapter_is_flagged(model: Path) -> None:
    record = make(model)
    env = msgspec.structs.replace(record.environment, software_adapter=True)
    view = present.result_view(msgspec.structs.replace(record, environment=env))
    assert words.SOFTWARE in view.warning


def test_busy_computer_is_told(model: Path) -> None:
    record = make(model)
    busy = msgspec.structs.replace(record.environment, load_average=9.4, cores=2)
    quiet = msgspec.structs.replace(record.environment, load_average=0.4, cores=2)
    view = present.result_view(msgspec.structs.replace(record, environment=busy))
    assert "load 9.4 on 2 cores" in view.warning
    assert "load 9.4 on 2 cores" in view.report
    assert present.result_view(msgspec.structs.replace(record, environment=quiet)).warning == ""


def sample(times: tuple[float, ...], tokens: int) -> Sample:
    return Sample(
        prompt_id="p",
        workload=Workload.CODE,
        repetition=0,
        speculative=True,
        order=0,
        reason=FinishReason.LIMIT,
        decode_tokens=tokens,
        chunk_times=times,
    )


def test_latency_spreads_a_chunk_over_its_tokens() -> None:
    """A chunk of two tokens every 20 ms is 10 ms per token, not 20."""
    steady = sample(tuple(0.02 * i for i in range(33)), 66)
    assert pictures.token_latencies(steady) == pytest.approx([10.0] * 8)
    assert pictures.token_latencies(sample((0.1,), 1)) == []
    assert pictures.token_latencies(sample((), 50)) == []


def test_pictures_without_data_say_how_to_get_them(model: Path) -> None:
    view = present.result_view(make(model))
    empty = {p.key: p.empty for p in view.pictures}
    assert empty["depth"] == words.NO_DEPTH
    assert empty["history"] == words.NO_BARS


def test_history_picture_is_ordered_by_date_with_a_line_per_backend(model: Path) -> None:
    entries = [
        entry_of(make(model, on=on, date=date, backend=backend))
        for on, date, backend in (
            (80, 30.0, Backend.CPU),
            (60, 10.0, Backend.CPU),
            (40, 20.0, Backend.GPU),
        )
    ]
    picture = pictures.history("some", entries)
    assert [line.label for line in picture.lines] == ["CPU", "GPU"]
    assert picture.lines[0].x == (0.0, 2.0)
    assert picture.lines[0].y == pytest.approx((1.2, 1.6), abs=0.01)
    assert picture.level == 1.0
