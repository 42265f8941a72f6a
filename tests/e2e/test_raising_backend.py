"""Every button and command of the window while what is behind it fails (`drive_raising`)."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
KINDS = ("expected", "unexpected")
Found = dict[str, tuple[int, list[str], str]]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Found:
    """Both kinds at once: how many presses, the findings, and the program's log."""
    out = {}
    with contextlib.ExitStack() as ending:
        running = {kind: started(kind, tmp_path_factory.mktemp(kind), ending) for kind in KINDS}
        for kind, (process, folder) in running.items():
            _, told = process.communicate(timeout=240)
            log = (folder / "home" / "logs" / "app.log").read_text()
            assert process.returncode == 0, f"{kind}: {told[-4000:]}\n{log[-3000:]}"
            report = json.loads((folder / "report.json").read_text())
            out[kind] = (report["pressed"], report["findings"], log)
    return out


def started(
    kind: str, folder: Path, ending: contextlib.ExitStack
) -> tuple[subprocess.Popen[str], Path]:
    env = dict(os.environ, TANDEM_HOME=str(folder / "home"), QT_QPA_PLATFORM="offscreen")
    env.update(
        TANDEM_TEST_REPORT=str(folder / "report.json"),
        PYTHON_KEYRING_BACKEND="keyring.backends.null.Keyring",
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.e2e.drive_raising", kind],
        cwd=ROOT,
        env=env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    ending.enter_context(process)
    ending.callback(process.kill)
    return process, folder


@pytest.mark.parametrize("kind", KINDS)
def test_every_failure_is_said_and_the_window_goes_on(found: Found, kind: str) -> None:
    pressed, findings, _ = found[kind]
    assert findings == []
    assert pressed > 200, "the walk saw the whole window"


def test_foreseen_failures_leave_no_trace_and_others_are_never_lost(found: Found) -> None:
    assert "Traceback" not in found["expected"][2]
    assert "never retrieved" not in found["unexpected"][2]
    assert "nobody foresaw this" in found["unexpected"][2], "faults are in the log"
