"""The real window and engine while models, folders and clocks change under them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("names", [("switches",), ("stops", "clocks"), ("folders",)])
def test_it_goes_on(
    names: tuple[str, ...], display: str, tandem_home: Path, plain_model: Path
) -> None:
    env = dict(os.environ, TANDEM_HOME=str(tandem_home), TANDEM_TEST_PLAIN_MODEL=str(plain_model))
    if display:
        env.update(DISPLAY=display, QT_QPA_PLATFORM="xcb")
    done = subprocess.run(
        [sys.executable, "-m", "tests.e2e.drive_resilience", *names],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    log = tandem_home / "logs" / "app.log"
    told = log.read_text() if log.is_file() else ""
    assert done.returncode == 0, f"{done.returncode}\n{done.stderr[-6000:]}\n{told[-3000:]}"
    assert "Traceback" not in told, told
    assert "Traceback" not in done.stderr, done.stderr
