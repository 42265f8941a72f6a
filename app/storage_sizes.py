"""How much room the program's files take. Worker thread."""

from __future__ import annotations

from pathlib import Path

from app.paths import Paths


def places(paths: Paths) -> dict[str, str]:
    """Where everything lies, by the keys of the settings dialog."""
    return {
        "history": str(paths.history_file),
        "attachments": str(paths.attachments),
        "models": str(paths.models),
        "cache": str(paths.engine_cache_root),
        "logs": str(paths.logs),
        "settings": str(paths.settings_file),
    }


def measure(paths: Paths) -> dict[str, int | None]:
    """Bytes per place; 0 for one that does not exist, None for one that cannot be read."""
    history = [paths.history_file.with_name(paths.history_file.name + s) for s in ("", "-wal")]
    found: dict[str, int | None] = {"history": sum(_file_size(f) for f in history)}
    for key, folder in (
        ("attachments", paths.attachments),
        ("models", paths.models),
        ("cache", paths.engine_cache_root),
        ("logs", paths.logs),
    ):
        try:
            found[key] = sum(_file_size(f) for f in folder.rglob("*") if f.is_file())
        except OSError:
            found[key] = None
    found["settings"] = _file_size(paths.settings_file)
    return found


def _file_size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
