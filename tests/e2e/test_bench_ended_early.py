"""`tandem bench` with the real engine when something ends it: signals, a dead engine process, a
model file that goes away. What was measured is printed, one sentence says why, nobody stays."""

from __future__ import annotations

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).resolve().parents[2]

WINDOWS = sys.platform == "win32"

Act = Callable[[subprocess.Popen[bytes]], None]


def interrupt(number: int) -> Act:
    def act(process: subprocess.Popen[bytes]) -> None:
        process.send_signal(number)

    return act


def interrupt_group(process: subprocess.Popen[bytes]) -> None:
    """As a closed terminal or a stopped service does: the engine process hears it too."""
    os.killpg(process.pid, signal.SIGTERM)


def bench(
    model: Path, act: Act, *options: str, phase: str = "Measuring · Q&A"
) -> tuple[int, str, list[str]]:
    """Exit code, stdout and the lines of stderr after `act` was done in the given phase."""
    process = subprocess.Popen(
        [sys.executable, "-m", "app", "bench", str(model), "--class", "code", "--class", "qa",
         "--prompts", "1", "--runs", "6", "--no-first-load", *options],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=not WINDOWS,
        creationflags=subprocess.CREATE_NEW_PROCESS_GROUP if sys.platform == "win32" else 0,
    )  # fmt: skip
    assert process.stderr is not None
    lines: list[str] = []
    try:
        for line in process.stderr:
            lines.append(line.decode("utf-8").rstrip())
            if lines[-1].startswith(phase):
                break
        children = psutil.Process(process.pid).children(recursive=True)
        act(process)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    _, alive = psutil.wait_procs(children, timeout=10)
    assert alive == []
    assert children, "there was an engine process"
    return process.returncode, out.decode("utf-8"), [*lines, *err.decode("utf-8").splitlines()]


STOPS = (
    [interrupt(getattr(signal, "CTRL_BREAK_EVENT", 0))]
    if WINDOWS
    else [interrupt(signal.SIGINT), interrupt_group]
)


@pytest.mark.parametrize("act", STOPS)
def test_a_signal_keeps_what_was_measured(demo_model: Path, act: Act) -> None:
    code, out, err = bench(demo_model, act, "--json")
    record = json.loads(out)
    assert (code, record["complete"], record["stopped"]) == (1, False, "cancelled")
    first = record["groups"][0]
    assert (first["key"], first["speedup"]["pairs"]) == ("code", 6)
    assert err[-1] == "tandem: Cut short: these are the results up to then."
    assert "Traceback" not in "".join(err)


@pytest.mark.skipif(WINDOWS, reason="two signals at once")
def test_a_second_signal_ends_it_at_once(demo_model: Path) -> None:
    def twice(process: subprocess.Popen[bytes]) -> None:
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGTERM)

    code, out, err = bench(demo_model, twice, "--json")
    assert (code, out) == (1, "")
    assert err[-1].startswith("tandem: Interrupted twice")


def test_a_killed_engine_costs_the_rest(demo_model: Path) -> None:
    def kill(process: subprocess.Popen[bytes]) -> None:
        for child in psutil.Process(process.pid).children(recursive=True):
            if "multiprocessing.spawn" in " ".join(child.cmdline()):
                child.kill()

    code, out, err = bench(demo_model, kill, "--csv")
    rows = list(csv.DictReader(out.splitlines()))
    assert code == 1
    assert {(r["test"], r["complete"]) for r in rows} >= {("code", "False")}
    assert err[-1].startswith("tandem: Cut short by an error: ")
    assert sum(line.startswith("tandem:") for line in err) == 1


@pytest.mark.skipif(WINDOWS, reason="a file in use cannot be deleted there")
def test_a_model_that_goes_away_costs_the_rest(demo_model: Path, tmp_path: Path) -> None:
    """The running class goes on, since its engine has the file open; the next one cannot."""
    model = tmp_path / "gone.litertlm"
    shutil.copyfile(demo_model, model)
    code, out, err = bench(
        model, lambda _process: model.unlink(), "--md", phase="Measuring · Code",
    )  # fmt: skip
    assert code == 1
    assert "| code |" in out
    assert "Cut short by an error" in out
    assert err[-1].startswith("tandem: Cut short by an error: ")
    assert str(model) in err[-1]
