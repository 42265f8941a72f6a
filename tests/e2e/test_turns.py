"""Turns and history in the real program: versions, branches, restart, kill, search, export."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e import programs


def drive(
    names: tuple[str, ...], display: str, home: Path, thinking: Path | None = None, code: int = 0
) -> None:
    programs.drive(
        "drive_history",
        *names,
        display=display,
        home=home,
        code=code,
        TANDEM_TEST_THINKING_MODEL=str(thinking or ""),
        TANDEM_TEST_REPORT=str(home.parent / "report.json"),
    )


@pytest.mark.parametrize("names", [("turns_off", "continuing"), ("turns_on", "too_long")])
def test_the_model_follows_the_path_shown(
    names: tuple[str, ...], display: str, tandem_home: Path
) -> None:
    drive(names, display, tandem_home)


def test_a_restart_brings_everything_back(display: str, tandem_home: Path) -> None:
    drive(("keeping",), display, tandem_home)
    drive(("finding",), display, tandem_home)


def test_delete_export_import_settings_attachments(display: str, tandem_home: Path) -> None:
    drive(("moving", "attaching", "settings"), display, tandem_home)


def test_kill_minus_nine_while_writing(display: str, tandem_home: Path) -> None:
    drive(("killed",), display, tandem_home, code=-9)
    drive(("survived",), display, tandem_home)


def test_thoughts_stay_apart(
    display: str, tandem_home: Path, demo_model: Path, tmp_path: Path
) -> None:
    from tests.fakes.variants import make_variant

    model = make_variant(demo_model, tmp_path / "thinking.litertlm", thinking=True)
    drive(("thinking",), display, tandem_home, thinking=model)
