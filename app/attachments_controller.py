"""Attach, paste and drop: from a file to the strip above the box, and into the message.

Main thread; reading, decoding and shrinking happen on the shared executor. Files wait in
the draft of their conversation, and so over a restart, until its next message takes them.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from PySide6.QtCore import QObject, QUrl
from PySide6.QtGui import QImage

from app import attachments
from app.attachment_images import ImageProblem, encode, prepare
from app.attachments import AttachmentError, AttachmentStore
from app.conversation import Attachment
from app.model_names import display_name
from app.notices import Level, Notice
from engine.types import LoadedModel
from ui import format as fmt
from ui import strings, strings_history
from ui.attachment_strip import AttachmentStrip
from ui.dialogs import ask_file
from ui.main_window import MainWindow
from ui.outside import open_outside
from ui.views import AttachmentView

if TYPE_CHECKING:
    from app.services import Services

T = TypeVar("T")
Run = Callable[[Coroutine[object, object, object]], None]
IMAGES = "*.png *.jpg *.jpeg *.webp *.gif *.bmp"
SOUNDS = "*.wav *.mp3 *.flac"
MODEL_END = ".litertlm"
KINDS = ("image", "audio")
MAX_TOLD = 4
"""So many sentences about bad files go into one notice."""


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
        self._at_work: Counter[str] = Counter()
        self._loaded: LoadedModel | None = services.state.loaded
        self._chats.take_attachments = self.take
        self._chats.return_attachments = self.give_back
        self._chats.attachments_fit = self.fits
        self._chats.attach_allowed = True
        self._chats.opened.connect(self._on_opened)
        self._chats.closed.connect(self._on_closed)
        for chat in self._chats.chats:
            self._on_opened(chat.key)
        services.state.changed.connect(self._on_state)
        window.on_action("attach", self._on_action)

    def take(self, key: str) -> tuple[Attachment, ...] | None:
        """What waits in the strip of a chat, taken out of it. None, and it was said why, when
        the model in use cannot take it or a file is still being read: the message must stay
        as it is."""
        if self._at_work[key]:
            self._tell([AttachmentError("attach_at_work", "")])
            return None
        waiting = self._waiting(key)
        if not self.fits(waiting):
            return None
        self._keep(key, ())
        return waiting

    def fits(self, files: Iterable[Attachment]) -> bool:
        """Whether the model in use can take these; False, and it was said why, when not."""
        there = {a.kind for a in files}
        kinds = [k for k in KINDS if k in there and self._refusal(k) not in ("", "no_model")]
        if kinds:
            self._tell([self._refused(*kinds)])
        return not kinds

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
        page.files_dropped.connect(lambda paths: self._start(key, self.add_files(key, paths)))
        page.image_pasted.connect(lambda image: self._start(key, self._paste(key, image)))
        page.attachment_opened.connect(self._open)
        self._show(key)

    def _on_closed(self, key: str) -> None:
        self._strips.pop(key, None)

    def _on_action(self) -> None:
        key = self._window.chat.current_key()
        if key:
            self._run(self._ask(key))

    async def _ask(self, key: str) -> None:
        kinds = [k for k in KINDS if not self._refusal(k)]
        if not kinds:
            self._tell([self._refused(*KINDS)])
            return
        patterns = " ".join({"image": IMAGES, "audio": SOUNDS}[k] for k in kinds)
        filters = f"{strings_history.ATTACH_FILES} ({patterns});;{strings.ALL_FILES}"
        paths = await ask_file(self._window, strings.ATTACH, filters, many=True)
        self._start(key, self.add_files(key, paths))

    def _start(self, key: str, adding: Coroutine[object, object, None]) -> None:
        """Runs what adds files to a chat, which sends nothing until that is done."""

        async def counted() -> None:
            try:
                await adding
            finally:
                self._at_work[key] -= 1

        self._at_work[key] += 1
        self._run(counted())

    async def add_files(self, key: str, paths: list[str]) -> None:
        """Adds files of a person; each that cannot be used is named in one sentence."""
        problems: list[AttachmentError] = []
        for name in paths:
            if name.lower().endswith(MODEL_END):
                self._window.model_dropped.emit(name)
                continue
            path = Path(name)
            try:
                self._check(key, await self._off_main(partial(self.store.kind_of, path)))
                self._put(key, await self._off_main(partial(self.store.add_file, path)))
            except AttachmentError as problem:
                problems.append(problem)
        self._tell(problems)

    async def _paste(self, key: str, image: QImage) -> None:
        def store() -> Attachment:
            return self.store.add_prepared(encode(image), strings_history.PASTED)

        try:
            self._check(key, "image")
            self._put(key, await self._off_main(store))
        except AttachmentError as problem:
            self._tell([problem])
        except ImageProblem as problem:
            self._tell([AttachmentError(problem.code, strings_history.PASTED, **problem.params)])

    async def _off_main(self, work: Callable[[], T]) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._services.executor, work)

    def _check(self, key: str, kind: str) -> None:
        """Raises `AttachmentError` when the next message can take no (further) `kind`."""
        if len(self._waiting(key)) >= attachments.MAX_PER_MESSAGE:
            limit = str(attachments.MAX_PER_MESSAGE)
            raise AttachmentError("attach_too_many", "", limit=limit)
        if self._refusal(kind):
            raise self._refused(kind)

    def _put(self, key: str, added: Attachment) -> None:
        self._check(key, added.kind)  # the model may be another one by now
        waiting = self._waiting(key)
        if key in self._strips and added not in waiting:
            self._keep(key, (*waiting, added))

    def _refusal(self, kind: str) -> str:
        return attachments.refusal(kind, self._services.state.loaded)

    def _refused(self, *kinds: str) -> AttachmentError:
        info = self._chats.info()
        model = fmt.plain(display_name(info.path)) if info else strings.NO_MODEL
        words = " and ".join(strings_history.KINDS[k] for k in kinds)
        return AttachmentError(self._refusal(kinds[0]), "", model=model, kind=words)

    def _tell(self, problems: Sequence[AttachmentError]) -> None:
        """One notice for all of them; the same sentence once."""
        texts = dict.fromkeys(
            strings_history.problem(e.code, {k: fmt.plain(v, 120) for k, v in e.params.items()})
            for e in problems
        )
        if texts:
            text = strings_history.some(list(texts), MAX_TOLD)
            self._services.notices.post(Notice("attachment", text, level=Level.WARNING, seconds=12))

    def _on_state(self) -> None:
        """What was said of the model before is no longer true of another one."""
        loaded = self._services.state.loaded
        if loaded is not None and loaded is not self._loaded:
            self._services.notices.dismiss("attachment")
            self._services.notices.dismiss("unseen")
        self._loaded = loaded or self._loaded

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
            item = node.attachments[int(number)]
            path = self.store.path(item)
            if not path.is_file():
                self._tell([AttachmentError("attach_gone", item.name)])
                return
            open_outside(QUrl.fromLocalFile(str(path)))
