"""Deleting with a way back, and clearing caches, for the window's loop.

Belongs to the event loop's thread; the work runs on the library's helper thread.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from app.library import delete
from app.library.cache import clear_folder
from app.paths import model_key
from app.settings import SettingsStore

if TYPE_CHECKING:
    from app.library.service import Library


class Bin:
    """Deleted models wait here until the program quits."""

    def __init__(self, library: Library, settings: SettingsStore) -> None:
        self._library = library
        self._settings = settings
        self._held: list[delete.Held] = []

    async def start(self) -> None:
        """Finishes what a run that crashed had deleted."""
        await self._library.on_disk(self._commit_leftovers)

    async def close(self) -> None:
        """Hands what was deleted to the trash."""
        held, self._held = self._held, []
        await self._library.on_disk(delete.commit, held)

    async def plan(self, path: str) -> delete.DeletePlan:
        return await self._library.on_disk(delete.plan, path, self._library.cache)

    async def remove(self, wanted: delete.DeletePlan, loaded: str | None) -> delete.Held:
        """Raises `StillLoaded` or `OSError`."""
        held = await self._library.on_disk(delete.delete, wanted, self._library.cache, loaded)
        self._held.append(held)
        await self._library.rescan()
        return held

    async def undo(self, held: delete.Held) -> None:
        """Raises `OSError`, `FileExistsError` among them."""
        await self._library.on_disk(delete.undo, held)
        self._held.remove(held)
        await self._library.rescan()

    async def clear_cache(self, key: str, in_use: str) -> int:
        """Clears one model key (or `version/key`), or everything for "", but never the cache
        in use. Bytes freed."""
        keep = {model_key(in_use)} if in_use else set()
        if key:
            freed = await self._library.on_disk(self._library.cache.clear_keys, {key}, keep)
        else:
            freed = await self._library.on_disk(self._library.cache.clear_all, keep)
        await self._library.rescan()
        return freed

    async def clear_folder_cache(self) -> int:
        """Removes the engine's files from the folder a person chose, and nothing else."""
        freed = await self._library.on_disk(clear_folder, self._settings.value.cache)
        await self._library.rescan()
        return freed

    def _commit_leftovers(self) -> None:
        folders = [self._library.own_folder, *(Path(f) for f in self._settings.value.model_folders)]
        delete.commit(delete.leftovers(folders))
