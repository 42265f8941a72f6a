"""Everything the cards of the Models tab are made from, as one value."""

from __future__ import annotations

import msgspec

from app.auto_spec import OnCard
from app.library.catalogue import CatalogueEntry
from app.library.download_types import DownloadStatus
from app.library.fit import Machine
from app.library.local import LocalModel
from engine.types import Backend


class Engine(msgspec.Struct, frozen=True, kw_only=True):
    """What the engine slot is doing, as far as cards show it. Paths "" for nothing."""

    loaded: str = ""
    backend: Backend | None = None
    loading: str = ""
    failed: dict[str, str] = {}


class Knowledge(msgspec.Struct, frozen=True, kw_only=True):
    """Everything the cards are made from. Mappings are keyed by path."""

    models: tuple[LocalModel, ...] = ()
    catalogue: tuple[CatalogueEntry, ...] = ()
    downloads: dict[str, DownloadStatus] = {}
    engine: Engine = Engine()
    machine: Machine | None = None
    cache_bytes: dict[str, int] = {}
    speculation: dict[str, OnCard] = {}
    used: dict[str, float] = {}
    origins: dict[str, str] = {}
    orphans: tuple[str, ...] = ()
    problems: dict[str, str] = {}
