"""The way from "another model" to a load: picker, file, load dialog. Main thread."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from PySide6.QtWidgets import QDialog

import resources
from app.backend_check import BackendCheck
from app.load_view import broken_card, load_view, model_card
from app.model_facts import ModelFacts
from app.settings import SettingsStore, clean_spec
from engine import model_file
from engine.errors import EngineError, ModelFileError
from engine.types import Backend, LoadOptions, ModelInfo, SpecMode
from ui import strings
from ui import strings_core as words
from ui.dialogs import ask_file
from ui.main_window import MainWindow
from ui.views import LoadChoice, LoadDialogView, PickerView

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
        self.check = BackendCheck()
        self.gate: Callable[[str], Awaitable[bool]] | None = None
        """Set by the model library: checks a file by its header before anything else, tells
        the person what is wrong with it, and answers whether to go on."""
        self.local_models: Callable[[], Sequence[str]] = tuple
        """Set by the model library: paths of the models on this computer."""
        self.browse: Callable[[], None] | None = None
        """Set by the model library: shows its catalogue."""
        self.measured: Callable[[str, Backend], dict[SpecMode, str]] = lambda _path, _on: {}
        """Set by the benchmark: texts of the speculative picker."""
        self.measure: Callable[[str, Backend], None] | None = None
        """Set by the benchmark: opens the tab, aimed at a model."""

    async def pick(self) -> None:
        """The picker, then the load dialog of what was chosen."""
        from ui.model_picker import ModelPicker

        dialog = ModelPicker(await self.picker_view(), self._window)
        dialog.catalogue_button.setVisible(self.browse is not None)
        chosen: list[str] = []
        browse: list[bool] = []
        dialog.picked.connect(chosen.append)
        dialog.file_picked.connect(chosen.append)
        dialog.catalogue_requested.connect(lambda: browse.append(True))
        await _closed(dialog)
        if browse and self.browse is not None:
            self.browse()
        for path in chosen[:1]:
            await self.open_file(path)

    async def ask_file(self) -> None:
        filters = f"{strings.MODEL_FILES};;{strings.ALL_FILES}"
        for path in await ask_file(self._window, strings.OPEN_FILE, filters):
            await self.open_file(path)

    async def open_file(self, path: str, *, ask: bool = True) -> None:
        """Checks a file and loads it, after the load dialog unless `ask` is False."""
        info = await self._admitted(path)
        if info is None:
            return
        options = self._owner.fitting(self._owner.options_for(info.path), info)
        await self._load(info, options, ask)

    async def configure(self) -> None:
        """Load settings of the model in use."""
        options = self._owner.picked
        if options is None:
            await self.pick()
            return
        info = await self._facts.find(options.model_path)
        if info is not None:
            await self._load(info, options, ask=True)

    async def picker_view(self) -> PickerView:
        """All models that can be chosen, each once."""
        settings = self._settings.value
        recent = settings.recent_models
        paths = dict.fromkeys((*recent, str(resources.DEMO_MODEL), *self.local_models()))
        cards = []
        in_use = self._owner.picked
        for path in paths:
            loaded = in_use is not None and in_use.model_path == path
            try:
                info = await self._facts.inspect(path)
            except ModelFileError as problem:
                if problem.code != "not_found":
                    cards.append(broken_card(path, problem, recent=path in recent))
            else:
                cards.append(model_card(info, recent=path in recent, loaded=loaded))
        order = (strings.RECENT, strings.COMES_WITH, strings.ON_THIS_COMPUTER)
        cards.sort(key=lambda card: order.index(card.group))
        return PickerView(cards=tuple(cards), selected=in_use.model_path if in_use else "")

    async def _admitted(self, path: str) -> ModelInfo | None:
        """The facts of a file that may be loaded; otherwise None, and it was said why."""
        path = _absolute(path)
        if self.gate is not None:
            return await self._facts.find(path) if await self.gate(path) else None
        try:
            info = await self._facts.inspect(path)
            model_file.check_loadable(info)
        except EngineError as problem:
            self._owner.notices.load_failed(self._owner.options_for(path), problem, None)
            return None
        return info

    async def _load(self, info: ModelInfo, options: LoadOptions, ask: bool) -> None:
        if not ask:
            await self._owner.switch(options)
            return
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(None, self.check.look)
        spec = clean_spec(self._settings.value.chat.spec, info.supports_mtp)
        crashed = self._settings.crashed_with(info.path, options.backend)
        note = ""
        if crashed is not None:
            note = f"{strings.BACKENDS[options.backend]}: {words.CRASHED_HERE} ({crashed.exit})"
        view = load_view(info, options, spec, self.check, self.measured, note)
        choice = await self._ask(view)
        if choice is None:
            return
        wanted = msgspec.structs.replace(
            options,
            backend=choice.backend,
            context_tokens=choice.context_tokens,
            threads=choice.threads,
            cache=choice.cache,
        )
        await self._owner.switch(wanted, choice.spec if info.supports_mtp else None)

    async def _ask(self, view: LoadDialogView) -> LoadChoice | None:
        from ui.load_dialog import LoadDialog

        dialog = LoadDialog(view, self._window)
        chosen: list[LoadChoice] = []
        dialog.chosen.connect(chosen.append)
        measure: list[Backend] = []
        dialog.measure_requested.connect(lambda: measure.append(dialog.choice().backend))
        await _closed(dialog)
        if measure and self.measure is not None:
            self.measure(view.path, measure[0])
        return chosen[0] if chosen else None


async def _closed(dialog: QDialog) -> None:
    """Opens a dialog and waits until it is closed. Cancelling the wait closes it."""
    done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def finish(_result: int) -> None:
        if not done.done():
            done.set_result(None)

    dialog.finished.connect(finish)
    dialog.open()
    try:
        await done
    except asyncio.CancelledError:
        dialog.reject()
        raise


def _absolute(path: str) -> str:
    return str(Path(path).expanduser().absolute())
