"""Starts a driver of `tests.e2e` as a process of its own and judges how it ended."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S = 240


@dataclass(frozen=True)
class Ran:
    """What it said: both streams and the program's own log."""

    stdout: str
    stderr: str
    log: str


def drive(
    module: str,
    *arguments: str,
    display: str,
    home: Path,
    code: int = 0,
    dev_mode: bool = True,
    **env: str,
) -> Ran:
    """Runs `tests.e2e.MODULE ARGUMENTS` with its data in `home`; fails unless it ends with `code`.

    A run that ends well has also printed and logged no traceback. `env` is added to the
    environment; `dev_mode` is Python's (`-X dev`: warns of what is left open).
    """
    environ = dict(os.environ, TANDEM_HOME=str(home), **env)
    if display:
        environ.update(DISPLAY=display, QT_QPA_PLATFORM="xcb")
    options = ("-X", "dev") if dev_mode else ()
    done = subprocess.run(
        [sys.executable, *options, "-m", f"tests.e2e.{module}", *arguments],
        cwd=ROOT,
        env=environ,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    file = home / "logs" / "app.log"
    log = file.read_text() if file.is_file() else ""
    assert done.returncode == code, f"{done.returncode}\n{done.stderr[-6000:]}\n{log[-3000:]}"
    if code == 0:
        assert "Traceback" not in log, log
        assert "Traceback" not in done.stderr, done.stderr
    return Ran(done.stdout, done.stderr, log)
