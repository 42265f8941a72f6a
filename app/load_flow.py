"""The way from "another model" to a load: picker, file, load dialog. Main thread."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from app.model_facts import ModelFacts
from app.settings import SettingsStore
from ui import strings
from ui.dialogs import ask_file
from ui.main_window import MainWindow

if TYPE_CHECKING:
    from app.engine_controller import EngineController


class LoadFlow:
    """Each method is one coroutine from a click to a load (or to nothing)."""

    def __init__(
        self,
        window: MainWindow,
        owner: EngineController,
        facts: ModelFacts,
        settings: SettingsStore,
    ) -> None:
        self._window = window
        self._owner = owner
        self._facts = facts
        self._settings = settings
        self.gate: Callable[[str], Awaitable[bool]] | None = None
        """Set by the model library: checks a file by its header before anything else, tells
        the person what is wrong with it, and answers whether to go on."""

    async def pick(self) -> None:
        await self.ask_file()

    async def ask_file(self) -> None:
        filters = f"{strings.MODEL_FILES};;{strings.ALL_FILES}"
        for path in await ask_file(self._window, strings.OPEN_FILE, filters):
            await self.open_file(path)

    async def open_file(self, path: str) -> None:
        if self.gate is not None and not await self.gate(path):
            return
        info = await self._facts.inspect(path)
        options = self._owner.fitting(self._owner.options_for(path), info)
        await self._owner.switch(options)

    async def configure(self) -> None:
        """Load settings of the model in use."""
