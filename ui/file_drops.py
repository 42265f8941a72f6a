"""Files dropped on a text field belong to the window behind it, which opens models.

Qt's fields take any drag that has text, and a file has its address as text: it would be typed
into the field. Main thread only.
"""

from __future__ import annotations

from functools import lru_cache

from PySide6.QtCore import QEvent, QObject
from PySide6.QtGui import QDropEvent
from PySide6.QtWidgets import QAbstractScrollArea, QWidget

_DRAGS = frozenset({QEvent.Type.DragEnter, QEvent.Type.DragMove, QEvent.Type.Drop})


class _LetThrough(QObject):
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if (
            event.type() in _DRAGS
            and isinstance(event, QDropEvent)  # the other two are made from it
            and event.mimeData().hasUrls()
        ):
            event.ignore()  # ignored drags go on to the parent
            return True
        return super().eventFilter(watched, event)


@lru_cache(maxsize=1)
def _filter() -> _LetThrough:
    return _LetThrough()


def let_files_through(*fields: QWidget) -> None:
    """Makes text fields take dragged text only."""
    for field in fields:
        target = field.viewport() if isinstance(field, QAbstractScrollArea) else field
        target.installEventFilter(_filter())
