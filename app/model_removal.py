"""Deleting, undoing, clearing caches, copying in: with questions before and words after.

Main thread; the library does the work.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from app.library.delete import DeletePlan, Held, StillLoaded
from app.model_names import display_name
from app.notices import Action, Level, Notice
from app.paths import model_key
from ui import format as fmt
from ui import model_strings as words
from ui.dialogs import confirm

if TYPE_CHECKING:
    from app.models_controller import ModelsController


STOP_S = 3.0


class ModelRemoval:
    def __init__(self, owner: ModelsController) -> None:
        self._owner = owner

    async def delete(self, path: str) -> None:
        """Asks, says how much is freed, deletes, offers to undo. A loaded model is unloaded
        first if the person wants that."""
        owner, name = self._owner, self._name(path)
        if _same(self._loaded(), path):
            title = words.DELETE_LOADED_TITLE.format(name=name)
            text = words.DELETE_LOADED_TEXT
            if not await confirm(owner.window, title, text, words.UNLOAD_AND_DELETE):
                return
            await owner.services.models.unload()
        await self._stop_download(path)
        try:
            plan = await owner.library.bin.plan(path)
            if not await self._confirmed(name, plan):
                return
            held = await owner.library.bin.remove(plan, self._loaded() or None)
        except (StillLoaded, OSError) as error:
            reason = getattr(error, "strerror", None) or words.DELETE_LOADED_TEXT
            self._say("delete", words.DELETE_FAILED.format(name=name, reason=reason), Level.ERROR)
            return
        text = words.DELETED.format(name=name, freed=fmt.size(plan.freed))
        undo = Action(words.UNDO, lambda: owner.keep(self._undo(held, name)), primary=True)
        owner.services.notices.post(Notice(f"deleted:{path}", text, actions=(undo,)))

    async def _stop_download(self, path: str) -> None:
        """A file that is just being fetched anew must not come back after it was deleted."""
        fetch = self._owner.library.fetch
        for status in [s for s in fetch.status.values() if s.target == path]:
            fetch.cancel(status.key)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(STOP_S):
                    while status.key in fetch.status:  # noqa: ASYNC110 - told by a plain dict
                        await asyncio.sleep(0.02)

    async def _confirmed(self, name: str, plan: DeletePlan) -> bool:
        text = words.DELETE_TEXT.format(
            freed=fmt.size(plan.freed),
            file=fmt.size(plan.file_bytes),
            cache=fmt.size(plan.cache_bytes),
        )
        title = words.DELETE_TITLE.format(name=name)
        return await confirm(self._owner.window, title, text, words.DELETE_VERB)

    async def _undo(self, held: Held, name: str) -> None:
        try:
            await self._owner.library.bin.undo(held)
        except OSError as error:
            reason = error.strerror or str(error)
            self._say("undo", words.UNDO_FAILED.format(name=name, reason=reason), Level.ERROR)

    async def clear_cache(self, path: str) -> None:
        library = self._owner.library
        had = library.cache_bytes().get(path, 0)
        freed = await library.bin.clear_cache(model_key(path), self.in_use())
        if had and not freed:
            self._say("cleared", words.NOT_CLEARED, Level.WARNING)
        else:
            self._say("cleared", words.CLEARED.format(size=fmt.size(freed)))

    async def copy_in(self, path: str) -> None:
        name = Path(path).name
        try:
            await self._owner.library.copy_in(path)
        except OSError as error:
            text = words.COPY_FAILED.format(name=name, reason=error.strerror or str(error))
            self._say("copied", text, Level.ERROR)
        else:
            self._say("copied", words.COPIED_IN.format(name=name))

    def in_use(self) -> str:
        """The model whose cache must stay: loaded, or just being loaded."""
        state = self._owner.services.state.engine
        if state.loaded is not None:
            return state.loaded.options.model_path
        return state.wanted.model_path if state.wanted is not None else ""

    def _loaded(self) -> str:
        return self.in_use()

    def _name(self, path: str) -> str:
        model = self._owner.library.model(path)
        return fmt.plain(model.name if model else display_name(Path(path)), 80)

    def _say(self, key: str, text: str, level: Level = Level.INFO) -> None:
        seconds = 8.0 if level is Level.INFO else None
        self._owner.services.notices.post(
            Notice(f"models:{key}", text, level=level, seconds=seconds)
        )


def _same(one: str, other: str) -> bool:
    return bool(one) and os.path.realpath(one) == os.path.realpath(other)
