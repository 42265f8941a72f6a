"""The real window and engine while models, folders and clocks change under them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.programs import drive


@pytest.mark.parametrize("names", [("switches",), ("stops", "clocks"), ("folders",)])
def test_it_goes_on(
    names: tuple[str, ...], display: str, tandem_home: Path, plain_model: Path
) -> None:
    drive(
        "drive_resilience",
        *names,
        display=display,
        home=tandem_home,
        dev_mode=False,
        TANDEM_TEST_PLAIN_MODEL=str(plain_model),
    )
