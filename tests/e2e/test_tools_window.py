"""Tools in the real program: consent, servers, chats, structured answers, quit."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psutil

from tests.fakes.variants import make_variant

ROOT = Path(__file__).resolve().parents[2]


def test_a_day_with_tools(
    display: str, tandem_home: Path, tmp_path: Path, demo_model: Path
) -> None:
    caller = make_variant(demo_model, tmp_path / "caller.litertlm", tools=True)
    env = dict(os.environ, TANDEM_HOME=str(tandem_home))
    if display:
        env.update(DISPLAY=display, QT_QPA_PLATFORM="xcb")
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-m", "tests.e2e.drive_tools", str(caller)],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    log = (tandem_home / "logs" / "app.log").read_text()
    assert done.returncode == 0, f"{done.stderr[-6000:]}\n{log[-3000:]}"
    assert "Traceback" not in log, log
    assert "Traceback" not in done.stderr, done.stderr
    assert "Ann" not in log, "no prompts or results in the log"
    assert (tandem_home / "logs" / "tool-server-mine.log").exists()
    for process in psutil.process_iter(["cmdline"]):
        line = " ".join(process.info["cmdline"] or ())
        assert not ("mcp_server.py" in line and str(tandem_home) in str(_home(process))), line


def _home(process: psutil.Process) -> str:
    try:
        return process.environ().get("TANDEM_HOME", "")
    except psutil.Error:
        return ""
