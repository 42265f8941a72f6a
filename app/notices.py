"""The one channel for messages to the user.

A `Notice` is a plain value; the window shows the newest one that is not dismissed. A
notice with the key of an older one replaces it, so nothing is said twice. Main thread only.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Action:
    """A button of a notice. `run` is called on the main thread; the notice is dismissed
    before unless `keep`."""

    label: str
    run: Callable[[], None]
    primary: bool = False
    keep: bool = False


@dataclass(frozen=True, slots=True)
class Notice:
    """One message: what happened and why, in sentences; `detail` is behind a button."""

    key: str
    text: str
    title: str = ""
    level: Level = Level.INFO
    detail: str = ""
    actions: tuple[Action, ...] = ()
    seconds: float | None = None
    """Goes away by itself after this time; None stays until dismissed."""


class Notices:
    """The notices now open, oldest first, and who wants to hear about them."""

    def __init__(self) -> None:
        self._open: dict[str, Notice] = {}
        self._listeners: list[Callable[[], None]] = []

    @property
    def open(self) -> tuple[Notice, ...]:
        return tuple(self._open.values())

    @property
    def current(self) -> Notice | None:
        return next(reversed(self._open.values()), None)

    def post(self, notice: Notice) -> None:
        self._open.pop(notice.key, None)
        self._open[notice.key] = notice
        self._tell()

    def dismiss(self, key: str) -> None:
        if self._open.pop(key, None) is not None:
            self._tell()

    def subscribe(self, listener: Callable[[], None]) -> Callable[[], None]:
        self._listeners.append(listener)

        def unsubscribe() -> None:
            with contextlib.suppress(ValueError):
                self._listeners.remove(listener)

        return unsubscribe

    def _tell(self) -> None:
        for listener in list(self._listeners):
            listener()
