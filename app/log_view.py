"""Show log: the ends of the engine's and the program's log in a dialog. Main thread."""

from __future__ import annotations

import asyncio

from PySide6.QtWidgets import QWidget

from app import logs
from app.desktop import open_folder
from app.paths import Paths
from ui import strings_core as words


async def show_logs(parent: QWidget, paths: Paths) -> None:
    """Reads on the shared executor, then opens the dialog and returns."""
    from ui.log_dialog import LogDialog, LogText

    loop = asyncio.get_running_loop()
    shown = []
    for name, path in ((words.LOG_ENGINE, paths.engine_log), (words.LOG_PROGRAM, paths.app_log)):
        text = await loop.run_in_executor(None, logs.last_lines, path, 500)
        shown.append(LogText(name, str(path), text))
    dialog = LogDialog(shown, parent)
    dialog.folder_requested.connect(lambda: open_folder(str(paths.logs)))
    dialog.open()
