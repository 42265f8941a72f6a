"""Images and sounds in the real window, with a model that takes them and one that does not."""

from __future__ import annotations

from pathlib import Path

from tests.e2e import programs
from tests.fakes.variants import make_variant


def test_attach_send_keep_and_switch(
    display: str, tandem_home: Path, demo_model: Path, tmp_path: Path
) -> None:
    model = make_variant(demo_model, tmp_path / "seeing.litertlm", senses=True)
    programs.drive(
        "drive_media",
        "seeing",
        "blind",
        "too_many",
        display=display,
        home=tandem_home,
        TANDEM_TEST_SENSES_MODEL=str(model),
        TANDEM_TEST_REPORT=str(tmp_path / "report.json"),
    )
