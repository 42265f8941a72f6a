"""Export, import, print and PDF, from a menu entry to a file. Main thread.

Reading and writing happen on the shared executor.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from PySide6.QtCore import QObject

from app import export, export_markdown
from app.conversation import Conversation
from app.export import TransferError
from app.notices import Level, Notice
from ui import print_view, strings_history
from ui import strings_history as words
from ui.dialogs import ask_file
from ui.main_window import MainWindow

if TYPE_CHECKING:
    from app.history_controller import HistoryController
    from app.services import Services

T = TypeVar("T")


class TransferController(QObject):
    """`form` is "markdown", "json" or "pdf"; the ending a person chooses wins."""

    def __init__(self, window: MainWindow, services: Services, owner: HistoryController) -> None:
        super().__init__(window)
        self._window = window
        self._services = services
        self._owner = owner
        self.folder = ""
        on = window.on_action
        on("export", lambda: self._with_current("markdown"))
        on("export_all", lambda: owner.run(self.export_all()))
        on("import", lambda: owner.run(self.import_file()))
        on("print", self._print_current)

    def _with_current(self, form: str) -> None:
        chat = self._services.chats.current()
        if chat is not None and chat.conversation.nodes:
            self._owner.run(self.export_one(chat.key, form))

    async def export_one(self, key: str, form: str) -> None:
        """Asks where and writes one conversation."""
        conversation = await self._owner.get(key)
        if conversation is None:
            return
        name = export_markdown.file_name(conversation.title)
        path = await self._ask_target(name, form)
        if path is not None:
            await self.write([conversation], path)

    async def export_all(self) -> None:
        path = await self._ask_target(words.ALL_FILE_NAME, "json", pdf=False)
        if path is not None:
            conversations = await self._services.history.load_all()
            await self.write(conversations, path)

    async def _ask_target(self, name: str, form: str, pdf: bool = True) -> Path | None:
        filters = {"markdown": words.MARKDOWN_FILES, "json": words.JSON_FILES}
        if pdf:
            filters["pdf"] = words.PDF_FILES
        ordered = [filters.pop(form), *filters.values()]
        ending = {"markdown": ".md", "json": ".json", "pdf": ".pdf"}[form]
        chosen = await ask_file(
            self._window,
            words.EXPORT_TITLE,
            ";;".join(ordered),
            folder=self.folder,
            save_as=name + ending,
        )
        if not chosen:
            return None
        path = Path(chosen[0])
        self.folder = str(path.parent)
        known = path.suffix.lower() in (".md", ".markdown", ".json", ".zip", ".pdf")
        return path if known else path.with_name(path.name + ending)

    async def write(self, conversations: list[Conversation], path: Path) -> bool:
        """Writes in the form of the ending; tells how it went."""
        ending = path.suffix.lower()
        try:
            if ending in (".md", ".markdown"):
                text = export_markdown.all_to_markdown(conversations)
                await self._work(lambda: export.write_text(path, text))
            elif ending == ".pdf":
                parts = [p for c in conversations for p in export_markdown.print_parts(c)]
                problem = await print_view.save_pdf(parts, str(path), conversations[0].title)
                if problem:
                    raise TransferError("export_failed", path.name, problem)
            else:
                store = self._owner.attachments.store
                path = await self._work(lambda: export.write(path, conversations, store))
        except TransferError as failure:
            self._tell(failure)
            return False
        self._services.notices.post(
            Notice("exported", words.EXPORTED.format(name=path.name), seconds=8)
        )
        return True

    async def import_file(self) -> None:
        filters = f"{words.IMPORT_FILES};;{strings_history.ANY_FILES}"
        for name in await ask_file(self._window, words.IMPORT, filters, folder=self.folder):
            await self.read(Path(name))

    async def read(self, path: Path) -> int:
        """Imports a file; returns how many conversations are new."""
        store = self._owner.attachments.store
        try:
            found = await self._work(lambda: export.read(path, store))
        except TransferError as problem:
            self._tell(problem)
            return 0
        existing = {}
        for conversation in found.conversations:
            here = await self._owner.get(conversation.id)
            if here is not None:
                existing[here.id] = here
        fresh, same = export.resolve_clashes(found.conversations, existing)
        await self._services.history.save_whole(fresh)
        self._owner.imported(fresh)
        parts = [words.IMPORTED_ONE if len(fresh) == 1 else words.IMPORTED.format(count=len(fresh))]
        if same:
            parts.append(words.IMPORTED_SAME.format(same=same))
        if found.missing:
            parts.append(words.IMPORTED_MISSING.format(missing=found.missing))
        self._services.notices.post(Notice("imported", " ".join(parts), seconds=10))
        return len(fresh)

    def _print_current(self) -> None:
        chat = self._services.chats.current()
        if chat is not None and chat.conversation.nodes:
            parts = export_markdown.print_parts(chat.conversation)
            print_view.print_with_dialog(
                parts, self._window, lambda: self._tell(TransferError("print_failed", ""))
            )

    async def _work(self, work: Callable[[], T]) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._services.executor, work)

    def _tell(self, problem: TransferError) -> None:
        text = strings_history.problem(problem.code, problem.params)
        self._services.notices.post(Notice("transfer", text, level=Level.WARNING))
