"""The settings dialog, the command palette and text zoom. Main thread."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject
from PySide6.QtGui import QKeySequence

from app import presets, storage_sizes
from app.desktop import open_folder
from app.notices import Notice
from ui import format as fmt
from ui import strings_history as words
from ui.command_palette import Command, CommandPalette
from ui.dialogs import confirm
from ui.main_window import MainWindow
from ui.settings_dialog import BASE_TEXT, SettingsDialog, SettingsView
from ui.theme import SCALES

if TYPE_CHECKING:
    from app.history_controller import HistoryController
    from app.services import Services

log = logging.getLogger(__name__)
FIELDS = frozenset(
    {
        "theme",
        "text_size",
        "density",
        "reduced_motion",
        "enter_sends",
        "show_footer",
        "load_at_start",
        "context_tokens",
        "threads",
        "cache",
        "gpu_float16",
    }
)


class SettingsController(QObject):
    """One settings dialog at a time; the palette lists commands and conversations."""

    def __init__(self, window: MainWindow, services: Services, owner: HistoryController) -> None:
        super().__init__(window)
        self._window = window
        self._services = services
        self._owner = owner
        self.dialog: SettingsDialog | None = None
        on = window.on_action
        on("settings", lambda: self.open())
        on("shortcuts", lambda: self.open("shortcuts"))
        on("palette", self.open_palette)
        on("zoom_in", lambda: self._zoom(1))
        on("zoom_out", lambda: self._zoom(-1))
        on("zoom_reset", lambda: services.settings.change(text_size=BASE_TEXT))

    # -- settings --------------------------------------------------------------------

    def open(self, section: str = "") -> SettingsDialog:
        """Opens the dialog, or brings the open one to the front."""
        if self.dialog is None:
            self.dialog = SettingsDialog(self._window, self._view())
            self.dialog.changed.connect(self._on_changed)
            self.dialog.open_folder_requested.connect(self._open_folder)
            self.dialog.clear_requested.connect(lambda _key: self._owner.run(self._clear_cache()))
            self.dialog.manage_requested.connect(self._manage)
            self.dialog.finished.connect(lambda _result: self._on_gone())
            self._owner.run(self._measure())
        if section:
            self.dialog.show_section(section)
        self.dialog.show()
        self.dialog.raise_()
        self.dialog.activateWindow()
        return self.dialog

    def _on_gone(self) -> None:
        self.dialog = None

    def _view(self) -> SettingsView:
        v = self._services.settings.value
        return SettingsView(
            theme=v.theme,
            text_size=v.text_size,
            density=v.density,
            reduced_motion=v.reduced_motion,
            enter_sends=v.enter_sends,
            show_footer=v.show_footer,
            presets=tuple(p.name for p in v.presets),
            default_preset=v.default_preset,
            load_at_start=v.load_at_start,
            context_tokens=v.context_tokens,
            threads=v.threads,
            cache=v.cache,
            gpu_float16=v.gpu_float16,
            places=storage_sizes.places(self._services.paths),
        )

    def _on_changed(self, name: str, value: object) -> None:
        if name == "default_preset":
            presets.set_default(self._services.settings, str(value))
        elif name in FIELDS:
            try:
                self._services.settings.change(**{name: value})
            except ValueError:
                log.warning("setting %s refused", name)

    def _zoom(self, step: int) -> None:
        sizes = [round(BASE_TEXT * s) for s in SCALES]
        now = self._services.settings.value.text_size
        nearest = min(range(len(sizes)), key=lambda i: abs(sizes[i] - now))
        wanted = sizes[min(len(sizes) - 1, max(0, nearest + step))]
        self._services.settings.change(text_size=wanted)

    async def _measure(self) -> None:
        loop = asyncio.get_running_loop()
        paths = self._services.paths
        sizes = await loop.run_in_executor(self._services.executor, storage_sizes.measure, paths)
        if self.dialog is not None:
            self.dialog.set_sizes(sizes)

    def _open_folder(self, key: str) -> None:
        open_folder(storage_sizes.places(self._services.paths)[key])

    def _manage(self, key: str) -> None:
        """The dialog of another part; it lies above this one, which stays open."""
        if key == "token" and self._services.library is not None:
            self._services.library.dialogs.token("", self.dialog)
        elif key == "servers" and self._services.tools is not None:
            self._services.tools.open_servers(self.dialog)

    async def _clear_cache(self) -> None:
        if not await confirm(
            self.dialog or self._window, words.PLACES["cache"], words.CLEAR_CACHE_ASK, words.CLEAR
        ):
            return
        models = self._services.library
        had = sum(models.library.cache_bytes().values())
        freed = await models.library.bin.clear_cache("", models.removal.in_use())
        text = words.CLEARED.format(size=fmt.size(freed))
        if had and not freed:
            text = words.NOT_CLEARED
        self._services.notices.post(Notice("cache_cleared", text, seconds=8))
        await self._measure()

    # -- palette ---------------------------------------------------------------------

    def open_palette(self) -> CommandPalette:
        palette = CommandPalette(self._window, self.commands())
        palette.chosen.connect(self._on_chosen)
        palette.place()
        palette.show()
        palette.field.setFocus()
        return palette

    def commands(self) -> list[Command]:
        """Every command that works now, then the conversations, newest first."""
        out = []
        for name, action in self._window.actions_by_name.items():
            if action.isVisible() and action.isEnabled() and name != "palette":
                keys = action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
                out.append(Command(f"action/{name}", action.text().replace("&", ""), keys))
        items = sorted(
            self._owner.sidebar.model.items().values(), key=lambda i: i.updated, reverse=True
        )
        for item in items:
            title = item.title or words.UNTITLED
            out.append(Command(f"chat/{item.id}", title, words.CONVERSATION))
        return out

    def _on_chosen(self, command: str) -> None:
        kind, _, name = command.partition("/")
        if kind == "action":
            self._window.action(name).trigger()
        else:
            self._owner.run(self._owner.open(name))
