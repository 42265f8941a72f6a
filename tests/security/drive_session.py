"""One ordinary session in the real window: `python -m tests.security.drive_session`.

A token is kept, a chat goes on, a tool server runs, an engine answers, a report is written
to the file named by TANDEM_TEST_REPORT: who listens, what children were given.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import psutil

FAKES = Path(__file__).resolve().parents[1] / "fakes"
TOKEN = "hf_SeCrEtSeCrEtSeCrEt12345"
SHELL_TOKEN = "shell-SeCrEt-98765"


def of(process: psutil.Process) -> dict[str, Any]:
    listening = [c for c in process.net_connections("all") if c.status == "LISTEN"]
    unix = [c.laddr for c in process.net_connections("unix") if c.laddr]
    inet = [str(c) for c in process.net_connections("inet")]
    return {"listening": len(listening), "unix": unix, "inet": inet, "environ": process.environ()}


async def script(program: Any) -> None:
    from app.secrets import Secret
    from app.settings import McpServer
    from app.tools.mcp_client import ServerPhase
    from tests.e2e.scenarios import Person

    me = Person(program)
    report: dict[str, Any] = {}
    await me.ready()
    tokens = program.library.library.fetch.tokens
    await tokens.save(Secret(TOKEN))
    servers = program.services.tools.servers
    servers.add(
        McpServer(name="mine", command=sys.executable, args=(str(FAKES / "mcp_server.py"),))
    )
    await me.until(lambda: servers.state("mine").phase is ServerPhase.READY)
    await me.ask("Say a word.")
    for tab in ("models", "tools", "benchmark", "chat"):
        me.window.select_tab(tab)
        await asyncio.sleep(0.05)
    loaded = program.services.state.loaded
    assert loaded is not None
    report["engine"] = of(psutil.Process(loaded.pid))
    report["window"] = of(psutil.Process())
    others = [p for p in psutil.Process().children(recursive=True) if p.pid != loaded.pid]
    report["others"] = [of(p) for p in others]
    report["socket"] = program_socket()
    tell(report)


def tell(report: dict[str, Any]) -> None:
    Path(os.environ["TANDEM_TEST_REPORT"]).write_text(json.dumps(report))


def program_socket() -> dict[str, Any]:
    """The address of the single instance and its mode, and those of the folder around it."""
    from app import paths
    from app.single_instance import SingleInstance

    name = SingleInstance(paths.resolve().runtime)._name
    found = Path(name)
    mode = found.stat().st_mode & 0o777 if found.is_absolute() and found.exists() else None
    around = found.parent.stat().st_mode & 0o777 if found.is_absolute() else None
    return {"name": name, "mode": mode, "folder": around}


if __name__ == "__main__":
    from app import gui

    sys.exit(gui.main(None, script))
