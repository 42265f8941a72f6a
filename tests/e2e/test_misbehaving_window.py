"""The window against a library that misbehaves on purpose (cases 8, 11, 27 to 32, 43, 48)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakes.native import build

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.skipif(build.compiler() is None, reason="no C compiler here")


@pytest.fixture(scope="module")
def fake_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build.build(tmp_path_factory.mktemp("fake-library"))


def drive(names: tuple[str, ...], library: Path, display: str, home: Path) -> None:
    env = dict(os.environ, TANDEM_HOME=str(home), TANDEM_ENGINE_LIBRARY=str(library))
    env["FAKE_LOAD"] = "ok"
    if display:
        env.update(DISPLAY=display, QT_QPA_PLATFORM="xcb")
    done = subprocess.run(
        [sys.executable, "-m", "tests.e2e.drive_misbehaving", *names],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    log = home / "logs" / "app.log"
    told = log.read_text() if log.exists() else ""
    assert done.returncode == 0, f"{done.returncode}\n{done.stderr[-6000:]}\n{told[-3000:]}"
    assert "Traceback" not in told, told


@pytest.mark.parametrize(
    "names",
    [
        ("odd_chunks", "late"),
        ("errors", "failing_row"),
        ("deaths", "loads"),
        ("silence",),
        ("flood", "big"),
    ],
    ids=lambda names: names[0],
)
def test_one_outcome_one_sentence_and_a_usable_window(
    names: tuple[str, ...], fake_library: Path, display: str, tandem_home: Path
) -> None:
    drive(names, fake_library, display, tandem_home)


def test_a_gpu_that_crashed_is_not_chosen_again(
    fake_library: Path, display: str, tandem_home: Path
) -> None:
    drive(("gpu_crash",), fake_library, display, tandem_home)
    drive(("gpu_next_start",), fake_library, display, tandem_home)
