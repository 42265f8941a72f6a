"""Tools in the real program: consent, servers, chats, structured answers, quit."""

from __future__ import annotations

from pathlib import Path

import psutil

from tests.e2e.programs import drive
from tests.fakes.variants import make_variant


def test_a_day_with_tools(
    display: str, tandem_home: Path, tmp_path: Path, demo_model: Path
) -> None:
    caller = make_variant(demo_model, tmp_path / "caller.litertlm", tools=True)
    done = drive("drive_tools", str(caller), display=display, home=tandem_home)
    assert "Ann" not in done.log, "no prompts or results in the log"
    assert (tandem_home / "logs" / "tool-server-mine.log").exists()
    for process in psutil.process_iter(["cmdline"]):
        line = " ".join(process.info["cmdline"] or ())
        assert not ("mcp_server.py" in line and str(tandem_home) in str(_home(process))), line


def _home(process: psutil.Process) -> str:
    try:
        return process.environ().get("TANDEM_HOME", "")
    except psutil.Error:
        return ""
