"""Runs scenarios in the real program: `python -m tests.e2e.drive NAME...`.

Several names run one after another in one window. Writes the process ids of all engine
processes seen and how long quitting took to the file named by TANDEM_TEST_REPORT.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any


def main(names: list[str]) -> int:
    if os.environ.get("TANDEM_TEST_STREAMS") == "none":  # as a program without a console has it
        sys.stdin = sys.stdout = sys.stderr = sys.__stdout__ = sys.__stderr__ = None  # type: ignore[assignment,misc]
    from app import gui
    from app.engine_state import EngineState
    from app.gui import Program
    from tests.e2e.scenarios import SCENARIOS, act

    report: dict[str, Any] = {"pids": [], "quit_at": None}

    async def script(program: Program) -> None:
        service = program.services.engine
        told = service.on_state

        def watch(state: EngineState) -> None:
            pid = state.loaded.pid if state.loaded else service._worker.engine_pid()
            if pid is not None and pid not in report["pids"]:
                report["pids"].append(pid)
            told(state)

        service.on_state = watch
        closing = program.services.lifecycle.on_closing

        def on_closing() -> None:
            report["quit_at"] = time.monotonic()
            closing()

        program.services.lifecycle.on_closing = on_closing
        await act(program, SCENARIOS, names)

    try:
        return gui.main(None, script)
    finally:
        report["quit_s"] = time.monotonic() - (report["quit_at"] or time.monotonic())
        with open(os.environ["TANDEM_TEST_REPORT"], "w", encoding="utf-8") as out:
            json.dump(report, out)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
