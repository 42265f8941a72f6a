"""Conversations out of sight give their widgets back, those left longest ago first.

A turn takes 0.3 MB as widgets, so open conversations would hold memory without bounds. A
little after the person went to another one, those out of sight keep `KEPT` turns
altogether; the others are made again when they are shown. Main thread only.
"""

from __future__ import annotations

from typing import Protocol

from PySide6.QtCore import QObject, QTimer

KEPT = 64
"""Turns that stay widgets out of sight: the whole window of the conversation left last."""
AFTER_MS = 500
AGAIN_MS = 15_000
"""When a conversation could not rest, because an answer is being written."""


class Restful(Protocol):
    """What can rest: a transcript."""

    def made(self) -> int:
        """Turns that are widgets now."""

    def rest(self) -> bool:
        """Drops them; False when they are needed."""


class RestingPages:
    """Knows in which order conversations were left; owned by the one who shows them."""

    def __init__(self, parent: QObject) -> None:
        self._pages: dict[str, Restful] = {}
        self._timer = QTimer(parent)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self.tidy)

    def opened(self, key: str, page: Restful) -> None:
        """A new page, out of sight until it is `shown`."""
        self._pages = {key: page, **self._pages}
        page.rest()

    def shown(self, key: str, page: Restful) -> None:
        """`page` is in front now."""
        self._pages.pop(key, None)
        self._pages[key] = page
        self._timer.start(AFTER_MS)

    def closed(self, key: str) -> None:
        self._pages.pop(key, None)

    def tidy(self) -> None:
        """Lets rest what is too much."""
        room, refused = KEPT, False
        for page in list(reversed(self._pages.values()))[1:]:
            count = page.made()
            if count > room and not page.rest():
                refused = True
            if page.made():
                room = max(0, room - count)
        if refused:
            self._timer.start(AGAIN_MS)
