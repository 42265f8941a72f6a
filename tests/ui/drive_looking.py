"""Looks at every tab and dialog of the real program: `python -m tests.ui.drive_looking MODE`.

MODE is `walk` (names, roles, the way of Tab, the focus) or `room` (800×600 at several text sizes,
light and dark: what is cut off or pale). Findings go as JSON to the file named by
TANDEM_TEST_REPORT; with TANDEM_TEST_SHOTS a folder, pictures go there.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from PySide6.QtWidgets import QApplication, QDialog, QWidget

from tests.ui import looking
from ui import strings

SCALES = tuple(float(s) for s in os.environ.get("TANDEM_TEST_SCALES", "1,2").split(","))
Look = Callable[[str, QWidget], Coroutine[Any, Any, None]]

ANSWER = """Use the **csv** module, see [the guide](https://example.org/a):

```python
import csv
print(sum(float(row["amount"]) for row in csv.DictReader(open("sales.csv"))))
```

| cell | value |
| --- | ---: |
| `12.5` | 12.5 |
"""


def fill(program: Any) -> str:
    """A conversation with everything a turn can have; its key."""
    import msgspec

    from app.conversation import Conversation, Node, Role, RunRecord, ToolStep, TurnStatus, new_id
    from engine.types import FinishReason

    chat = Conversation.new(program.services.chats.current().conversation.settings)
    chat = msgspec.structs.replace(chat, title="A conversation with a rather long title in it")
    first = Node(id=new_id(), parent=None, role=Role.USER, text="How do I sum a column?")
    chat.add(first)
    run = RunRecord(model="Tandem demo", backend="CPU", speculative=True, decode_tps=83.1,
                    prefill_tps=312.0, ttft_s=0.24, decode_tokens=118, engine_version="0.18.1",
                    reason=FinishReason.END)  # fmt: skip
    for status in (TurnStatus.DONE, TurnStatus.FAILED, TurnStatus.STOPPED):
        chat.add(
            Node(
                id=new_id(), parent=first.id, role=Role.ASSISTANT, text=ANSWER, status=status,
                error="The engine could not answer." if status is TurnStatus.FAILED else "",
                thought="The person asks about files.", run=run,
                tool_steps=(ToolStep(name="calculate", arguments_json='{"expression": "1+1"}',
                                     result_json='{"result": 2}'),),
            )
        )  # fmt: skip
    program.services.chats.open(chat)
    return chat.id


async def settle(seconds: float = 0.06) -> None:
    await asyncio.sleep(seconds)


async def opened(before: set[QWidget], seconds: float = 5) -> QDialog:
    """The dialog that was not there before."""
    until = asyncio.get_running_loop().time() + seconds
    while asyncio.get_running_loop().time() < until:
        for top in set(QApplication.topLevelWidgets()) - before:
            if top.isVisible() and isinstance(top, QDialog):
                return top
        await settle(0.02)
    raise AssertionError("no dialog opened")


async def close_dialogs() -> None:
    for _ in range(5):
        dialogs = [w for w in QApplication.topLevelWidgets() if isinstance(w, QDialog)]
        shown = [d for d in dialogs if d.isVisible()]
        if not shown:
            return
        for dialog in shown:
            dialog.reject()
        await settle(0.03)


def own_dialogs() -> dict[str, Callable[[QWidget], QWidget]]:
    """Dialogs that need something to have happened, with examples of it."""
    from tests.bench.screenshots import dialogs as examples
    from ui.about_dialog import AboutDialog
    from ui.bench_setup import PromptDialog
    from ui.cache_page import StorageDialog
    from ui.crash_dialog import CrashDialog
    from ui.dialogs import AskDialog
    from ui.model_views import CacheRowView, StorageView
    from ui.token_dialog import TokenDialog
    from ui.views import AboutView, NoticeAction

    made = {name: (lambda _w, d=d: d) for name, d in examples().items() if name != "welcome"}
    actions = (NoticeAction("a", "Cancel"), NoticeAction("b", "Load anyway", primary=True))
    rows = tuple(
        CacheRowView(key=str(n), name=f"some-model-with-a-long-name-{n}", size="186 MB")
        for n in range(3)
    )
    storage = StorageView(own_folder="/home/ann/.local/share/tandem/models",
                          folders=("/mnt/disk/models",), total="558 MB", rows=rows)  # fmt: skip
    licences = AboutView(version="0.1.0", facts=(("Engine", "LiteRT-LM 0.18.1"),),
                         licences=(("Qt for Python", "LGPL " * 200), ("LiteRT-LM", "Apache")),
                         )  # fmt: skip

    def crash(window: QWidget) -> QWidget:
        dialog = CrashDialog(window, "The graphics driver failed.", True)
        dialog.set_files((("machine.txt", "CPU\n" * 30), ("engine.log", "line\n" * 30)))
        return dialog

    more: dict[str, Callable[[QWidget], QWidget]] = {
        "question": lambda w: AskDialog(w, "Load this model?", "A sentence about it. " * 6,
                                        actions, "raw details\n" * 8),
        "token": lambda w: TokenDialog("huggingface.co", "keyring", w),
        "crash": crash,
        "about-licences": lambda w: AboutDialog(licences, w),
        "prompt": lambda w: PromptDialog(w, "a prompt"),
        "storage": lambda w: StorageDialog(storage, w),
    }  # fmt: skip
    return {**made, **more}


def servers() -> tuple[Any, ...]:
    from ui.tool_views import ServerView

    return (
        ServerView(name="files", command="/usr/bin/files-server", args=("--root", "/home/ann"),
                   phase="ready", tools=3),
        ServerView(name="a server with a long name", command="no-such-program", phase="failed",
                   reason="The program no-such-program was not found. Install it, or correct it."),
    )  # fmt: skip


def files_of_a_hub() -> tuple[Any, ...]:
    from ui.model_views import HubFileView

    return (
        HubFileView(file="some-model-with-a-long-name-multi-prefill-seq_q8_ekv4096.litertlm",
                    size="1.60 GB", fit="fits"),
        HubFileView(file="b.litertlm", size="3.66 GB", fit="too large for this computer"),
        HubFileView(file="c.litertlm", size="584 MB", state="downloading"),
    )  # fmt: skip


async def models_at_work(program: Any, look: Look) -> None:
    """Downloads in the states that a card can show."""
    from app.library.download_types import DownloadState, DownloadStatus
    from app.library.failures import Failure

    library, size = program.library, 2_588_147_712
    status = library.library.fetch.status
    for key, state, failure in (
        ("o/r/running.litertlm", DownloadState.RUNNING, None),
        ("o/r/paused.litertlm", DownloadState.PAUSED, None),
        ("o/r/failed.litertlm", DownloadState.FAILED, Failure("licence", {"name": "x"})),
    ):
        status[key] = DownloadStatus(
            key=key, name=key.split("/")[-1], url="https://example.org", target=f"/m/{key}",
            state=state, done=size // 3, total=size, failure=failure,
            speed=12_400_000.0 if state is DownloadState.RUNNING else None,
            seconds_left=140.0 if state is DownloadState.RUNNING else None,
        )  # fmt: skip
    library._refresh()
    await settle(0.2)
    await look("models-downloads", program.window)
    status.clear()
    library._refresh()
    await settle(0.1)


async def tools_at_work(program: Any, look: Look) -> None:
    """A log with a question to the person, then the page of structured answers with one."""
    from ui.tool_views import ConsentView, FormResultView, LogEntryView

    tab = program.services.tools._tab
    log = tab.ask.log
    for number, (kind, text, state) in enumerate((
        ("you", "What is 12.5 * 7?", "done"), ("call", '{"expression": "12.5*7"}', "done"),
        ("result", '{"result": 87.5}', "done"), ("result", '{"error": "no"}', "refused"),
        ("error", "The engine could not answer this message.", "done"),
        ("note", "Speculation is off for this message.", "done"), ("model", "It is 87.5.", "done"),
    )):  # fmt: skip
        log.put(LogEntryView(key=str(number), kind=kind, text=text, name="calculate", state=state,
                             seconds=0.2, numbers="81.0 tok/s decode"))  # fmt: skip
    log.set_consent(ConsentView(id="c", name="read_text_file", source="files",
                                arguments='{"name": "letter to the bank.txt"}'))  # fmt: skip
    await settle(0.1)
    await look("tools-consent", program.window)
    log.set_consent(None)
    log.clear()
    tab.show_page(1)
    answer = FormResultView(text='{"name": "Ann"}', valid=False, details="raw", numbers="80 tok/s",
                            sentence="Not valid: 'age' is missing.",
                            note="Speculation is off.")  # fmt: skip
    tab.structured.set_result(answer)
    await settle()
    await look("tools-structured", program.window)
    tab.show_page(0)


async def measurements(program: Any, look: Look) -> None:
    """A stored comparison with everything of it shown, then a running one."""
    from engine.types import Backend
    from tests.unit.bench.test_store import make_record
    from ui.bench_views import HistoryRow, HistoryView, ProgressView

    pages, library = program.benchmark.pages, program.services.benchmarks
    if not library.entries:
        place = Path(os.environ["TANDEM_HOME"]).parent / "a-model-with-a-rather-long-name.litertlm"
        await library.add(make_record(place))
    await pages.select(library.entries[0].id)
    await settle(0.2)
    await look("benchmark-result", program.window)
    pages.tab.set_progress(
        ProgressView(title="Comparing", text="Rewrite, prompt 2 of 3, run 4 of 5, off", share=0.4)
    )
    pages.tab.set_message("The engine could not load the model: there is no room.")
    row = HistoryRow(
        id="r",
        title="A model with a rather long name for one line of a history",
        subtitle="CPU · 6 workloads · 12 March 2025",
        value="0.82×",
        tone="bad",
    )
    pages.tab.set_history(
        HistoryView(
            rows=(row,), models=("A model", "Another model"), backends=(Backend.CPU, Backend.GPU)
        )
    )
    await settle(0.1)
    await look("benchmark-running", program.window)
    pages.tab.set_progress(None)
    pages.tab.set_message("")


async def everything(program: Any, look: Look) -> None:
    """Shows each tab and dialog in turn and looks at it."""
    from app.notices import Action, Level, Notice
    from tests.e2e.scenarios import Person

    me = Person(program)
    window, services = program.window, program.services
    await me.ready()
    fill(program)
    await settle(0.15)
    await look("chat", window)
    services.notices.post(
        Notice(
            "n",
            "SmolLM2 135M on CPU ended with signal 6 (abort). Your conversation is safe.",
            title="Engine stopped unexpectedly",
            level=Level.ERROR,
            detail="raw",
            actions=(Action("Show log", lambda: None), Action("Use CPU", lambda: None),
                     Action("Restart engine", lambda: None, primary=True)),
        )
    )  # fmt: skip
    window.action("find").trigger()
    await settle()
    await look("chat-notice-find", window)
    services.notices.dismiss("n")
    services.notices.dismiss("welcome")
    me.page.setFocus()
    window.action("find").trigger()
    window.action("inspector").trigger()
    await settle(0.15)
    await look("chat-panel", window)
    window.action("inspector").trigger()
    if not window.chat.sidebar_visible():
        window.action("sidebar").trigger()
    await settle()
    await look("chat-sidebar", window)
    if window.chat._folded:
        window.action("sidebar").trigger()
    for tab in ("models", "tools", "benchmark"):
        window.select_tab(tab)
        await settle(0.2)
        await look(tab, window)
        if tab == "tools":
            await tools_at_work(program, look)
        elif tab == "models":
            await models_at_work(program, look)
        else:
            await measurements(program, look)
    window.select_tab("chat")
    for name in ("settings", "palette", "switch_model", "load_settings", "shortcuts", "about",
                 "logs"):  # fmt: skip
        before = set(QApplication.topLevelWidgets())
        window.action(name).trigger()
        top = await opened(before)
        await settle(0.1)
        if name == "settings":
            for row in range(top.nav.count()):  # type: ignore[attr-defined]
                top.nav.setCurrentRow(row)  # type: ignore[attr-defined]
                await settle(0.03)
                await look(f"settings-{row}", top)
        else:
            await look(name, top)
        await close_dialogs()
    services.tools.open_servers()
    services.tools._dialog.set_servers(servers())
    await settle(0.1)
    await look("servers", services.tools._dialog)
    await close_dialogs()
    library = program.library
    library.dialogs.add_model()
    await settle(0.1)
    await look("add-model", library.dialogs.adding)
    library.dialogs.adding.set_files("3 model files in someone/some-models", files_of_a_hub())
    await settle()
    await look("add-model-found", library.dialogs.adding)
    await close_dialogs()
    library.dialogs.details(library.library.found.models[0].path)
    await settle(0.1)
    await look("details", library.dialogs.showing_details)
    await close_dialogs()
    for name, make in own_dialogs().items():
        dialog = make(window)
        dialog.show()
        await settle(0.04)
        await look(name, dialog)
        dialog.close()
        dialog.deleteLater()


def tell(report: dict[str, list[str]]) -> None:
    Path(os.environ["TANDEM_TEST_REPORT"]).write_text(json.dumps(report, indent=1))


def start_anew(program: Any) -> None:
    for key in list(program.window.chat.keys()):
        program.services.chats.close(key)
    program.window.action("new_chat").trigger()


async def announcing(program: Any, report: dict[str, list[str]]) -> None:
    """What is said when answers end, without a screen reader to hear it."""
    from ui import conversation_page

    said: list[str] = []
    real = conversation_page.announce
    conversation_page.announce = lambda _w, text, assertive=False: said.append(text)  # type: ignore[assignment]
    try:
        from PySide6.QtCore import Qt
        from PySide6.QtTest import QTest

        from tests.e2e.scenarios import LONG, Person

        me = Person(program)
        start_anew(program)
        await settle()
        await me.ask("Say a word.")
        await me.send(LONG)
        await me.until(lambda: me.chat.state.value == "decoding" or not me.chat.busy)
        QTest.keyClick(me.page.composer.edit, Qt.Key.Key_Escape)
        await me.until(lambda: not me.chat.busy)
        await settle()
    finally:
        conversation_page.announce = real
    report["announced"] = said


class Keys:
    """A person without a mouse: every press goes to what has the focus."""

    def __init__(self, window: QWidget) -> None:
        self._window = window

    def press(self, keys: str) -> None:
        from PySide6.QtGui import QKeySequence
        from PySide6.QtTest import QTest

        combination = QKeySequence(keys)[0]
        focus = QApplication.focusWidget() or QApplication.activeWindow() or self._window
        QTest.keyClick(focus, combination.key(), combination.keyboardModifiers())

    def type(self, text: str) -> None:
        from PySide6.QtTest import QTest

        focus = QApplication.focusWidget()
        assert focus is not None, "nothing has the focus"
        QTest.keyClicks(focus, text)

    def tab_to(self, name: str) -> None:
        """Tab, until something with this accessible name has the focus."""
        for _ in range(80):
            focus = QApplication.focusWidget()
            if focus is not None and looking.name_of(focus).startswith(name):
                return
            self.press("Tab")
        raise AssertionError(f"Tab does not come to {name}")


async def keyboard(program: Any) -> list[str]:
    """New chat, send, stop, copy, regenerate, versions, edit, speculation, find, everywhere,
    settings, palette, picker, load dialog, tabs: by keys alone. What did not work."""
    from tests.e2e.scenarios import LONG, Person
    from ui.command_palette import CommandPalette
    from ui.load_dialog import LoadDialog
    from ui.model_picker import ModelPicker
    from ui.settings_dialog import SettingsDialog

    me, keys, window = Person(program), Keys(program.window), program.window
    failed: list[str] = []

    async def step(name: str, press: Callable[[], None], done: Callable[[], object]) -> None:
        dialogs = [w for w in QApplication.topLevelWidgets() if isinstance(w, QDialog)]
        if not any(d.isVisible() for d in dialogs):
            window.activateWindow()  # what a window manager does when a dialog closes
        await settle(0.08)
        try:
            press()
            await me.until(done, 8)
        except AssertionError as problem:
            focus = QApplication.focusWidget()
            failed.append(f"{name}: {str(problem)[:200]} (focus: {focus})")
            await close_dialogs()

    old = me.chat
    await step("new chat", lambda: keys.press("Ctrl+N"), lambda: me.chat is not old)
    await me.until(lambda: QApplication.focusWidget() is me.page.composer.edit)
    keys.type("Say a word.")
    await step("send", lambda: keys.press("Return"), lambda: me.chat.busy)
    await me.until(lambda: not me.chat.busy)
    keys.type(LONG)
    keys.press("Return")
    await me.until(lambda: me.chat.state.value == "decoding" or not me.chat.busy)
    await step("stop", lambda: keys.press("Escape"), lambda: not me.chat.busy)
    clip = QApplication.clipboard()
    clip.clear()
    await step("copy", lambda: keys.press("Ctrl+Shift+C"), lambda: bool(clip.text()))
    count = len(me.chat.conversation.nodes)
    await step("regenerate", lambda: keys.press("Ctrl+R"),
               lambda: len(me.chat.conversation.nodes) > count and not me.chat.busy)  # fmt: skip
    last = me.last().id

    def earlier() -> None:
        keys.tab_to(strings.EARLIER_VERSION)
        keys.press("Space")

    await step("earlier version", earlier, lambda: me.last().id != last)
    me.page.focus_composer()

    def edit() -> None:
        keys.press("Up")
        keys.type("Now say two words. ")
        keys.press("Ctrl+Return")

    count = len(me.chat.conversation.nodes)
    await step("edit", edit, lambda: len(me.chat.conversation.nodes) > count + 1)
    await me.until(lambda: not me.chat.busy)
    me.page.focus_composer()
    before = me.page.composer.spec.text()
    await step("speculation", lambda: keys.press("Ctrl+Shift+S"),
               lambda: me.page.composer.spec.text() != before)  # fmt: skip
    found = program.history
    bar = next(w for w in window.findChildren(QWidget) if type(w).__name__ == "FindBar")
    await step("find", lambda: keys.press("Ctrl+F"), lambda: bar.isVisible() and found)
    await step("find closes", lambda: keys.press("Escape"), lambda: not bar.isVisible())
    await step("settings", lambda: keys.press("Ctrl+,"), lambda: me.dialog(SettingsDialog))
    await step("settings close", lambda: keys.press("Escape"),
               lambda: me.dialog(SettingsDialog) is None)  # fmt: skip

    palette = lambda: me.dialog(CommandPalette) and QApplication.focusWidget()  # noqa: E731
    await step("palette", lambda: keys.press("Ctrl+K"), palette)

    def through_palette() -> None:
        keys.type("about")
        keys.press("Return")

    await step("from the palette", through_palette,
               lambda: any("About" in w.windowTitle() for w in QApplication.topLevelWidgets()
                           if w.isVisible()))  # fmt: skip
    await close_dialogs()
    await step("picker", lambda: keys.press("Ctrl+M"), lambda: me.dialog(ModelPicker))
    await settle()
    await step("pick", lambda: (keys.press("Down"), keys.press("Return"))[0],
               lambda: me.dialog(LoadDialog) or me.dialog(ModelPicker) is None)  # fmt: skip
    await settle(0.2)
    await close_dialogs()
    await me.ready()
    for tab in ("models", "tools", "benchmark"):
        bar_tabs = window.tab_bar
        bar_tabs.setFocus()
        await step(tab, lambda: keys.press("Right"), lambda t=tab: window.current_tab() == t)
    window.select_tab("chat")
    return failed


async def script(program: Any) -> None:
    from ui.theme import theme

    mode = sys.argv[1]
    report: dict[str, list[str]] = {}
    shots = os.environ.get("TANDEM_TEST_SHOTS", "")
    walk = mode != "room"
    tag = ""

    async def look(name: str, top: QWidget) -> None:
        if walk:
            found = looking.unnamed(top) + looking.unreachable(top) + looking.unseen_focus(top)
        for _ in range(0 if walk else 10):
            found = looking.cut(top) + looking.overlapping(top)
            if top.devicePixelRatio() * theme().scale >= 2:
                found += looking.faint(top)
            if not found:
                break
            await settle(0.15)  # on a busy machine the layout may not be done
        report[f"{name}{tag}"] = found
        if shots:
            top.grab().save(f"{shots}/{name}{tag}.png")

    if walk:
        program.window.resize(1280, 800)
        await everything(program, look)
        await announcing(program, report)
        report["keyboard"] = await keyboard(program)
    else:
        for scale in SCALES:
            dark = scale > 1
            tag = f"-{round(scale * 100)}-{'dark' if dark else 'light'}"
            theme().apply(mode="dark" if dark else "light", scale=scale)
            program.window.resize(800, 600)
            await settle(0.1)
            await everything(program, look)
            start_anew(program)
    tell(report)


if __name__ == "__main__":
    from app import gui

    sys.exit(gui.main(None, script))
