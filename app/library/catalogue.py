"""The catalogue of models Tandem offers to fetch: `resources/models.json`, typed.

Read on any thread. The facts in it are a fallback for files that are not here yet; once a
file is on this computer, only its own header counts.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

import resources
from engine.types import SamplerDefaults

CATALOGUE_FILE = resources.FOLDER / "models.json"


class CatalogueEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One model on Hugging Face, pinned to a revision. Sizes in bytes, context in tokens."""

    name: str
    repo: str
    file: str
    revision: str
    bytes: int
    min_memory_bytes: int
    context: int
    mtp: bool = False
    image: bool = False
    audio: bool = False
    thinking: bool = False
    gated: bool = False
    sampler: SamplerDefaults = SamplerDefaults()

    @property
    def key(self) -> str:
        """Names the entry in the window: stable as long as repo and file are."""
        return f"{self.repo}/{self.file}"


class _Catalogue(msgspec.Struct, frozen=True):
    format: int
    models: tuple[CatalogueEntry, ...]


def load_catalogue(path: Path = CATALOGUE_FILE) -> tuple[CatalogueEntry, ...]:
    """Reads the catalogue. Raises `msgspec.MsgspecError` or `OSError` on a damaged install."""
    return msgspec.json.decode(path.read_bytes(), type=_Catalogue).models
