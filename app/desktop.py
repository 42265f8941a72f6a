"""Opening web pages and folders in other programs. Main thread."""

from __future__ import annotations

import os

from PySide6.QtCore import QUrl

from ui.outside import open_outside


def open_page(url: str) -> None:
    """Opens a web page in the browser; anything but http and https is ignored."""
    if url.startswith(("https://", "http://")):
        open_outside(QUrl(url))


def open_folder(path: str) -> None:
    """Shows a folder, or the folder a file is in, in the system's file manager."""
    folder = path if os.path.isdir(path) else os.path.dirname(path)
    open_outside(QUrl.fromLocalFile(folder))
