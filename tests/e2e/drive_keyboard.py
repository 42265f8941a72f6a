"""Everything by keys alone: `python -m tests.e2e.drive_keyboard CALLER`.

The real window with a scripted engine and a hub on loopback; CALLER is a model file that declares
tool calls. Every press goes to what has the focus, as from a keyboard. What did not work goes as
JSON to the file named by TANDEM_TEST_REPORT; the keys of chatting are in `tests.ui.drive_looking`.
It needs a real screen: the offscreen one takes the focus away when a dialog grows.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from PySide6.QtGui import QImage, QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog, QFileDialog, QWidget

from engine.types import LoadedModel, LoadOptions, Modality, ToolCall
from tests.fakes.scripted_engine import Call, Say, ScriptedEngine, Step
from tests.ui import looking

LOUD = bool(os.environ.get("TANDEM_TEST_LOUD"))


class Engine(ScriptedEngine):
    """Takes pictures too."""

    def load(self, options: LoadOptions) -> LoadedModel:
        loaded = super().load(options)
        able = (Modality.TEXT, Modality.VISION)
        info = msgspec.structs.replace(loaded.info, modalities=able, supports_tools=True)
        options = msgspec.structs.replace(loaded.options, vision=True)
        self._loaded = msgspec.structs.replace(loaded, info=info, options=options)
        return self._loaded


class Hands:
    """Presses keys, one person's way through the window; `failed` is what did not work."""

    def __init__(self, program: Any) -> None:
        from tests.e2e.scenarios import Person

        self.me = Person(program)
        self.window = program.window
        self.failed: list[str] = []
        self.done: list[str] = []

    def focus(self) -> QWidget:
        popup = QApplication.activePopupWidget()
        found = popup or QApplication.focusWidget()
        assert found is not None, "nothing has the focus"
        return found

    def press(self, *keys: str) -> None:
        for key in keys:
            combination = QKeySequence(key)[0]
            QTest.keyClick(self.focus(), combination.key(), combination.keyboardModifiers())

    def type(self, text: str) -> None:
        QTest.keyClicks(self.focus(), text)

    async def here(self) -> None:
        """Until something has the focus again: a dialog closed, and its window comes back."""
        for _ in range(60):
            if QApplication.focusWidget() is not None or QApplication.activePopupWidget():
                return
            if QApplication.activeWindow() is None:
                self.window.activateWindow()  # as a window manager does
            await asyncio.sleep(0.005)
        self.failed.append("the focus got lost")
        top = QApplication.activeWindow() or self.window
        QTest.keyClick(top, QKeySequence("Tab")[0].key())

    async def go_to(self, name: str, key: str = "Tab") -> None:
        """Tab until what has this name (or begins with it) has the focus; it must be seen."""
        await self.here()
        for _ in range(160):
            at = self.focus()
            if looking.name_of(at).startswith(name) or at.accessibleName().startswith(name):
                break
            self.press(key)
            await asyncio.sleep(0)
        else:
            raise AssertionError(f"{key} does not come to {name}")
        await asyncio.sleep(0.01)
        assert not self.focus().visibleRegion().isEmpty(), f"{name} has the focus out of sight"

    async def menu(self, name: str, entry: str) -> None:
        """Opens the menu of the button with the focus, and chooses an entry by its letters."""
        await self.go_to(name)
        loop, chosen = asyncio.get_running_loop(), []

        def choose() -> None:
            menu = QApplication.activePopupWidget()
            if menu is None:
                return
            for _ in range(30):
                active = menu.activeAction()
                if active is not None and active.text().replace("&", "").startswith(entry):
                    chosen.append(entry)
                    QTest.keyClick(menu, QKeySequence("Return")[0].key())
                    return
                QTest.keyClick(menu, QKeySequence("Down")[0].key())
            menu.close()

        loop.call_later(0.05, choose)
        self.press("Space")
        await self.until(lambda: chosen)

    async def command(self, words: str) -> None:
        """Anything with a name, from the palette."""
        from ui.command_palette import CommandPalette

        await self.here()
        self.press("Ctrl+K")
        await self.inside(lambda: self.me.dialog(CommandPalette))
        self.type(words)
        self.press("Return")
        await self.until(lambda: self.me.dialog(CommandPalette) is None)

    async def until(self, what: Callable[[], object]) -> None:
        await self.me.until(what, 15)

    async def inside(self, dialog: Callable[[], QDialog | None]) -> None:
        """Until a dialog is there and has the focus in it."""

        def there() -> bool:
            found, at = dialog(), QApplication.focusWidget()
            return found is not None and at is not None and found.isAncestorOf(at)

        await self.until(there)

    async def file(self, path: Path) -> None:
        """Types a path into the file dialog that opened."""
        await self.inside(lambda: self.me.dialog(QFileDialog))
        self.press("Ctrl+A")
        self.type(str(path))
        self.press("Return")
        await self.until(lambda: self.me.dialog(QFileDialog) is None)

    async def step(self, name: str, work: Callable[[], Any]) -> None:
        """One feature; whatever is open afterwards is closed, and the next one begins."""
        if LOUD:
            print(name, flush=True)
        try:
            await work()
            self.done.append(name)
        except (AssertionError, AttributeError) as problem:
            at = QApplication.focusWidget()
            where = looking.what(at) if at is not None else "nothing"
            self.failed.append(f"{name}: {str(problem)[:300]} (focus: {where})")
        for _ in range(4):
            left = [w for w in QApplication.topLevelWidgets()
                    if isinstance(w, QDialog) and w.isVisible()]  # fmt: skip
            for dialog in left:
                dialog.reject()
            await asyncio.sleep(0.02)
        self.window.activateWindow()  # what a window manager does when a dialog closes
        await asyncio.sleep(0.03)
        if QApplication.focusWidget() is None:
            self.failed.append(f"{name}: afterwards nothing has the focus")
            self.window.tab_bar.setFocus()

    async def section(self, tab: str) -> None:
        """To the bar of sections, then with the arrows."""
        bar = self.window.tab_bar
        await self.here()
        for _ in range(160):
            if bar.hasFocus():
                break
            self.press("Tab")
            await asyncio.sleep(0)
        assert bar.hasFocus(), "Tab does not come to the sections"
        for key in ("Left", "Right"):
            for _ in range(4):
                if self.window.current_tab() != tab:
                    self.press(key)
                    await asyncio.sleep(0.02)
        assert self.window.current_tab() == tab


