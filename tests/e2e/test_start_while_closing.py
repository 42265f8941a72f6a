"""A start while the last window closes is no lost click: it waits and becomes the next window."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.single_instance import SingleInstance

SECOND = """
import sys
from pathlib import Path
from PySide6.QtCore import QCoreApplication
from app.single_instance import SingleInstance
app = QCoreApplication([])
made = SingleInstance(Path(sys.argv[1]))
print("first" if made.start(None) else "handed over", flush=True)
made.stop()
"""


@pytest.mark.parametrize("closing", [False, True])
def test_a_second_start_hands_over_or_waits_for_the_end(
    qtbot: QtBot, tmp_path: Path, closing: bool
) -> None:
    first = SingleInstance(tmp_path)
    asked: list[str] = []
    first.asked.connect(asked.append)
    assert first.start(None)
    first.closing = lambda: closing
    second = subprocess.Popen(
        [sys.executable, "-c", SECOND, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    try:
        qtbot.waitUntil(lambda: bool(first._open) if closing else bool(asked), timeout=20_000)
        if closing:
            qtbot.wait(200)
            assert second.poll() is None, "it waits"
        first.stop()
        out, _ = second.communicate(timeout=20)
    finally:
        second.kill()
    assert out.strip() == ("first" if closing else "handed over")
    assert asked == ([] if closing else [""])
