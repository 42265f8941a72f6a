"""Failures behind every door through which the window reaches the world, to be switched on.

`expected` faults are the errors each part says it may have, `unexpected` ones nobody foresaw.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

from engine.errors import GenerationError, LoadError, ModelFileError
from tests.fakes.scripted_engine import ScriptedEngine


class Fault:
    """Makes functions fail while `armed`; counts how often one did."""

    def __init__(self, kind: str) -> None:
        self.expected = kind == "expected"
        self.armed = False
        self.raised: list[str] = []

    def hit(self, name: str, error: Exception) -> None:
        self.raised.append(name)
        raise error if self.expected else RuntimeError(f"nobody foresaw this in {name}")

    def wrap(self, owner: Any, name: str, make: Callable[[], Exception] | None) -> None:
        """`make` None: the function may not fail, so it only does as a fault."""
        if make is None and self.expected:
            return
        real = getattr(owner, name)
        full = f"{getattr(owner, '__name__', type(owner).__name__)}.{name}"

        def wrapped(*args: Any, **fields: Any) -> Any:
            if self.armed:
                self.hit(full, make() if make is not None else RuntimeError())
            return real(*args, **fields)

        setattr(owner, name, wrapped)


class RaisingEngine(ScriptedEngine):
    """Loads and answers until the fault is armed."""

    def __init__(self, fault: Fault) -> None:
        super().__init__()
        fault.wrap(self, "load", lambda: LoadError("load_failed", "INTERNAL: scripted"))
        fault.wrap(self, "generate", lambda: GenerationError("send_failed", "INTERNAL: scripted"))
        for name in ("unload", "tokenize", "count_tokens", "render"):
            fault.wrap(self, name, None)


def disk() -> OSError:
    return OSError(5, "Input/output error")


def break_everything(fault: Fault) -> None:
    """Puts the fault behind every door through which the window reaches the world."""
    from PySide6.QtGui import QDesktopServices

    from app import crash_report, export, history_worker, logs, settings, storage_sizes
    from app.bench.store import BenchmarkStore
    from app.export import TransferError
    from app.library import bin as bins
    from app.library import delete, service
    from app.library.cache import EngineCache
    from app.library.failures import DownloadFailure
    from app.library.fetching import Fetching
    from app.library.transfer import Transfer
    from app.secrets import TokenStore
    from app.tools.mcp_client import McpHub
    from engine import model_file
    from ui import print_view

    def database() -> sqlite3.Error:
        return sqlite3.OperationalError("disk I/O error")

    for name in ("summaries", "load", "search", "files_in_use", "value", "transaction"):
        fault.wrap(history_worker.HistoryDatabase, name, database)
    for name in ("add", "get", "delete", "set_baseline", "set_notes", "entries"):
        fault.wrap(BenchmarkStore, name, database)
    fault.wrap(model_file, "inspect", lambda: ModelFileError("unreadable", reason="broken"))
    for name in ("clear_keys", "clear_all"):
        fault.wrap(EngineCache, name, None)
    fault.wrap(EngineCache, "touch", disk)
    for name in ("plan", "delete", "undo"):
        fault.wrap(delete, name, disk)
    fault.wrap(bins, "clear_folder", None)
    for name in ("copy_into", "hash_blocking", "look_around"):
        fault.wrap(service, name, None if name == "look_around" else disk)
    fault.wrap(service.records, "write", disk)
    for name in ("list_repository", "test_token"):
        fault.wrap(Fetching, name, lambda: DownloadFailure("offline"))
    fault.wrap(Transfer, "run", lambda: DownloadFailure("offline"))
    fault.wrap(TokenStore, "load", None)
    for name in ("read", "write", "write_text"):
        fault.wrap(export, name, lambda: TransferError("export_failed", "file"))
    fault.wrap(crash_report, "write", disk)
    fault.wrap(crash_report, "contents", None)
    fault.wrap(storage_sizes, "measure", None)
    fault.wrap(logs, "last_lines", None)
    fault.wrap(print_view, "print_with_dialog", None)
    fault.wrap(McpHub, "start", None)
    fault.wrap(Path, "write_text", disk)

    written = settings.SettingsStore._write

    def write_settings(self: Any, data: bytes) -> OSError | None:
        if not fault.armed:
            return written(self, data)
        if fault.expected:
            return disk()
        raise RuntimeError("nobody foresaw this in the settings")

    settings.SettingsStore._write = write_settings  # type: ignore[method-assign]
    saved = print_view.save_pdf

    async def save_pdf(*args: Any) -> str:
        if fault.armed:
            fault.raised.append("save_pdf")
            return "no space left"
        return await saved(*args)

    print_view.save_pdf = save_pdf

    def no_program(_url: object) -> bool:
        fault.raised.append("openUrl")
        return False

    QDesktopServices.openUrl = no_program  # type: ignore[method-assign, assignment]
