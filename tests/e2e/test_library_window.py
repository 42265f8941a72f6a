"""The model library in the real program: fetch, load, delete, undo, token, bad files, quit."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.fakes.variants import make_variant

ROOT = Path(__file__).resolve().parents[2]


def test_a_day_with_the_library(
    display: str, tandem_home: Path, tmp_path: Path, demo_model: Path
) -> None:
    newer = make_variant(demo_model, tmp_path / "newer.litertlm", min_runtime="9.9.9")
    env = dict(os.environ, TANDEM_HOME=str(tandem_home))
    if display:
        env.update(DISPLAY=display, QT_QPA_PLATFORM="xcb")
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-m", "tests.e2e.drive_library", str(newer)],
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
    # the token is in no file the program wrote and in nothing it said
    token = "hf_TheOneTokenOfThisTest"
    assert token not in done.stdout + done.stderr + log
    for file in tandem_home.rglob("*"):
        if file.is_file() and file.stat().st_size < 1 << 20:
            assert token.encode() not in file.read_bytes(), file
