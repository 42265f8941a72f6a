"""What a model is called wherever a person reads it: header, cards, answers, records.

Pure but for one small file of ours, read once. Any thread.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

import msgspec

import resources

MODEL_SUFFIX = ".litertlm"
DEMO_NAME = "Tandem demo"


@lru_cache(maxsize=1)
def _catalogue() -> dict[str, str]:
    """File name in lower case -> the catalogue's name; empty when the file is damaged."""
    try:
        raw = msgspec.json.decode((resources.FOLDER / "models.json").read_bytes())
        return {str(m["file"]).rsplit("/", 1)[-1].lower(): str(m["name"]) for m in raw["models"]}
    except (OSError, msgspec.MsgspecError, KeyError, TypeError):
        return {}


def display_name(path: Path | str, catalogue_names: Mapping[str, str] | None = None) -> str:
    """The catalogue's name for this file name, else the file name without its ending."""
    name = Path(path).name
    if name == resources.DEMO_MODEL.name:
        return DEMO_NAME
    known = (_catalogue() if catalogue_names is None else catalogue_names).get(name.lower())
    return known or name.removesuffix(MODEL_SUFFIX)
