"""What leaves the program: rows, tables, CSV, JSON and the command that repeats a result."""

from __future__ import annotations

import csv
import io
import shlex
from pathlib import Path

import msgspec
import pytest

from app.bench import cli, export, report, workloads
from app.bench.records import GREEDY, Leg, Plan, Record, Spread, Workload
from app.bench.runner import Runner
from engine.types import Backend
from tests.fakes.paced_engine import PacedEngine


@pytest.fixture
def record(tmp_path: Path) -> Record:
    path = tmp_path / "my model.litertlm"
    path.write_bytes(b"x")
    plan = Plan(
        model_path=str(path),
        prompts=workloads.suite(workloads.CLASSES[:2], 1),
        runs=3,
        depths=(0.0, 0.5),
        prefill_tokens=64,
        decode_tokens=32,
    )
    speed = lambda r, n: (80.0 if r.speculative else 50.0) + n % 3  # noqa: E731
    return Runner(PacedEngine(speed=speed, rates=[0.575] * 5), plan).run()


def test_six_column_row_to_the_letter() -> None:
    off = Leg(decode=Spread(5, 29.94, 1, 30, 28, 31), ttft=Spread(5, 0.254, 0, 0.25, 0.2, 0.3))
    on = Leg(decode=Spread(5, 23.36, 1, 23, 22, 24), ttft=Spread(5, 0.249, 0, 0.25, 0.2, 0.3))
    assert export.row("cpu", off, on, 0.7803) == "| cpu | 29.9 | 23.4 | 0.78x | 0.25s | 0.25s |"
    assert export.row("gpu", Leg(), Leg(), None) == "| gpu | — | — | — | — | — |"
    assert export.ROW_HEAD.splitlines()[0].count("|") == 7


def test_table_names_every_test_and_both_legs(record: Record) -> None:
    lines = export.table(record).splitlines()
    tests = [line.split(" | ")[3] for line in lines[2:]]
    assert tests == [t for t in ("writing", "rewrite", "all", "@ 0%", "@ 50%", "pp64+tg32")
                     for _ in range(2)]  # fmt: skip
    assert {line.count("|") for line in lines} == {14}
    assert "57.5 %" in lines[3]
    assert "57.5 %" not in lines[2], "acceptance belongs to the on leg"
    assert "limit 3" in lines[2]
    assert "limit 6" in lines[6]


def test_csv_is_one_table_with_empty_fields_for_unknowns(record: Record) -> None:
    rows = list(csv.DictReader(io.StringIO(export.to_csv([record, record]))))
    assert len(rows) == 24
    first = rows[0]
    assert (first["test"], first["spec"], first["n"]) == ("writing", "off", "3")
    assert float(first["decode_mean"]) == pytest.approx(51, abs=1)
    assert first["adapter"] == ""
    assert first["threads"] == "auto"


def test_csv_text_is_no_formula(record: Record) -> None:
    evil = msgspec.structs.replace(record, model="=1+1")
    (row, *_) = csv.DictReader(io.StringIO(export.to_csv([evil])))
    assert row["model"] == "'=1+1"


def test_json_comes_back_as_the_same_record(record: Record) -> None:
    assert msgspec.json.decode(export.to_json(record), type=Record) == record


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--runs", "2", "--class", "code", "--class", "qa", "--prompts", "3"],
        ["--prompt", "Say \"hi\" & 'bye'", "--context", "512", "--threads", "2"],
        ["-p", "128", "-d", "64", "--backend", "gpu", "--float16"],
        ["-p", "128", "-d", "64", "--class", "code", "--depth"],
        ["--depth", "--cache", "no", "--no-first-load", "--sample", "--seed", "7"],
    ],
)
def test_reproduce_gives_the_same_plan(arguments: list[str]) -> None:
    parse = cli.parser().parse_args
    plan = cli.plan_of(parse(["/some where/m.litertlm", *arguments]), "/some where/m.litertlm", "c")
    again = shlex.split(export.reproduce(plan))
    assert again[:2] == ["tandem", "bench"]
    assert cli.plan_of(parse(again[2:]), again[2], "c") == plan


def test_prompts_alone_mean_only_them() -> None:
    args = cli.parser().parse_args(["m", "--prompt", "Hello"])
    plan = cli.plan_of(args, "m", "")
    assert [p.workload for p in plan.prompts] == [Workload.OWN]
    assert plan.sampling == GREEDY
    assert plan.backend is Backend.CPU
    synthetic = cli.plan_of(cli.parser().parse_args(["m", "-p", "64"]), "m", "")
    assert (synthetic.prompts, synthetic.prefill_tokens, synthetic.decode_tokens) == ((), 64, 256)


def test_step_summary_is_appended_under_a_heading(tmp_path: Path) -> None:
    target = tmp_path / "summary.md"
    target.write_text("before\n")
    assert export.append_step_summary("| row |", "CPU", {"GITHUB_STEP_SUMMARY": str(target)})
    assert target.read_text() == "before\n### Speculative decoding on CPU\n\n| row |\n\n"
    assert not export.append_step_summary("x", "CPU", {})
    assert not export.append_step_summary("x", "CPU", {"GITHUB_STEP_SUMMARY": str(tmp_path)})


def test_text_report_says_the_verdict_first_and_how_to_repeat(record: Record) -> None:
    lines = report.text(record).splitlines()
    assert lines[0].startswith("1.61×  Faster")
    assert "95 % interval" in lines[1]
    assert "57.5 % of drafts accepted (engine log)" in lines[1]
    assert lines[-1].strip().startswith("tandem bench")
    assert any(line.startswith("All") for line in lines)


def test_suite_is_stable_and_short() -> None:
    whole = workloads.suite(per_class=3)
    assert len({p.id for p in whole}) == len(whole) == 18
    assert {p.workload for p in whole} == set(workloads.CLASSES)
    assert max(len(p.text) for p in whole) < 600
    assert workloads.suite(per_class=1)[0].id == "writing-1"
    assert workloads.own("a") == workloads.own("a") != workloads.own("b")
