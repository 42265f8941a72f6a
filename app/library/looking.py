"""One look at the disk: all models, left-overs, caches and the machine, as one value.

Blocks; runs on the library's helper thread.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path

import msgspec

from app.library import local
from app.library.cache import CacheUsage, EngineCache, folder_usage
from app.library.capabilities import CapabilityCache
from app.library.failures import DownloadFailure
from app.library.fit import Machine, this_machine
from app.library.local import LocalModel, Places
from app.paths import private_folder
from engine import model_file
from engine.errors import ModelFileError

_log = logging.getLogger(__name__)


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """What one look at the disk gave."""

    models: tuple[LocalModel, ...]
    orphans: tuple[str, ...]
    usage: tuple[CacheUsage, ...]
    folder_cache: int
    machine: Machine


def look_around(
    places: Places,
    facts: CapabilityCache,
    cache: EngineCache,
    names: Mapping[str, str],
    cache_mode: str,
) -> Found:
    return Found(
        models=local.scan(places, facts, model_file.inspect, names),
        orphans=tuple(str(p) for p in local.orphan_partials(places.own)),
        usage=cache.usage(),
        folder_cache=folder_usage(cache_mode),
        machine=this_machine(places.own),
    )


def check_whole(path: Path) -> None:
    """A downloaded file without a published hash: its header must be one of a whole model."""
    try:
        info = model_file.inspect(path)
    except ModelFileError as error:
        _log.info("downloaded file is no model: %s", error.code)
        raise DownloadFailure("not_a_model") from None
    if info.file_bytes < info.expected_bytes:
        raise DownloadFailure("incomplete")


def try_folder(folder: Path) -> Path | None:
    try:
        return private_folder(folder)
    except OSError as error:
        _log.warning("models folder cannot be made: %s", error.strerror)
        return None
