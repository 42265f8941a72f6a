"""The model library in the real program: fetch, load, delete, undo, token, bad files, quit."""

from __future__ import annotations

from pathlib import Path

from tests.e2e.programs import drive
from tests.fakes.variants import make_variant


def test_a_day_with_the_library(
    display: str, tandem_home: Path, tmp_path: Path, demo_model: Path
) -> None:
    newer = make_variant(demo_model, tmp_path / "newer.litertlm", min_runtime="9.9.9")
    done = drive("drive_library", str(newer), display=display, home=tandem_home)
    # the token is in no file the program wrote and in nothing it said
    token = "hf_TheOneTokenOfThisTest"
    assert token not in done.stdout + done.stderr + done.log
    for file in tandem_home.rglob("*"):
        if file.is_file() and file.stat().st_size < 1 << 20:
            assert token.encode() not in file.read_bytes(), file
