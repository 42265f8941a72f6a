"""`tandem bench` with an engine of invented speeds: what goes where, and the exit code."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from app import paths
from app.bench import cli
from app.bench.progress_line import ProgressLine, describe
from app.bench.records import Progress, Workload
from app.bench.store import BenchmarkStore
from engine.errors import BackendError
from tests.fakes.paced_engine import PacedEngine

SMALL = ["--runs", "3", "--class", "code"]


def run(model: Path, *arguments: str, engine: PacedEngine | None = None) -> int:
    made = engine or PacedEngine()
    return cli.main([str(model), *arguments], engine_factory=lambda _paths: made)


def test_result_on_stdout_progress_on_stderr(
    demo_model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(demo_model, *SMALL) == 0
    out, err = capsys.readouterr()
    assert out.startswith("1.60×")
    assert "Measuring" not in out
    assert "Measuring · Code" in err


def test_json_alone_is_on_stdout(demo_model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(demo_model, *SMALL, "--json") == 0
    assert json.loads(capsys.readouterr().out)["overall"]["verdict"] == "faster"


@pytest.mark.parametrize(("form", "start"), [("--csv", "date,model"), ("--md", "| backend |")])
def test_other_forms(
    demo_model: Path, capsys: pytest.CaptureFixture[str], form: str, start: str
) -> None:
    assert run(demo_model, *SMALL, form) == 0
    assert capsys.readouterr().out.startswith(start)


def test_result_is_kept_unless_asked_not_to(demo_model: Path) -> None:
    run(demo_model, *SMALL)
    run(demo_model, *SMALL, "--no-save")
    store = BenchmarkStore(paths.resolve().benchmark_file)
    assert len(store.entries()) == 1
    store.close()


def test_model_without_drafter_is_one_sentence(
    plain_model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    engine = PacedEngine()
    assert run(plain_model, engine=engine) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "has no MTP drafter" in err
    assert len(err.splitlines()) == 1
    assert engine.loads == 0


def test_missing_file_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path / "none.litertlm") == 1
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_gpu_failure_names_the_way_out(
    demo_model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    engine = PacedEngine(load_error=BackendError("no_gpu_adapter"))
    assert run(demo_model, "--backend", "gpu", engine=engine) == 1
    last = capsys.readouterr().err.splitlines()[-1]
    assert "--backend cpu" in last


def test_crash_prints_what_was_measured_and_fails(
    demo_model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(demo_model, *SMALL, engine=PacedEngine(fail_at=9)) == 1
    out, err = capsys.readouterr()
    assert "Cut short by an error" in out
    assert err.splitlines()[-1].startswith("tandem: Cut short by an error")
    assert "signal 6 (abort)" in err.splitlines()[-1]


def test_partial_markdown_says_so(demo_model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(demo_model, *SMALL, "--md", engine=PacedEngine(fail_at=9)) == 1
    assert "\n\nCut short by an error" in capsys.readouterr().out


def test_result_is_kept_also_when_nobody_reads_it(
    demo_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Gone(io.StringIO):
        def write(self, _text: str) -> int:
            raise BrokenPipeError

    monkeypatch.setattr("sys.stdout", Gone())
    with pytest.raises(BrokenPipeError):
        run(demo_model, *SMALL)
    store = BenchmarkStore(paths.resolve().benchmark_file)
    assert len(store.entries()) == 1
    store.close()


def test_ctrl_c_keeps_partial_results(demo_model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import _thread

    engine = PacedEngine()

    def interrupt(number: int) -> None:
        if number == 8:
            import time

            _thread.interrupt_main()
            deadline = time.monotonic() + 60
            while not engine._cancelled and time.monotonic() < deadline:
                time.sleep(0.01)

    engine.on_send = interrupt
    assert run(demo_model, *SMALL, engine=engine) == 1
    out, err = capsys.readouterr()
    assert "Cut short: these are the results up to then." in out
    assert engine.sends == 9
    assert "Traceback" not in err


def test_padding_that_cannot_fit_is_one_sentence(
    demo_model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    engine = PacedEngine()
    assert run(demo_model, "-p", "1000", "-d", "100", engine=engine) == 1
    _, err = capsys.readouterr()
    assert "1000 and an answer of 100 tokens do not fit into a context of 1024" in err
    assert engine.loads == 0


@pytest.mark.parametrize(
    "wrong",
    [["--runs", "0"], ["--class", "poetry"], ["--json", "--csv"], ["--threads", "999"],
     ["--context", "1"], ["--seed", "-1"], ["--runs", "many"]],
)  # fmt: skip
def test_bad_usage_is_two(demo_model: Path, wrong: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run(demo_model, *wrong)
    assert ended.value.code == 2


def test_progress_line_tells_time_left() -> None:
    event = Progress(
        phase="measure", done=12, total=72, workload=Workload.CODE, eta_s=130,
        off_tps=51.84, on_tps=83.1,
    )  # fmt: skip
    assert describe(event) == "Measuring · Code · 12 of 72 · off 51.8 · on 83.1 tok/s · 2 min left"
    ProgressLine(None).show(event)


def test_runs_without_window_libraries(tmp_path: Path) -> None:
    """A machine for measuring has no Qt, no numpy, no psutil: they must not be asked for."""
    import subprocess
    import sys

    code = (
        "import sys\n"
        "absent = 'PySide6 numpy qasync httpx keyring mcp psutil pyqtgraph'\n"
        "for name in absent.split():\n"
        "    sys.modules[name] = None\n"
        "from app.bench import cli, environment\n"
        "from app.bench.records import Plan\n"
        "env = environment.capture(Plan(model_path='m'), None, '')\n"
        "assert env.cores and env.memory and env.power is None\n"
        "sys.exit(cli.main(['none.litertlm']))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 1
    assert done.stderr.startswith("tandem: ")
    assert "Traceback" not in done.stderr
