"""Model files on this computer: where we look, and what each file says of itself.

Everything here blocks on the disk and runs on a helper thread; results are plain values.
Nothing is ever copied or changed: the stores of other programs are read only. What a header
says is remembered in a small file keyed by path, size and modification time, so a start
with fifty models reads no model file at all.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path

import msgspec

import resources
from app.library.capabilities import CapabilityCache
from app.library.catalogue import CatalogueEntry
from app.library.names import journal_path
from app.model_names import MODEL_SUFFIX, display_name
from engine.types import ErrorInfo, FileState, ModelInfo

MAX_DEPTH = 4
MAX_FILES = 2000
HELD_FOLDER = ".tandem-deleted"
"""Deleted files wait here, beside where they were, until the program quits."""


class Source(StrEnum):
    """Where a file was found. The order decides when one file is found twice."""

    BUNDLED = "bundled"
    OWN = "own"
    FOLDER = "folder"
    OPENED = "opened"
    CLI = "litert_lm"
    HUB_CACHE = "hub_cache"

    @property
    def read_only(self) -> bool:
        """Whether the files belong to somebody else: never deleted from here."""
        return self in {Source.BUNDLED, Source.CLI, Source.HUB_CACHE}


class Places(msgspec.Struct, frozen=True, kw_only=True):
    """Where to look. `opened` are single files a person opened or dropped."""

    own: Path
    folders: tuple[Path, ...] = ()
    opened: tuple[Path, ...] = ()
    cli: Path | None = None
    hub_cache: Path | None = None
    bundled: tuple[Path, ...] = ()


class LocalModel(msgspec.Struct, frozen=True, kw_only=True):
    """One file. Exactly one of `info` and `problem` is set. Times in nanoseconds."""

    path: str
    name: str
    source: Source
    bytes: int
    mtime_ns: int
    info: ModelInfo | None = None
    problem: ErrorInfo | None = None

    @property
    def loadable(self) -> bool:
        """Whether a load can be offered without a warning."""
        return self.info is not None and self.info.state is FileState.OK


def default_places(own: Path, folders: Iterable[str], opened: Iterable[str]) -> Places:
    """The usual places of this user. The bundled demo model always counts."""
    home = Path.home()
    hub = os.environ.get("HF_HUB_CACHE") or ""
    if not hub:
        base = os.environ.get("HF_HOME") or str(home / ".cache" / "huggingface")
        hub = os.path.join(base, "hub")
    return Places(
        own=own,
        folders=tuple(Path(f) for f in folders),
        opened=tuple(Path(f) for f in opened),
        cli=home / ".litert-lm" / "models",
        hub_cache=Path(hub),
        bundled=(resources.DEMO_MODEL,),
    )


def scan(
    places: Places,
    cache: CapabilityCache,
    inspect: Callable[[str], ModelInfo],
    names: Mapping[str, str] | None = None,
) -> tuple[LocalModel, ...]:
    """Looks everywhere. A file reached by two ways counts once, at its better place; a file
    a download still owns does not count; an opened file that is gone is told as such."""
    found: dict[str, LocalModel] = {}
    seen: set[str] = set()
    for source, path in _candidates(places):
        real = os.path.realpath(path)
        if real in seen:
            continue
        model = look_at(path, source, cache, inspect, names)
        if model is not None:
            seen.add(real)
            found[model.path] = model
    cache.save(found)
    return tuple(found.values())


def look_at(
    path: Path,
    source: Source,
    cache: CapabilityCache,
    inspect: Callable[[str], ModelInfo],
    names: Mapping[str, str] | None = None,
) -> LocalModel | None:
    """One file as a value. None when it vanished, except for files a person chose."""
    shown = str(path.absolute())
    try:
        status = path.stat()
    except (OSError, ValueError):
        if source is not Source.OPENED:
            return None
        gone = ErrorInfo("not_found", params={"path": shown, "name": path.name})
        return LocalModel(
            path=shown,
            name=display_name(path, names),
            source=source,
            bytes=0,
            mtime_ns=0,
            problem=gone,
        )
    info, problem = cache.look(shown, status.st_size, status.st_mtime_ns, inspect)
    return LocalModel(
        path=shown,
        name=display_name(path, names),
        source=source,
        bytes=status.st_size,
        mtime_ns=status.st_mtime_ns,
        info=info,
        problem=problem,
    )


def _candidates(places: Places) -> Iterator[tuple[Source, Path]]:
    for path in places.bundled:
        yield Source.BUNDLED, path
    for path in _models_below(places.own):
        yield Source.OWN, path
    for folder in places.folders:
        for path in _models_below(folder):
            yield Source.FOLDER, path
    for path in places.opened:
        yield Source.OPENED, path
    if places.cli is not None:
        for path in _models_below(places.cli):
            yield Source.CLI, path
    if places.hub_cache is not None:
        for snapshots in _snapshots(places.hub_cache):
            for path in _models_below(snapshots):
                yield Source.HUB_CACHE, path


def _snapshots(hub_cache: Path) -> list[Path]:
    """The part of the hub's cache that holds files under their own names."""
    try:
        return sorted(hub_cache.glob("models--*/snapshots"))
    except OSError:
        return []


def _models_below(folder: Path) -> Iterator[Path]:
    """`.litertlm` files below a folder, sorted, not deeper than `MAX_DEPTH`; folders that
    cannot be read or that lead in circles are skipped."""
    pending, count = [(folder, 0)], 0
    while pending:
        here, depth = pending.pop()
        try:
            with os.scandir(here) as listing:
                entries = sorted(listing, key=lambda e: e.name.lower())
        except OSError:
            continue
        for entry in entries:
            if entry.name.startswith("."):
                continue
            try:
                if entry.is_dir(follow_symlinks=False):
                    if depth < MAX_DEPTH:
                        pending.append((Path(entry.path), depth + 1))
                elif entry.name.lower().endswith(MODEL_SUFFIX) and entry.is_file():
                    if count >= MAX_FILES:
                        return
                    count += 1
                    yield Path(entry.path)
            except OSError:
                continue


def orphan_partials(folder: Path) -> tuple[Path, ...]:
    """`.partial` files in our models folder that no journal explains: only deletable."""
    try:
        partials = sorted(folder.glob(f"*{MODEL_SUFFIX}.partial"))
    except OSError:
        return ()
    targets = ((p, p.with_name(p.name.removesuffix(".partial"))) for p in partials)
    return tuple(p for p, target in targets if not journal_path(target).exists())


def catalogue_names(entries: Iterable[CatalogueEntry]) -> dict[str, str]:
    return {entry.file.rsplit("/", 1)[-1].lower(): entry.name for entry in entries}