async def script(program: Any) -> None:
    hands = Hands(program)
    me, window, services = hands.me, program.window, program.services
    library, models = program.library.library, program.library
    folder = Path(os.environ["TANDEM_HOME"]).parent
    own = library.own_folder
    scripts: list[list[Step]] = engine.scripts
    await me.ready()
    await me.until(lambda: program.history.ready)
    services.notices.dismiss("welcome")
    clip = QApplication.clipboard()

    def said(part: str) -> bool:
        return any(part in n.text for n in services.notices.open)

    def card(name: str) -> Any:
        return models.tab.card(str(own / name))

    async def ask(text: str) -> None:
        await hands.go_to("Message")
        hands.type(text)
        hands.press("Return")
        await hands.until(lambda: not me.chat.busy and me.last().text)

    # -- models ----------------------------------------------------------------------

    async def download() -> None:
        from ui import model_strings as words

        await hands.section("models")
        await hands.go_to(words.ADD_FROM_HUB)
        hands.press("Space")
        await hands.inside(lambda: models.dialogs.adding)
        hands.type(os.environ["HF_ENDPOINT"] + "/o/r")
        hands.press("Return")
        await hands.until(lambda: models.dialogs._found)
        await asyncio.sleep(0.05)
        await hands.go_to(f"{words.DOWNLOAD} demo.litertlm")
        hands.press("Space")
        await hands.until(lambda: str(own / "demo.litertlm") in library.records.origins)
        hands.press("Escape")
        await hands.until(lambda: models.dialogs.adding is None)

    async def pause() -> None:
        from ui import model_strings as words

        key = "o/slow/slow.litertlm"
        await hands.section("models")
        await hands.go_to(words.ADD_FROM_HUB)
        hands.press("Space")
        await hands.inside(lambda: models.dialogs.adding)
        hands.type(os.environ["HF_ENDPOINT"] + "/o/slow")
        hands.press("Return")
        await hands.until(lambda: any(f.repo == "o/slow" for f in models.dialogs._found))
        await asyncio.sleep(0.05)
        await hands.go_to(f"{words.DOWNLOAD} slow.litertlm")
        hands.press("Space")
        hands.press("Escape")

        def state() -> str:
            found = library.fetch.status.get(key)
            return str(found.state) if found is not None else ""

        await hands.until(lambda: state() == "running")
        await hands.go_to(f"{words.PAUSE} slow")
        hands.press("Space")
        await hands.until(lambda: state() == "paused")
        await hands.go_to(f"{words.RESUME} slow")
        hands.press("Space")
        await hands.until(lambda: state() == "running")
        await hands.go_to(f"{words.CANCEL} slow")
        hands.press("Space")
        await hands.until(lambda: key not in library.fetch.status)
        assert not list(own.glob("slow*"))

    async def details() -> None:
        await hands.section("models")
        await hands.go_to("demo. ")
        hands.press("Return")
        await hands.inside(lambda: models.dialogs.showing_details)
        hands.press("Escape")
        await hands.until(lambda: models.dialogs.showing_details is None)

    async def delete() -> None:
        from ui import model_strings as words

        await hands.section("models")
        await hands.go_to("demo. ")
        hands.press("Delete")
        await hands.inside(lambda: me.dialog(QDialog))
        hands.press("Return")
        await hands.until(lambda: not (own / "demo.litertlm").exists())
        await hands.until(lambda: said(words.DELETED.partition("{")[0] or "deleted"))
        await hands.go_to(words.UNDO)
        hands.press("Space")
        await hands.until(lambda: (own / "demo.litertlm").exists())

    async def storage() -> None:
        from ui import model_strings as words

        await hands.section("models")
        await hands.go_to(words.STORAGE)
        hands.press("Space")
        await hands.inside(lambda: models.storage.dialog)
        await hands.go_to("On disk")
        hands.press("Down")
        await hands.until(lambda: services.settings.value.cache == "memory")
        hands.press("Up")
        await hands.until(lambda: services.settings.value.cache == "disk")

    async def load() -> None:
        from ui.load_dialog import LoadDialog
        from ui.model_picker import ModelPicker

        hands.press("Ctrl+M")
        await hands.inside(lambda: me.dialog(ModelPicker))
        hands.press("Return")
        await hands.inside(lambda: me.dialog(LoadDialog))
        await hands.go_to("Off")
        hands.press("Down")
        await asyncio.sleep(0.02)
        loads = len(engine.loads)
        await hands.go_to("Load")
        hands.press("Space")
        await hands.until(lambda: me.dialog(LoadDialog) is None)
        await asyncio.sleep(0.05)
        if me.dialog(QDialog) is not None:  # conversations are open: asked once
            hands.press("Return")
        await hands.until(lambda: len(engine.loads) > loads or services.state.speculative)
        await me.ready()

    # -- tools -----------------------------------------------------------------------

    def calls(*answers: str) -> None:
        scripts[:] = [[Call((ToolCall("calculate", '{"expression": "6*7"}'),))],
                      *[[Say(a)] for a in answers]]  # fmt: skip

    async def tool_consent() -> None:
        from ui import tool_strings as words

        await hands.section("tools")
        tab = window.tab_widget("tools")
        await hands.go_to("Ask before running calculate")
        hands.press("Space")
        assert services.tools.registry.find("calculate").ask
        for answer, kept in ((words.ALLOW_ONCE, True), (words.REFUSE, True), (words.ALWAYS, False)):
            calls("It is 42.")
            await hands.go_to(words.QUESTION_NAME)
            hands.type("What is 6 times 7?")
            hands.press("Return")
            await hands.until(lambda: tab.ask.log.consent)
            hands.press("Return")  # meant for the field: allows nothing
            await asyncio.sleep(0.02)
            assert tab.ask.log.consent is not None
            await hands.go_to(answer)
            hands.press("Space")
            await hands.until(lambda: services.tools.asking.state == "idle")
            assert QApplication.focusWidget() is not None, "the focus is lost with the question"
            assert services.tools.registry.find("calculate").ask is kept

    async def chat_consent() -> None:
        from ui import tool_strings as words

        services.tools.registry.choose("calculate", ask=True)
        await hands.section("chat")
        hands.press("Ctrl+N")
        await asyncio.sleep(0.05)
        await hands.command("use tools in this chat")
        assert me.chat.settings.tools
        calls("It is 42.")
        await hands.go_to("Message")
        hands.type("What is 6 times 7?")
        hands.press("Return")
        await hands.until(lambda: me.notice().startswith("tool-consent"))
        await hands.go_to(words.ALLOW_ONCE)
        hands.press("Space")
        await hands.until(lambda: not me.chat.busy)
        assert [s.state for s in me.last().tool_steps] == ["done"], me.last()

    async def servers() -> None:
        from ui import tool_strings as words

        await hands.section("tools")
        await hands.go_to(words.SERVERS)
        hands.press("Space")
        await hands.inside(lambda: services.tools._dialog)
        await hands.go_to(words.SERVER_NAME)
        hands.type("mine")
        await hands.go_to(words.SERVER_COMMAND)
        hands.type("no-such-program")
        await hands.go_to(words.ADD)
        hands.press("Space")
        await hands.until(lambda: services.settings.value.mcp_servers)
        await hands.go_to(f"{words.REMOVE}: mine")
        hands.press("Space")
        await hands.until(lambda: not services.settings.value.mcp_servers)
        assert QApplication.focusWidget() is not None, "the focus is lost with the row"
        hands.press("Escape")

    # -- benchmark -------------------------------------------------------------------

    async def benchmark() -> None:
        from ui import bench_strings as words

        await hands.section("benchmark")
        await hands.go_to(words.COMPARE_LONG)
        scripts.clear()
        hands.press("Space")
        await hands.until(lambda: program.benchmark.run.running)
        await hands.until(lambda: services.benchmarks.entries)
        await asyncio.sleep(0.1)

    async def benchmark_export() -> None:
        from ui import bench_strings as words

        await hands.section("benchmark")
        clip.clear()
        await hands.menu(words.EXPORT, words.COPY_TABLE)
        await hands.until(lambda: clip.text())
        target = folder / "figures.csv"
        await hands.menu(words.EXPORT, words.EXPORT_CSV)
        await hands.file(target)
        await hands.until(target.exists)

    async def benchmark_delete() -> None:
        from ui import bench_strings as words
        from ui import strings

        await hands.section("benchmark")
        await hands.go_to(words.HISTORY)
        hands.press("Delete")
        await hands.until(lambda: not services.benchmarks.entries)
        await hands.go_to(strings.UNDO)
        hands.press("Space")
        await hands.until(lambda: services.benchmarks.entries)

    # -- conversations ---------------------------------------------------------------

    async def search() -> None:
        await hands.section("chat")
        hands.press("Ctrl+N")
        await asyncio.sleep(0.05)
        scripts.clear()
        await ask("A needle in a haystack")
        key = me.chat.key
        await services.history.flush()
        hands.press("Ctrl+N")
        await hands.until(lambda: me.chat.key != key)
        hands.press("Ctrl+Shift+F")
        await asyncio.sleep(0.02)
        hands.type("needle")
        await hands.until(lambda: program.history.sidebar.model.searching)
        hands.press("Down")
        await asyncio.sleep(0.02)
        hands.press("Return")
        await hands.until(lambda: me.chat.key == key)
        hands.press("Escape")
        hands.press("Ctrl+Shift+F")
        hands.press("Escape", "Escape")

    async def sidebar() -> None:
        from ui import strings

        await hands.section("chat")
        if not window.chat.sidebar_visible():
            hands.press("Ctrl+B")
        hands.press("Ctrl+Shift+F")
        hands.press("Tab")
        await hands.go_to(looking.name_of(program.history.sidebar.list))
        hands.press("Home", "Down", "F2")
        await asyncio.sleep(0.02)
        hands.press("Ctrl+A")
        hands.type("Another name")
        hands.press("Return")

        def titles() -> list[str]:
            return [i.title for i in program.history.sidebar.model.items().values()]

        await hands.until(lambda: "Another name" in titles())
        await hands.go_to(looking.name_of(program.history.sidebar.list))
        hands.press("Delete")
        await hands.until(lambda: "Another name" not in titles())
        await hands.go_to(strings.UNDO)
        hands.press("Space")
        await hands.until(lambda: "Another name" in titles())

    async def export_and_import() -> None:
        await hands.section("chat")
        hands.press("Ctrl+N")
        await asyncio.sleep(0.05)
        scripts.clear()
        await ask("To be exported")
        target = folder / "talk.json"
        hands.press("Ctrl+Shift+X")
        await hands.file(target)
        await hands.until(target.exists)
        await hands.command("import conversations")
        await hands.file(target)
        await hands.until(lambda: any(n.key == "imported" for n in services.notices.open))

    async def settings_search() -> None:
        from ui.settings_dialog import SettingsDialog

        before = services.settings.value.density
        hands.press("Ctrl+,")
        await hands.inside(lambda: me.dialog(SettingsDialog))
        await asyncio.sleep(0.02)
        hands.type("density")
        await asyncio.sleep(0.02)
        from ui import strings_history as words

        await hands.go_to(words.DENSITY)
        hands.press("Down")
        await hands.until(lambda: services.settings.value.density != before)
        hands.press("Up")
        hands.press("Escape")
        await hands.until(lambda: me.dialog(SettingsDialog) is None)

    async def attachments() -> None:
        picture = folder / "dot.png"
        image = QImage(8, 8, QImage.Format.Format_RGB32)
        image.fill(0x336699)
        image.save(str(picture))
        await hands.section("chat")
        hands.press("Ctrl+N")
        await asyncio.sleep(0.05)
        hands.press("Ctrl+Shift+A")
        await hands.file(picture)
        await hands.until(lambda: me.chat.conversation.draft_files)
        await hands.go_to("Remove dot.png")
        hands.press("Space")
        await hands.until(lambda: not me.chat.conversation.draft_files)
        assert QApplication.focusWidget() is not None, "the focus is lost with the picture"
        await hands.go_to("Message")
        clip.setImage(image)
        hands.press("Ctrl+V")
        await hands.until(lambda: me.chat.conversation.draft_files)
        scripts.clear()
        await ask("What is this?")
        assert me.chat.conversation.path()[-2].attachments

    async def report() -> None:
        from ui import strings_report as words

        await hands.command("save problem report")
        await hands.inside(lambda: program.report.dialog)
        await hands.go_to(words.SAVE)
        hands.press("Space")
        target = folder / "report.zip"
        await hands.file(target)
        await hands.until(target.exists)

    async def answer_form() -> None:
        from ui import tool_strings as words
        from ui.form_dialog import FormDialog

        await hands.section("chat")
        await hands.command("form of the answer")
        await hands.inside(lambda: me.dialog(FormDialog))
        await hands.go_to(words.USE_FORM)
        hands.press("Space")
        await hands.until(lambda: me.dialog(FormDialog) is None)
        assert services.chat_context.form_for(me.chat.key) is not None
        services.tools.forms.choose(me.chat.key, None)

    for work in (
        download, pause, details, delete, storage, tool_consent, chat_consent, servers, benchmark,
        benchmark_export, benchmark_delete, search, sidebar, export_and_import, settings_search,
        attachments, report, answer_form, load,
    ):  # fmt: skip
        await hands.step(work.__name__, work)
    write({"failed": hands.failed, "done": hands.done})


def write(found: dict[str, list[str]]) -> None:
    Path(os.environ["TANDEM_TEST_REPORT"]).write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    from app import gui
    from resources import DEMO_MODEL
    from tests.fakes import http_server as web
    from tests.fakes.http_server import Hosted, ModelServer, model_bytes

    os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.null.Keyring"
    engine = Engine()
    gui.hosted_engine = lambda _paths: engine  # type: ignore[assignment, return-value]
    server = ModelServer().start()
    os.environ["HF_ENDPOINT"] = server.url
    server.repo("o/r", {"demo.litertlm": Hosted(DEMO_MODEL.read_bytes())})
    server.repo("o/slow", {"slow.litertlm": Hosted(model_bytes(9_000_000), moods=[web.slow()])})
    try:
        code = gui.main(sys.argv[1], script)
    finally:
        server.stop()
    sys.exit(code)
