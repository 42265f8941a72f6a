"""Models, tools, measurements, files and settings in the real window by keys alone."""

from __future__ import annotations

import json
from pathlib import Path

from tests.e2e.programs import drive
from tests.fakes.variants import make_variant


def test_everything_works_by_keys_alone(
    display: str, tandem_home: Path, tmp_path: Path, demo_model: Path
) -> None:
    caller = make_variant(demo_model, tmp_path / "caller.litertlm", tools=True)
    report = tmp_path / "report.json"
    drive(
        "drive_keyboard",
        str(caller),
        display=display,
        home=tandem_home,
        TANDEM_TEST_REPORT=str(report),
    )
    found = json.loads(report.read_text())
    assert found["failed"] == []
    assert len(found["done"]) == 19
