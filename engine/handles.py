"""Owned native objects with an idempotent end.

A `Handle` belongs to the thread that drives the engine; only `cancel` of a conversation
is called from elsewhere (see `stream`). Nothing relies on `__del__`: whoever made a
handle closes it, and a registry tells tests which ones were forgotten.
"""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Generic, TypeVar

Pointer = TypeVar("Pointer")

_live: dict[int, str] = {}


class Handle(Generic[Pointer]):
    """One native object. `pointer` raises `ValueError` after `close`."""

    __slots__ = ("_delete", "_pointer", "kind")

    def __init__(self, kind: str, pointer: Pointer, delete: Callable[[Pointer], object]) -> None:
        self.kind = kind
        self._pointer: Pointer | None = pointer
        self._delete = delete
        _live[id(self)] = kind

    @property
    def pointer(self) -> Pointer:
        if self._pointer is None:
            raise ValueError(f"{self.kind} is closed")
        return self._pointer

    @property
    def closed(self) -> bool:
        return self._pointer is None

    def close(self) -> None:
        """Deletes the native object; does nothing the second time."""
        pointer, self._pointer = self._pointer, None
        if pointer is not None:
            _live.pop(id(self), None)
            self._delete(pointer)

    def __enter__(self) -> Handle[Pointer]:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def live_handles() -> tuple[str, ...]:
    """Kinds of all handles not closed yet, for leak checks."""
    return tuple(sorted(_live.values()))
