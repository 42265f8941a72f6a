"""File names that came from somewhere else, made safe to write into our models folder."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

from app.model_names import MODEL_SUFFIX

_MAX_LENGTH = 150
_MAX_BYTES = 200
_RESERVED = re.compile(r"^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)", re.IGNORECASE)
_EDGES = re.compile(r"^[\s.]+|[\s.]+$")
_FORBIDDEN = re.compile(r'[<>:"/\\|?*\x00-\x1f\x7f]')


def safe_file_name(name: str) -> str:
    """A plain file name ending in `.litertlm`, valid on all systems, never a path.

    Only the last component counts, whatever the separator; control, direction-changing and
    other invisible characters go, and names Windows reserves get an underscore.
    """
    last = re.split(r"[/\\]", name.strip())[-1]
    kept = "".join(c for c in last if unicodedata.category(c) not in {"Cc", "Cf", "Cs", "Co"})
    clean = _FORBIDDEN.sub("_", unicodedata.normalize("NFC", kept))
    clean = _EDGES.sub("", clean)
    stem = clean[: -len(MODEL_SUFFIX)] if clean.lower().endswith(MODEL_SUFFIX) else clean
    stem = _EDGES.sub("", stem)[:_MAX_LENGTH]
    # Disks count bytes, and some letters take four; what was cut in two is left out.
    stem = _EDGES.sub("", stem.encode()[:_MAX_BYTES].decode(errors="ignore")) or "model"
    if _RESERVED.match(stem):
        stem = f"_{stem}"
    return stem + MODEL_SUFFIX


def free_target(folder: Path, name: str, taken: frozenset[Path] = frozenset()) -> Path:
    """`folder/name`, or the first `name (2)`, `name (3)` … neither on disk nor in `taken`."""
    safe = safe_file_name(name)
    stem = safe[: -len(MODEL_SUFFIX)]
    number = 1
    while True:
        shown = safe if number == 1 else f"{stem} ({number}){MODEL_SUFFIX}"
        target = folder / shown
        if target not in taken and not target.exists() and not partial_path(target).exists():
            return target
        number += 1


def partial_path(target: Path) -> Path:
    """Where the bytes of an unfinished download lie: beside the file they will become."""
    return target.with_name(target.name + ".partial")


def journal_path(target: Path) -> Path:
    """The small file that lets a download go on after a restart."""
    return target.with_name(target.name + ".partial.json")
