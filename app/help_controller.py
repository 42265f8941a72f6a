"""Help: the welcome, the engine check, About. Main thread."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import resources
from app import backend_compare, cli_self_test, wording
from app.model_names import display_name
from app.notices import Action, Notice
from engine.errors import EngineError
from engine.types import Backend
from ui import format as fmt
from ui import strings
from ui import strings_core as words
from ui.dialogs import ask
from ui.main_window import MainWindow
from ui.views import AboutView, NoticeAction

if TYPE_CHECKING:
    from app.services import Services

WELCOME = "welcome"


def attach(window: MainWindow, services: Services) -> HelpController:
    return HelpController(window, services)


class HelpController:
    """`welcome` is called once at the first start ever."""

    def __init__(self, window: MainWindow, services: Services) -> None:
        self._window = window
        self._services = services
        window.on_action("about", lambda: services.models.keep(self.about()))
        window.on_action("check_engine", lambda: services.models.keep(self.check_engine()))

    def welcome(self) -> None:
        """Says what to do first, until it is closed or a message was sent."""
        s = self._services
        if s.settings.value.welcomed:
            return
        s.settings.change(welcomed=True)
        flow = s.models.flow
        actions = [Action(strings.OPEN_FILE, lambda: s.models.keep(flow.ask_file()))]
        if flow.browse is not None:
            actions.append(Action(strings.DOWNLOAD_MODEL, flow.browse))
        s.notices.post(
            Notice(
                WELCOME,
                strings.WELCOME_TEXT,
                title=strings.WELCOME_TITLE,
                actions=tuple(actions),
            )
        )
        s.chats.changed.connect(self._on_changed)

    def _on_changed(self, _key: str) -> None:
        if self._services.chats.has_content():
            self._services.notices.dismiss(WELCOME)
            self._services.chats.changed.disconnect(self._on_changed)

    async def about(self) -> None:
        from ui.about_dialog import AboutDialog

        s = self._services
        loop = s.loop
        licences = await loop.run_in_executor(s.executor, licence_texts)
        version, *facts = cli_self_test.versions()
        loaded = s.state.loaded
        if loaded is not None:
            facts.append(("Model", fmt.plain(display_name(loaded.info.path))))
            facts.append(("Backend", wording.backend_name(loaded.options.backend)))
        if loaded is not None and loaded.adapter:
            facts.append(("Adapter", fmt.plain(loaded.adapter)))
        facts.append(("Files", str(s.paths.data)))
        view = AboutView(version=version[1], facts=tuple(facts), licences=licences)
        AboutDialog(view, self._window).open()

    async def check_engine(self) -> None:
        """The self-test of the command line, in the engine slot; the model comes back. With a
        model on the GPU also whether it answers as on the CPU."""
        s = self._services
        lines: list[str] = []
        options = cli_self_test.load_options(s.paths)
        s.notices.post(Notice("check", words.CHECKING))
        try:
            await s.engine.run_exclusive(lambda e: cli_self_test.run(e, options, lines.append))
            text = words.CHECK_PASSED
            picked = s.models.picked
            if picked is not None and picked.backend is not Backend.CPU:
                options = picked
                found = await s.engine.run_exclusive(
                    lambda e: backend_compare.compare(e, picked, lines.append)
                )
                text += " " + backend_compare.sentence(found)
        except EngineError as problem:
            text = wording.explain(problem, options).sentence
            lines.append(problem.detail)
        except cli_self_test.SelfTestFailed as problem:
            text = str(problem)
        finally:
            s.notices.dismiss("check")
        close = NoticeAction("close", strings.CLOSE, primary=True)
        await ask(self._window, words.CHECK_TITLE, text, (close,), "\n".join(lines).strip())


def licence_texts() -> tuple[tuple[str, str], ...]:
    """(name, text) of every licence shipped; reads files. Any thread."""
    folder = resources.FOLDER / "licences"
    files = sorted(p for p in folder.rglob("*") if p.suffix in (".txt", ".md") and p.is_file())
    found = []
    for file in files:
        found.append((_name(file), file.read_text(encoding="utf-8", errors="replace")))
    return tuple(found)


def _name(file: Path) -> str:
    return file.stem.replace("-", " ") if file.parent.name == "licences" else file.parent.name
