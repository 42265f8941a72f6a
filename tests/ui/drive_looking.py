"""Looks at every tab and dialog of the real program: `python -m tests.ui.drive_looking MODE`.

MODE is `walk` (names, roles, the way of Tab), `room` (800×600 at several text sizes, light and
dark) or `both`. Findings go as JSON to the file named by TANDEM_TEST_REPORT; with TANDEM_TEST_SHOTS
a folder, pictures go there.
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
    for status in (TurnStatus.DONE, TurnStatus.STOPPED):
        chat.add(
            Node(
                id=new_id(), parent=first.id, role=Role.ASSISTANT, text=ANSWER, status=status,
                thought="The person asks about files.", run=run,
                tool_steps=(ToolStep(name="calculate", arguments_json='{"expression": "1+1"}',
                                     result_json='{"result": 2}'),),
            )
        )  # fmt: skip
    program.services.chats.open(chat)
    return chat.id


async def settle(seconds: float = 0.06) -> None:
    await asyncio.sleep(seconds)


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
    from ui.bench_setup import PromptDialog
    from ui.cache_page import StorageDialog
    from ui.crash_dialog import CrashDialog
    from ui.dialogs import AskDialog
    from ui.model_views import CacheRowView, StorageView
    from ui.token_dialog import TokenDialog
    from ui.views import NoticeAction

    made = {name: (lambda _w, d=d: d) for name, d in examples().items() if name != "welcome"}
    actions = (NoticeAction("a", "Cancel"), NoticeAction("b", "Load anyway", primary=True))
    rows = tuple(
        CacheRowView(key=str(n), name=f"some-model-with-a-long-name-{n}", size="186 MB")
        for n in range(3)
    )
    storage = StorageView(own_folder="/home/ann/.local/share/tandem/models",
                          folders=("/mnt/disk/models",), total="558 MB", rows=rows)  # fmt: skip
    more: dict[str, Callable[[QWidget], QWidget]] = {
        "question": lambda w: AskDialog(w, "Load this model?", "A sentence about it. " * 6,
                                        actions, "raw details\n" * 8),
        "token": lambda w: TokenDialog("huggingface.co", "keyring", w),
        "crash": lambda w: CrashDialog(w, "The graphics driver failed.", True),
        "prompt": lambda w: PromptDialog(w, "a prompt"),
        "storage": lambda w: StorageDialog(storage, w),
    }  # fmt: skip
    return {**made, **more}


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
            services.tools._tab.show_page(1)
            await settle()
            await look("tools-structured", window)
    window.select_tab("chat")
    for name in ("settings", "palette", "switch_model", "load_settings", "shortcuts", "about",
                 "logs"):  # fmt: skip
        before = set(QApplication.topLevelWidgets())
        window.action(name).trigger()
        await settle(0.15)
        for top in set(QApplication.topLevelWidgets()) - before:
            if top.isVisible() and isinstance(top, QDialog):
                if name == "settings":
                    for row in range(top.nav.count()):  # type: ignore[attr-defined]
                        top.nav.setCurrentRow(row)  # type: ignore[attr-defined]
                        await settle(0.03)
                        await look(f"settings-{row}", top)
                else:
                    await look(name, top)
        await close_dialogs()
    services.tools.open_servers()
    await settle(0.1)
    await look("servers", services.tools._dialog)
    await close_dialogs()
    library = program.library
    library.dialogs.add_model()
    await settle(0.1)
    await look("add-model", library.dialogs.adding)
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
            found = looking.unnamed(top) + looking.unreachable(top)
        else:
            found = looking.cut(top) + looking.overlapping(top)
        report[f"{name}{tag}"] = found
        if shots:
            top.grab().save(f"{shots}/{name}{tag}.png")

    if mode in ("walk", "both"):
        program.window.resize(1280, 800)
        await everything(program, look)
        await announcing(program, report)
        report["keyboard"] = await keyboard(program)
        start_anew(program)
    walk = False
    if mode in ("room", "both"):
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
