"""From a file to the engine: header checks before any load, in plain sentences.

Main thread; headers are read on a helper thread. A file that only asks for a newer engine
can be tried anyway; all other findings are final.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from app.notices import Action, Level, Notice
from app.wording import explain
from engine import model_file
from engine.errors import ModelFileError
from engine.types import ModelInfo
from ui import format as fmt
from ui import model_strings as words
from ui import strings
from ui.controls import announce
from ui.dialogs import confirm

if TYPE_CHECKING:
    from app.models_controller import ModelsController


class ModelOpening:
    def __init__(self, owner: ModelsController) -> None:
        self._owner = owner
        self._told: set[str] = set()
        self._tried: set[str] = set()
        """Files a person chose to try although they ask for a newer engine; asked once a run."""

    async def open(self, path: str) -> None:
        """Checks, remembers and loads a file: the engine's load path asks `admit` first."""
        await self._owner.services.models.flow.open_file(_absolute(path))

    async def admit(self, path: str) -> bool:
        """The gate of every load that begins with a file: opened, dropped, handed over."""
        path = _absolute(path)
        if await self.check(path) is None:
            return False
        await self._owner.library.add_opened(path)
        return True

    async def check(self, path: str) -> ModelInfo | None:
        """The facts of a file worth loading; otherwise None, and the person knows why."""
        path = _absolute(path)
        try:
            info = await self._owner.services.facts.inspect(path)
            model_file.check_loadable(info, try_anyway=path in self._tried)
        except ModelFileError as error:
            if error.code != "needs_runtime":
                self._refuse(path, error)
                return None
            if not await self._ask_anyway(path, error):
                return None
            self._tried.add(path)
            return await self._owner.services.facts.find(path)
        return info

    async def ask(self) -> None:
        """The system's file dialog, then the chosen files."""
        for path in await self._owner.dialogs.ask_models():
            await self.open(path)

    async def add(self, paths: list[str]) -> None:
        """Adds what was dropped to the list; files stay where they are."""
        added: list[str] = []
        for path in map(_absolute, paths):
            if await self.check(path) is not None:
                await self._owner.library.add_opened(path)
                added.append(path)
        tab = self._owner.tab
        if added and tab is not None:
            tab.reveal(added[0])
            announce(tab, words.OPENED_ANNOUNCE.format(name=Path(added[0]).name))

    async def tell_known_problem(self, path: str) -> None:
        """Says once a run what is known to be wrong with a file that was just loaded."""
        problem = await self._owner.library.known_problem(path)
        if problem and path not in self._told:
            self._told.add(path)
            title = words.KNOWN_PROBLEM_TITLE.format(name=fmt.plain(Path(path).name, 80))
            text = words.KNOWN_PROBLEMS[problem]
            self._owner.services.notices.post(Notice("known_problem", text, title=title))

    async def _ask_anyway(self, path: str, error: ModelFileError) -> bool:
        name, params = Path(path).name, error.params
        text = words.NEEDS_RUNTIME_ASK.format(
            name=name, wanted=params.get("needs", ""), have=params.get("has", "")
        )
        title = words.NOT_LOADED_TITLE.format(name=name)
        return await confirm(self._owner.window, title, text, words.TRY_ANYWAY)

    def _refuse(self, path: str, error: ModelFileError) -> None:
        owner, params = self._owner, {"name": Path(path).name, **error.params, "path": path}
        if error.code == "incomplete":
            params |= {"have": _count(params.get("has")), "want": _count(params.get("needs"))}
        text = explain(ModelFileError(error.code, error.detail, **params))
        actions = [Action(strings.OPEN_FILE, lambda: owner.keep(self.ask()))]
        model = owner.library.model(path)
        if model is not None and owner.library.can_download_again(model):
            again = Action(words.DOWNLOAD_AGAIN, lambda: owner.download_again(path), primary=True)
            actions.append(again)
        owner.services.notices.post(
            Notice(
                "model_refused",
                text.sentence,
                title=text.headline,
                level=Level.ERROR,
                detail=text.details,
                actions=tuple(actions),
            )
        )


def _absolute(path: str) -> str:
    return os.path.abspath(os.path.expanduser(path))


def _count(text: str | None) -> str:
    return f"{int(text):,}" if text and text.isdecimal() else ""
