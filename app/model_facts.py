"""Header facts of model files, read off the main thread and kept while a file is unchanged."""

from __future__ import annotations

import asyncio
import os
from concurrent.futures import Executor

from engine import model_file
from engine.errors import ModelFileError
from engine.types import ModelInfo


class ModelFacts:
    """Main thread; the reading happens on `executor`."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._known: dict[str, tuple[tuple[int, int], ModelInfo]] = {}

    async def inspect(self, path: str) -> ModelInfo:
        """Facts of a file. Raises `ModelFileError`."""
        loop = asyncio.get_running_loop()
        key, info = await loop.run_in_executor(self._executor, self._read, path)
        self._known[path] = (key, info)
        return info

    async def find(self, path: str) -> ModelInfo | None:
        """Like `inspect`, None for a file that is no usable model."""
        try:
            return await self.inspect(path)
        except ModelFileError:
            return None

    def known(self, path: str) -> ModelInfo | None:
        """What was read earlier, without touching the disk."""
        found = self._known.get(path)
        return found[1] if found else None

    def _read(self, path: str) -> tuple[tuple[int, int], ModelInfo]:
        try:
            status = os.stat(path)
            key = (status.st_size, status.st_mtime_ns)
        except OSError:
            key = (-1, -1)
        found = self._known.get(path)
        if found is not None and found[0] == key:
            return found
        return key, model_file.inspect(path)
