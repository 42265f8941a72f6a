"""The dialogs of the Models tab: what they show, and what happens when they ask.

Main thread. One dialog of a kind at a time. The token goes from the field through a
`Secret` to the test and the keyring; nothing here keeps it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from PySide6.QtWidgets import QWidget

from app.desktop import open_page
from app.library import details
from app.library.download_cards import sentence, ways_on
from app.library.download_types import DownloadStatus
from app.library.failures import DownloadFailure
from app.library.fit import judge_download
from app.library.huggingface import RemoteModel
from app.secrets import Secret
from ui import format as fmt
from ui import model_strings as words
from ui import strings
from ui.add_model_dialog import AddModelDialog
from ui.dialogs import ask_file
from ui.model_details import DetailsDialog
from ui.model_views import HubFileView
from ui.token_dialog import TokenDialog

if TYPE_CHECKING:
    from app.models_controller import ModelsController


class ModelDialogs:
    """Open dialogs are attributes, None when closed."""

    def __init__(self, owner: ModelsController) -> None:
        self._owner = owner
        self.adding: AddModelDialog | None = None
        self.asking_token: TokenDialog | None = None
        self.showing_details: DetailsDialog | None = None
        self._found: tuple[RemoteModel, ...] = ()
        self._states: tuple[str, ...] = ()
        self._page = ""
        self._waiting_for_token: set[str] = set()
        owner.changed.connect(self._refresh)

    async def ask_models(self) -> list[str]:
        filters = f"{strings.MODEL_FILES};;{strings.ALL_FILES}"
        return await ask_file(self._owner.window, strings.OPEN_FILE, filters, many=True)

    # ---- details ----

    def details(self, path: str) -> None:
        owner = self._owner
        model = owner.library.model(path)
        if model is None or model.info is None:
            return
        view = details.view(model, owner.library.cache_bytes().get(path, 0))
        dialog = self.showing_details = DetailsDialog(view, owner.window)
        dialog.checksum_requested.connect(lambda key: owner.keep(self._checksum(key)))
        dialog.finished.connect(lambda _=0: setattr(self, "showing_details", None))
        dialog.open()

    async def _checksum(self, path: str) -> None:
        library = self._owner.library
        self._show_checksum(path, "", busy=True)
        try:
            found = await library.checksum(path)
        except OSError as error:
            reason = error.strerror or str(error)
            self._show_checksum(path, words.CHECKSUM_FAILED.format(reason=reason))
            return
        origin = library.records.origins.get(path)
        self._show_checksum(path, details.checksum_words(found, origin.sha256 if origin else ""))

    def _show_checksum(self, path: str, text: str, busy: bool = False) -> None:
        dialog = self.showing_details
        if dialog is not None and dialog.view().key == path:
            view = replace(dialog.view(), checksum=text, checksum_busy=busy)
            dialog.set_view(view)

    # ---- add from the hub ----

    def add_model(self) -> None:
        owner = self._owner
        dialog = self.adding = AddModelDialog(owner.window)
        dialog.list_requested.connect(lambda text: owner.keep(self._list(text)))
        dialog.download_requested.connect(self._fetch)
        dialog.way_on.connect(self._on_add_way)
        dialog.finished.connect(lambda _=0: setattr(self, "adding", None))
        dialog.open()

    async def _list(self, text: str) -> None:
        dialog, library = self.adding, self._owner.library
        if dialog is None:
            return
        dialog.set_busy(words.ADD_LOOKING.format(host=self._host))
        try:
            found = await library.fetch.list_repository(text)
        except DownloadFailure as failure:
            if self.adding is dialog:
                ways = [w for w in ways_on(failure.value()) if w.id in {"token", "page"}]
                dialog.set_problem(sentence(failure.value()), ways)
                self._page = failure.page
            return
        if self.adding is dialog:
            self._found = found
            self._show_found()

    def _show_found(self) -> None:
        if self.adding is None or not self._found:
            return
        count = len(self._found)
        files = f"{count} model file" + ("" if count == 1 else "s")
        title = words.ADD_FOUND.format(count=files, repo=self._found[0].repo)
        self.adding.set_files(title, [self._file_view(f) for f in self._found])

    def _file_view(self, file: RemoteModel) -> HubFileView:
        library = self._owner.library
        key = f"{file.repo}/{file.file}"
        fit = ""
        if file.bytes and library.found is not None:
            fit = words.FITS[judge_download(file.bytes, library.found.machine)]
        here = any(o.key == key and library.model(p) for p, o in library.records.origins.items())
        state = words.ADD_STARTED if key in library.fetch.status else ""
        return HubFileView(
            file=fmt.plain(file.file),
            size=fmt.size(file.bytes),
            fit=fit,
            state=state or (words.ADD_HERE if here else ""),
        )

    def _fetch(self, name: str) -> None:
        for file in self._found:
            if fmt.plain(file.file) == name:
                self._owner.library.fetch.file(file)

    def _on_add_way(self, way: str) -> None:
        if way == "page":
            open_page(self._page)
        elif way == "token":
            self.token("")

    # ---- token ----

    def token(self, key: str, above: QWidget | None = None) -> None:
        """Asks for a token; the download `key` goes on once there is a good one. `above` is
        the dialog that asks, if one does."""
        if key:
            self._waiting_for_token.add(key)
        self._owner.keep(self._ask_token(above))

    async def _ask_token(self, above: QWidget | None) -> None:
        owner, tokens = self._owner, self._owner.library.fetch.tokens
        await tokens.load()
        if self.asking_token is not None:
            return
        parent = above or self.adding or owner.window
        dialog = self.asking_token = TokenDialog(self._host, str(tokens.keeping), parent)
        dialog.save_requested.connect(lambda text: owner.keep(self._save_token(Secret(text))))
        dialog.remove_requested.connect(lambda: owner.keep(self._remove_token()))
        page = owner.library.fetch.hub.tokens_page
        dialog.page_requested.connect(lambda: open_page(page))
        dialog.finished.connect(self._on_token_closed)
        dialog.open()

    async def _save_token(self, token: Secret) -> None:
        fetch = self._owner.library.fetch
        if self.asking_token is not None:
            self.asking_token.set_busy()
        try:
            account = await fetch.test_token(token)
        except DownloadFailure as failure:
            if self.asking_token is not None:
                self.asking_token.set_problem(sentence(failure.value()))
            return
        keeping = await fetch.tokens.save(token)
        waiting, self._waiting_for_token = self._waiting_for_token, set()
        for key in waiting:
            fetch.resume(key)
        if self.asking_token is not None:
            self.asking_token.set_keeping(str(keeping), words.TOKEN_GOOD.format(name=account))

    async def _remove_token(self) -> None:
        tokens = self._owner.library.fetch.tokens
        removed = await tokens.remove()
        if self.asking_token is not None:
            text = words.TOKEN_REMOVED if removed else words.TOKEN_NOT_REMOVED
            self.asking_token.set_keeping(str(tokens.keeping), text)

    def _on_token_closed(self) -> None:
        self.asking_token = None
        self._waiting_for_token.clear()

    async def help_download(self, status: DownloadStatus) -> None:
        """A download that wants a token gets the stored one, if it has not been asked yet."""
        tokens = self._owner.library.fetch.tokens
        wants = status.failure is not None and status.failure.code == "token_needed"
        if wants and tokens.token is None and await tokens.load():
            self._owner.library.fetch.resume(status.key)

    @property
    def _host(self) -> str:
        return urlsplit(self._owner.library.fetch.hub.endpoint).hostname or "huggingface.co"

    def _refresh(self) -> None:
        """What is downloading changed: the list of files says so."""
        states = tuple(self._file_view(f).state for f in self._found) if self.adding else ()
        if states != self._states:
            self._states = states
            self._show_found()
