"""Files that macOS asks the program to open: a double click there is an event, not an argument.

The first event can come before there is a window; it is kept until somebody wants it. Main thread.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from PySide6.QtCore import QCoreApplication, QEvent, QObject
from PySide6.QtGui import QFileOpenEvent

WATCHES = sys.platform == "darwin"
"""Elsewhere there are no such events, and a filter in Python over every event of the program
makes a theme change take seconds."""


class FileOpenEvents(QObject):
    """Watches the application for file-open events; `deliver_to` names who gets the paths."""

    def __init__(self, app: QCoreApplication) -> None:
        super().__init__()
        self._deliver: Callable[[str], None] | None = None
        self._waiting: list[str] = []
        if WATCHES:
            app.installEventFilter(self)

    def deliver_to(self, deliver: Callable[[str], None]) -> None:
        """Hands over each path, those that came already first."""
        self._deliver = deliver
        waiting, self._waiting = self._waiting, []
        for path in waiting:
            deliver(path)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() != QEvent.Type.FileOpen or not isinstance(event, QFileOpenEvent):
            return False
        path = event.file()
        if path and self._deliver is not None:
            self._deliver(path)
        elif path:
            self._waiting.append(path)
        return True
