"""Whether there is room for a second engine cache while the first load is timed."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

FACTOR = 1.5
"""A cache can be as large as its model (engine-facts); half as much again stays free."""


def room_for_cache(model_path: str, folder: Path) -> bool:
    try:
        return shutil.disk_usage(folder).free > FACTOR * os.path.getsize(model_path)
    except OSError:
        return False
