"""The real window and engine on folders that cannot be written: said once, and it goes on."""

from __future__ import annotations

import ctypes
import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PR_CAPBSET_DROP = 24
MAY_WRITE_ANYWHERE = (1, 2)
"""CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH: what makes modes mean nothing to root."""

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="modes as on Linux")


def like_anybody() -> None:
    """Before exec: root respects modes too."""
    libc = ctypes.CDLL(None)
    for capability in MAY_WRITE_ANYWHERE:
        libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)


def drive(name: str, home: Path) -> None:
    env = dict(os.environ, TANDEM_HOME=str(home), QT_QPA_PLATFORM="offscreen")
    env["XDG_RUNTIME_DIR"] = env["TMPDIR"] = str(home.parent)
    done = subprocess.run(
        [sys.executable, "-m", "tests.e2e.drive_readonly", name],
        cwd=ROOT,
        env=env,
        preexec_fn=like_anybody,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    file = home / "logs" / "app.log"
    log = file.read_text() if file.exists() else ""
    assert done.returncode == 0, f"{name}: {done.stderr[-5000:]}\n{log[-2000:]}"
    assert "Traceback" not in done.stderr + log


def state(home: Path) -> dict[str, str]:
    files = (p for p in home.rglob("*") if p.is_file())
    return {str(p): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


def test_read_only_folders_are_said_once_and_it_goes_on(tandem_home: Path) -> None:
    home = tandem_home.parent / "place" / "home"
    home.parent.mkdir()
    try:
        drive("running", home)
        drive("parts", home)
        before = state(home)
        drive("everything", home)
        assert state(home) == before, "what cannot be written stays as it is"
    finally:
        for at in (home, *home.rglob("*")):
            at.chmod(0o700)
