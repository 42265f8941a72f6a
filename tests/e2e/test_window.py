"""The real program on a real screen with the real engine, from start to exit code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.e2e import programs


def drive(
    names: tuple[str, ...], display: str, home: Path, plain: Path | None = None
) -> dict[str, Any]:
    report = home.parent / "report.json"
    programs.drive(
        "drive",
        *names,
        display=display,
        home=home,
        TANDEM_TEST_REPORT=str(report),
        TANDEM_TEST_PLAIN_MODEL=str(plain or ""),
    )
    found: dict[str, Any] = json.loads(report.read_text())
    left = [pid for pid in found["pids"] if psutil.pid_exists(pid)]
    assert not left, f"engine processes left behind: {left}"
    return found


def test_chat_stop_and_speculation(display: str, tandem_home: Path) -> None:
    drive(("chatting", "speculation"), display, tandem_home)


def test_the_picker_and_the_load_dialog(display: str, tandem_home: Path) -> None:
    drive(("picking", "dropping"), display, tandem_home)


def test_a_second_start_hands_its_file_over(
    display: str, tandem_home: Path, plain_model: Path
) -> None:
    drive(("second_start",), display, tandem_home, plain_model)


def test_tabs_and_a_bad_file_without_streams(
    display: str, tandem_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Chats, a failed load and its words where stdin, stdout and stderr are None."""
    monkeypatch.setenv("TANDEM_TEST_STREAMS", "none")
    drive(("tabs", "failing_load"), display, tandem_home)


def test_switching_to_a_model_without_drafter(
    display: str, tandem_home: Path, plain_model: Path
) -> None:
    drive(("switching",), display, tandem_home, plain_model)


def test_the_engine_dies_and_the_window_goes_on(display: str, tandem_home: Path) -> None:
    drive(("dying",), display, tandem_home)


@pytest.mark.parametrize(
    "name", ["quit_idle", "quit_loading", "quit_prefill", "quit_decoding", "quit_dialog"]
)
def test_quitting_is_quick_and_leaves_nothing(name: str, display: str, tandem_home: Path) -> None:
    report = drive((name,), display, tandem_home)
    assert report["quit_s"] < 5, report
