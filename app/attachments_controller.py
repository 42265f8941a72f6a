"""Attach, paste and drop: from a file to the strip above the box, and into the message.

Main thread; reading, decoding and shrinking happen on the shared executor. Files wait in
the draft of their conversation, and so over a restart, until its next message takes them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from PySide6.QtCore import QObject, QUrl
from PySide6.QtGui import QDesktopServices, QImage

from app import attachments
from app.attachment_images import encode, prepare
from app.attachments import AttachmentError, AttachmentStore
from app.conversation import Attachment
from app.model_names import display_name
from app.notices import Level, Notice
from ui import format as fmt
from ui import strings, strings_history
from ui.attachment_strip import AttachmentStrip
from ui.dialogs import ask_file
from ui.main_window import MainWindow
from ui.views import AttachmentView

if TYPE_CHECKING:
    from app.services import Services

T = TypeVar("T")
Run = Callable[[Coroutine[object, object, object]], None]
IMAGES = "*.png *.jpg *.jpeg *.webp *.gif *.bmp"
SOUNDS = "*.wav *.mp3 *.flac"
MODEL_END = ".litertlm"


class AttachmentsController(QObject):
    """Fills the hooks of `ChatController`: take, return, allowed."""

    def __init__(self, window: MainWindow, services: Services, run: Run) -> None:
        super().__init__(window)
        self._window = window
        self._services = services
        self._run = run
        self._chats = services.chats
        self.store = AttachmentStore(services.paths.attachments, prepare)
        self._strips: dict[str, AttachmentStrip] = {}
        self._chats.take_attachments = self.take
        self._chats.return_attachments = self.give_back
        self._chats.attachments_fit = self.fits
        self._chats.attach_allowed = True
        self._chats.opened.connect(self._on_opened)
        self._chats.closed.connect(self._on_closed)
        for chat in self._chats.chats:
            self._on_opened(chat.key)
        window.on_action("attach", self._on_action)

    def take(self, key: str) -> tuple[Attachment, ...] | None:
        """What waits in the strip of a chat, taken out of it. None, and it was said why, when
        the model in use cannot take it: the message must stay as it is."""
        waiting = self._waiting(key)
        if not self.fits(waiting):
            return None
        self._keep(key, ())
        return waiting

    def fits(self, files: Iterable[Attachment]) -> bool:
        """Whether the model in use can take these; False, and it was said why, when not."""
        for kind in sorted({a.kind for a in files}):
            if self._refusal(kind) not in ("", "no_model"):
                self._refuse(kind)
                return False
        return True

    def give_back(self, key: str, files: tuple[Attachment, ...]) -> None:
        """Puts files into the strip again (a message that was not taken)."""
        if files:
            self._keep(key, (*files, *self._waiting(key)))

    def _waiting(self, key: str) -> tuple[Attachment, ...]:
        chat = self._chats.chat(key)
        return chat.conversation.draft_files if chat is not None else ()

    def _keep(self, key: str, files: tuple[Attachment, ...]) -> None:
        chat = self._chats.chat(key)
        if chat is not None:
            chat.set_draft_files(files)
            self._chats.drafted.emit(key)
            self._show(key)

    async def sweep(self, in_use: Iterable[str]) -> None:
        """Removes stored files that no turn and no unsent message refers to."""
        waiting = {a.file for c in self._chats.chats for a in c.conversation.draft_files}
        keep = {*in_use, *waiting}
        await asyncio.get_running_loop().run_in_executor(
            self._services.executor, self.store.sweep, keep
        )

    def _on_opened(self, key: str) -> None:
        page = self._window.chat.page(key)
        if page is None or key in self._strips:
            return
        strip = AttachmentStrip()
        strip.removed.connect(lambda name: self._remove(key, name))
        page.set_attachment_strip(strip)
        self._strips[key] = strip
        page.attach_requested.connect(lambda: self._run(self._ask(key)))
        page.files_dropped.connect(lambda paths: self._run(self.add_files(key, paths)))
        page.image_pasted.connect(lambda image: self._run(self._paste(key, image)))
        page.attachment_opened.connect(self._open)
        self._show(key)

    def _on_closed(self, key: str) -> None:
        self._strips.pop(key, None)

    def _on_action(self) -> None:
        key = self._window.chat.current_key()
        if key:
            self._run(self._ask(key))

    async def _ask(self, key: str) -> None:
        kinds = [k for k in ("image", "audio") if not self._refusal(k)]
        if not kinds:
            self._refuse("image")
            return
        patterns = " ".join({"image": IMAGES, "audio": SOUNDS}[k] for k in kinds)
        filters = f"{strings_history.ATTACH_FILES} ({patterns});;{strings.ALL_FILES}"
        paths = await ask_file(self._window, strings.ATTACH, filters, many=True)
        await self.add_files(key, paths)

    async def add_files(self, key: str, paths: list[str]) -> None:
        """Adds files of a person; each that cannot be used is named in one sentence."""
        for name in paths:
            if name.lower().endswith(MODEL_END):
                self._window.model_dropped.emit(name)
                continue
            kind = await self._try(partial(self.store.kind_of, Path(name)))
            if kind and self._refusal(kind):
                self._refuse(kind)
            elif kind:
                await self._add(key, partial(self.store.add_file, Path(name)))

    async def _paste(self, key: str, image: QImage) -> None:
        if self._refusal("image"):
            self._refuse("image")
            return
        name = strings_history.PASTED
        await self._add(key, lambda: self.store.add_prepared(encode(image), name))

    async def _add(self, key: str, work: Callable[[], Attachment]) -> None:
        waiting = self._waiting(key)
        if len(waiting) >= attachments.MAX_PER_MESSAGE:
            self._tell("attach_too_many", {"limit": str(attachments.MAX_PER_MESSAGE)})
            return
        added = await self._try(work)
        if added is not None and self._refusal(added.kind):
            self._refuse(added.kind)
            return
        waiting = self._waiting(key)
        if added is not None and key in self._strips and added not in waiting:
            self._keep(key, (*waiting, added))

    async def _try(self, work: Callable[[], T]) -> T | None:
        """The result of work on the shared executor; None when it failed and it was said why."""
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._services.executor, work)
        except AttachmentError as problem:
            self._tell(problem.code, problem.params)
            return None

    def _refusal(self, kind: str) -> str:
        return attachments.refusal(kind, self._services.state.loaded)

    def _refuse(self, kind: str) -> None:
        info = self._chats.info()
        name = fmt.plain(display_name(info.path)) if info else strings.NO_MODEL
        params = {"model": name, "kind": strings_history.KINDS[kind]}
        self._tell(self._refusal(kind), params)

    def _tell(self, code: str, params: dict[str, str]) -> None:
        safe = {k: fmt.plain(v, 120) for k, v in params.items()}
        text = strings_history.problem(code, safe)
        self._services.notices.post(Notice("attachment", text, level=Level.WARNING, seconds=12))

    def _remove(self, key: str, name: str) -> None:
        self._keep(key, tuple(a for a in self._waiting(key) if a.file != name))

    def _show(self, key: str) -> None:
        strip = self._strips.get(key)
        if strip is not None:
            strip.set_items([self._view(a) for a in self._waiting(key)])

    def _view(self, item: Attachment) -> AttachmentView:
        return AttachmentView(
            id=item.file,
            kind=item.kind,
            name=item.name,
            bytes=item.bytes,
            path=str(self.store.path(item)),
        )

    def _open(self, view_id: str) -> None:
        """Opens an attachment of a turn ("node/number") with the system's program."""
        node_id, _, number = view_id.rpartition("/")
        chat = self._chats.current()
        node = chat.conversation.nodes.get(node_id) if chat is not None else None
        if node is not None and number.isdigit() and int(number) < len(node.attachments):
            path = self.store.path(node.attachments[int(number)])
            QDesktopServices.openUrl(QUrl.fromLocalFile(str(path)))
