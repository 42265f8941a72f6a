"""Removing a model: the file, its partials and all its caches, with a way back.

A deleted file first moves into a hidden folder beside it (an instant rename, whatever its
size), so *Undo* is exact on every system. When the program quits, `commit` hands it to the
system's trash, or removes it where there is none. A crash in between loses nothing: the
next start finds the held files and commits them. Blocks on the disk; any thread but main.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from app.library.cache import EngineCache, stray_caches
from app.library.local import HELD_FOLDER
from app.library.names import journal_path, partial_path

_log = logging.getLogger(__name__)

_OURS = (".litertlm", ".litertlm.partial", ".litertlm.partial.json")


class DeletePlan(msgspec.Struct, frozen=True, kw_only=True):
    """What deleting would remove (bytes). `caches` are removed at once: they can be made
    again; `files` are held for undo."""

    path: str
    files: tuple[str, ...]
    strays: tuple[str, ...]
    file_bytes: int
    cache_bytes: int

    @property
    def freed(self) -> int:
        return self.file_bytes + self.cache_bytes


class Held(msgspec.Struct, frozen=True):
    """One deleted model that can still come back: (where it is now, where it was)."""

    path: str
    moved: tuple[tuple[str, str], ...]
    bytes: int


class StillLoaded(Exception):
    """The model is loaded: unload it first."""


def plan(path: str, cache: EngineCache) -> DeletePlan:
    model = Path(path)
    files = [p for p in (model, partial_path(model), journal_path(model)) if p.exists()]
    strays = stray_caches(model)
    return DeletePlan(
        path=path,
        files=tuple(str(p) for p in files),
        strays=tuple(str(p) for p in strays),
        file_bytes=sum(_size(p) for p in files),
        cache_bytes=cache.bytes_of(path) + sum(_size(p) for p in strays),
    )


def delete(wanted: DeletePlan, cache: EngineCache, loaded_path: str | None) -> Held:
    """Carries out a plan. Raises `StillLoaded`, or `OSError` with nothing removed."""
    if loaded_path is not None and _same(loaded_path, wanted.path):
        raise StillLoaded(wanted.path)
    moved: list[tuple[str, str]] = []
    try:
        slot = _new_slot(Path(wanted.path).parent)
        for name in wanted.files:
            held = slot / Path(name).name
            os.replace(name, held)
            moved.append((str(held), name))
    except OSError:
        for now, before in reversed(moved):
            os.replace(now, before)
        raise
    cache.clear(wanted.path)
    for name in wanted.strays:
        Path(name).unlink(missing_ok=True)
    return Held(wanted.path, tuple(moved), wanted.freed)


def undo(held: Held) -> None:
    """Puts everything back. Raises `FileExistsError` if something else took the place."""
    for _, before in held.moved:
        if Path(before).exists():
            raise FileExistsError(17, "something else has this name now", before)
    for now, before in held.moved:
        os.replace(now, before)
    _drop_empty(held)


def commit(items: Iterable[Held], trash: Callable[[str], None] | None = None) -> None:
    """Called when the program quits: to the trash, else gone. Never raises."""
    for held in items:
        for now, _ in held.moved:
            _discard(Path(now), trash or _system_trash)
        _drop_empty(held)


def leftovers(folders: Iterable[Path]) -> tuple[Held, ...]:
    """What a crashed run had deleted and not yet committed. A folder may have come from
    anywhere: links in it are not followed, and only what we put there counts."""
    found: list[Held] = []
    for folder in folders:
        held = folder / HELD_FOLDER
        for slot in () if held.is_symlink() else _entries(held):
            if slot.is_symlink() or not slot.name.isdigit():
                continue
            inside = [p for p in _entries(slot) if p.name.lower().endswith(_OURS) and _is_file(p)]
            moved = tuple((str(p), str(folder / p.name)) for p in inside)
            found.append(Held(str(folder), moved, sum(_size(p) for p in inside)))
    return tuple(found)


def _new_slot(folder: Path) -> Path:
    """A fresh folder below the hidden one, so that files keep their names in it."""
    held = folder / HELD_FOLDER
    held.mkdir(mode=0o700, exist_ok=True)
    number = 1
    while True:
        try:
            (held / str(number)).mkdir()
        except FileExistsError:
            number += 1
        else:
            return held / str(number)


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def _is_file(path: Path) -> bool:
    """A link counts as itself: removing it leaves what it leads to."""
    return path.is_symlink() or path.is_file()


def _discard(path: Path, trash: Callable[[str], None]) -> None:
    """A model goes to the trash; partials are never worth it."""
    try:
        if path.suffix == ".litertlm":
            trash(str(path))
            return
    except Exception as error:
        # send2trash raises its own kinds, OSError, and what D-Bus or COM come up with
        _log.info("no trash for a deleted model: %s", type(error).__name__)
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        _log.warning("deleted model not removed: %s", error.strerror)


def _system_trash(path: str) -> None:
    from send2trash import send2trash

    send2trash(path)


def _drop_empty(held: Held) -> None:
    """Removes the slot and, if nothing else is held, the hidden folder."""
    for slot in {Path(now).parent for now, _ in held.moved}:
        for folder in (slot, slot.parent):
            try:
                folder.rmdir()
            except OSError:
                pass  # something of another deletion is still in it


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _same(one: str, other: str) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)
