"""The window against a library that misbehaves on purpose (cases 8, 11, 27 to 32, 43, 48)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e import programs
from tests.fakes.native import build

pytestmark = pytest.mark.skipif(build.compiler() is None, reason="no C compiler here")


@pytest.fixture(scope="module")
def fake_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build.build(tmp_path_factory.mktemp("fake-library"))


def drive(names: tuple[str, ...], library: Path, display: str, home: Path) -> None:
    programs.drive(
        "drive_misbehaving",
        *names,
        display=display,
        home=home,
        dev_mode=False,
        TANDEM_ENGINE_LIBRARY=str(library),
        FAKE_LOAD="ok",
    )


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
