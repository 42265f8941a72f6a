"""The storage window: model folders, the engine cache and its limits.

Main thread; sizes come from the library's last look at the disk, clearing runs on its
helper thread.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QFileDialog

from app.desktop import open_folder
from app.library.cache import CacheUsage
from app.paths import model_key
from ui import format as fmt
from ui import model_strings as words
from ui.cache_page import StorageDialog
from ui.model_views import CacheRowView, StorageView

if TYPE_CHECKING:
    from app.models_controller import ModelsController

GB = 10**9
CUSTOM = "folder"


class ModelStorage:
    """`dialog` is None while it is closed."""

    def __init__(self, owner: ModelsController) -> None:
        self._owner = owner
        self.dialog: StorageDialog | None = None
        self._note = ""
        owner.changed.connect(self._refresh)
        owner.services.settings.subscribe(lambda _value: self._refresh())

    def open(self) -> None:
        owner, self._note = self._owner, ""
        dialog = self.dialog = StorageDialog(self.view(), owner.window)
        dialog.mode_chosen.connect(lambda mode: owner.keep(self._set_mode(mode)))
        dialog.cap_chosen.connect(self._set_cap)
        dialog.clear_requested.connect(lambda key: owner.keep(self._clear(key)))
        dialog.add_folder_requested.connect(lambda: owner.keep(self._add_folder()))
        dialog.remove_folder_requested.connect(self._remove_folder)
        dialog.show_requested.connect(open_folder)
        dialog.finished.connect(self._on_finished)
        dialog.open()
        owner.keep(owner.library.rescan())

    def view(self) -> StorageView:
        library, settings = self._owner.library, self._owner.services.settings.value
        found = library.found
        rows = [self._row(usage) for usage in (found.usage if found else ())]
        total = sum(u.bytes for u in (found.usage if found else ()))
        if found is not None and found.folder_cache:
            total += found.folder_cache
            rows.append(
                CacheRowView(key=CUSTOM, name=settings.cache, size=fmt.size(found.folder_cache))
            )
        custom = os.path.isabs(settings.cache)
        modes = ("disk", "no", CUSTOM) if sys.platform == "win32" else StorageView().modes
        return StorageView(
            own_folder=str(library.own_folder),
            folders=settings.model_folders,
            mode=CUSTOM if custom else settings.cache,
            modes=modes,
            cache_folder=settings.cache if custom else "",
            cap_gb=settings.cache_cap_bytes // GB,
            total=fmt.size(total),
            rows=tuple(rows),
            note=self._note,
        )

    def _row(self, usage: CacheUsage) -> CacheRowView:
        found = self._owner.library.found
        names = {model_key(m.path): m.name for m in (found.models if found else ())}
        name = names.get(usage.key, "")
        readable = usage.key.rpartition("-")[0]
        shown = name or f"{readable} ({words.CACHE_UNKNOWN})"
        if not usage.current:
            shown = words.CACHE_OLD.format(name=name or readable, version=usage.version)
        busy = usage.current and usage.key == self._busy_key()
        return CacheRowView(
            key=f"{usage.version}/{usage.key}",
            name=fmt.plain(shown, 120),
            size=fmt.size(usage.bytes),
            note=words.CACHE_IN_USE if busy else "",
            clearable=not busy,
        )

    def _busy_key(self) -> str:
        path = self._owner.removal.in_use()
        return model_key(path) if path else ""

    async def _clear(self, key: str) -> None:
        library, in_use = self._owner.library, self._owner.removal.in_use()
        if key == CUSTOM:
            freed = await library.bin.clear_folder_cache()
        else:
            freed = await library.bin.clear_cache(key, in_use)
        self._note = words.CLEARED.format(size=fmt.size(freed)) if freed else words.NOT_CLEARED
        self._refresh()

    async def _set_mode(self, mode: str) -> None:
        value = mode
        if mode == CUSTOM:
            value = await self._ask_folder() or ""
        if value:
            self._owner.services.settings.change(cache=value)
            self._note = words.NEXT_LOAD
        self._refresh()
        await self._owner.library.rescan()

    def _set_cap(self, gigabytes: int) -> None:
        if gigabytes * GB != self._owner.services.settings.value.cache_cap_bytes:
            self._owner.services.settings.change(cache_cap_bytes=gigabytes * GB)
            self._owner.keep(self._owner.library.rescan())

    async def _add_folder(self) -> None:
        settings = self._owner.services.settings
        folder = await self._ask_folder()
        if folder and folder not in settings.value.model_folders:
            settings.change(model_folders=(*settings.value.model_folders, folder))

    def _remove_folder(self, folder: str) -> None:
        settings = self._owner.services.settings
        kept = tuple(f for f in settings.value.model_folders if f != folder)
        settings.change(model_folders=kept)

    async def _ask_folder(self) -> str:
        """The system's folder dialog; "" when cancelled."""
        future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        dialog = QFileDialog(self.dialog, words.ADD_FOLDER, str(Path.home()))
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setOption(QFileDialog.Option.ShowDirsOnly)

        def finish(result: int) -> None:
            chosen = dialog.selectedFiles() if result else []
            if not future.done():
                future.set_result(os.path.abspath(chosen[0]) if chosen else "")

        dialog.finished.connect(finish)
        dialog.open()
        try:
            return await future
        finally:
            dialog.deleteLater()

    def _refresh(self) -> None:
        if self.dialog is not None:
            view = self.view()
            if view != self.dialog.view():
                self.dialog.set_view(view)
            elif self.dialog.modes.value() != view.mode:
                self.dialog.modes.set_value(view.mode)

    def _on_finished(self) -> None:
        self.dialog = None
