"""sha256 of whole files."""

from __future__ import annotations

import hashlib
import threading
from pathlib import Path


def hash_blocking(path: Path, stop: threading.Event | None = None) -> str:
    """In hex, on the calling thread; meaningless after `stop` was set. Raises `OSError`."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while not (stop and stop.is_set()) and (block := file.read(1 << 20)):
            digest.update(block)
    return digest.hexdigest()
