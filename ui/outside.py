"""Handing an address or a file over to another program of the desktop. Main thread."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices

on_failed: Callable[[str], None] | None = None
"""Set by the program: told what could not be opened, as a path or an address."""


def open_outside(url: QUrl) -> None:
    """Opens `url` with the program the desktop has for it; tells when there is none."""
    if not QDesktopServices.openUrl(url) and on_failed is not None:
        on_failed(url.toLocalFile() or bytes(url.toEncoded().data()).decode("ascii", "replace"))
