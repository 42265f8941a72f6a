"""Every button and command of the real window while all that is behind it fails.

`python -m tests.e2e.drive_raising KIND`; KIND is `expected` or `unexpected`, see
`tests.fakes.faults_behind`. Findings of `button_walk` go as JSON to the file named by
TANDEM_TEST_REPORT; with TANDEM_TEST_LOUD each press is printed.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from PySide6.QtWidgets import QApplication, QWidget

from tests.e2e.button_walk import Walk, controls
from tests.fakes.faults_behind import Fault, RaisingEngine, break_everything
from tests.ui.drive_looking import fill

LEAVES = {"quit", "fullscreen"}
"""Commands that end the run or are the window system's affair."""


def more_models(own: Path) -> Path:
    """A model in the program's folder, and one elsewhere (returned)."""
    from resources import DEMO_MODEL

    elsewhere = own.parent / "elsewhere.litertlm"
    own.mkdir(parents=True, exist_ok=True)
    for target in (own / "own.litertlm", elsewhere):
        try:
            os.link(DEMO_MODEL, target)
        except OSError:  # another file system
            shutil.copyfile(DEMO_MODEL, target)
    return elsewhere


async def with_everything(program: Any) -> Any:
    """A conversation, a comparison (returned), a preset, a tool server that is off."""
    from app import presets
    from app.settings import McpServer
    from tests.unit.bench.test_store import make_record

    services = program.services
    fill(program)
    conversation = services.chats.current().conversation
    library = program.library.library
    await library.add_opened(str(more_models(services.paths.models)))
    await services.history.save_whole([conversation])
    program.history.show(conversation)
    record = make_record(Path(os.environ["TANDEM_HOME"]).parent / "measured.litertlm")
    presets.save(services.settings, "Careful", services.chats.current().settings)
    services.settings.change(mcp_servers=(McpServer(name="mine", command="x", enabled=False),))
    return record


def report(walk: Walk) -> None:
    found = {"pressed": walk.pressed, "findings": walk.findings}
    Path(os.environ["TANDEM_TEST_REPORT"]).write_text(json.dumps(found, indent=1))


async def script(program: Any) -> None:
    from tests.e2e.scenarios import Person

    me = Person(program)
    await me.ready()
    record = await with_everything(program)
    walk = Walk(program, fault)
    await walk.start()
    window, services, library = program.window, program.services, program.library
    kept = [services.chats.current().key]

    async def settled(top: Any) -> QWidget | None:
        for _ in range(60):
            if top() is not None and top().isVisible():
                await asyncio.sleep(0.02)
                return top()
            await asyncio.sleep(0.01)
        return None

    async def drawn(top: QWidget) -> QWidget:
        """Until no more controls appear: cards and turns are made a few at a time."""
        count, same = -1, 0
        for _ in range(80):
            now = len(list(controls(top)))
            count, same = now, same + 1 if now == count else 0
            if same >= 4:
                break
            await asyncio.sleep(0.02)
        return top

    async def a_result() -> None:
        """A stored comparison, shown: what failed before may have taken it away."""
        pages = program.benchmark.pages
        pages.tab.set_message("")
        if services.benchmarks.entries and pages._record is not None:
            return
        await services.benchmarks.add(record)
        await pages.select(record.id)

    def tab(key: str) -> Callable[[], Awaitable[QWidget | None]]:
        async def open_it() -> QWidget | None:
            chats = services.chats
            if window.current_tab() != key:
                window.select_tab(key)
            elif key == "benchmark":
                await a_result()
                return window
            elif key != "chat" or window.chat.current_key() == kept[0]:
                return window
            if key == "chat" and chats.chat(kept[0]) is None:
                kept[0] = fill(program)
            if key == "chat":
                window.chat.select(kept[0])
            if key == "benchmark":
                await a_result()
            return await drawn(window)

        return open_it

    def page(number: int) -> Callable[[], Awaitable[QWidget | None]]:
        async def open_it() -> QWidget | None:
            window.select_tab("tools")
            services.tools._tab.show_page(number)
            asked = (services.tools._tab.ask, services.tools._tab.structured)[number]
            asked.input.setText("A question")
            return await drawn(window)

        return open_it

    def by_action(name: str, kind: str) -> Callable[[], Awaitable[QWidget | None]]:
        def shown() -> QWidget | None:
            tops = [w for w in QApplication.topLevelWidgets() if w.isVisible()]
            return next((w for w in tops if type(w).__name__ == kind), None)

        async def open_it() -> QWidget | None:
            window.action(name).trigger()
            return await settled(shown)

        return open_it

    def by_call(act: Callable[[], object], top: Callable[[], Any]) -> Any:
        async def open_it() -> QWidget | None:
            act()
            return await settled(top)

        return open_it

    def section(row: int) -> Callable[[], Awaitable[QWidget | None]]:
        opened = by_action("settings", "SettingsDialog")

        async def open_it() -> QWidget | None:
            top = await opened()
            if top is not None:
                top.nav.setCurrentRow(row)  # type: ignore[attr-defined]
            return top

        return open_it

    for name, action in window.actions_by_name.items():
        if name not in LEAVES and action.isVisible() and action.isEnabled():
            await tab("chat")()
            await walk.press(f"command {name}", action.trigger)
            await walk.close_all()
    window.action("inspector").trigger()
    if not window.chat.sidebar_visible():
        window.action("sidebar").trigger()
    await walk.place("chat", tab("chat"))
    for key in ("models", "benchmark"):
        await walk.place(key, tab(key))
    for number in (0, 1):
        await walk.place(f"tools {number}", page(number))
    for row in range(7):
        await walk.place(f"settings {row}", section(row))
    await walk.place("picker", by_action("switch_model", "ModelPicker"))
    await walk.place("load", by_action("load_settings", "LoadDialog"))
    await walk.place("about", by_action("about", "AboutDialog"))
    await walk.place("log", by_action("logs", "LogDialog"))
    await walk.place("report", by_action("save_report", "CrashDialog"))
    await walk.place("form", by_action("answer_form", "FormDialog"))
    tools = services.tools
    await walk.place("servers", by_call(tools.open_servers, lambda: tools._dialog))
    dialogs = library.dialogs

    def add_model() -> None:
        dialogs.add_model()
        dialogs.adding.field.setText("someone/model")

    await walk.place("add model", by_call(add_model, lambda: dialogs.adding))
    await walk.place("details", by_call(
        lambda: dialogs.details(library.library.found.models[0].path),
        lambda: dialogs.showing_details))  # fmt: skip

    def token() -> None:
        dialogs.token("")

    def with_token() -> Any:
        if dialogs.asking_token is not None:
            dialogs.asking_token.field.setText("hf_something")
        return dialogs.asking_token

    await walk.place("token", by_call(token, with_token))
    await walk.place("storage", by_call(library.storage.open, lambda: library.storage.dialog))

    window.select_tab("chat")
    services.chats.new_chat()
    services.chats.send(me.chat.key, "Does it still work?")
    await me.chat.wait()
    if me.last().status.value != "done":
        walk.findings.append(f"at the end: {me.last()}")
    report(walk)


if __name__ == "__main__":
    from app import gui

    os.environ.setdefault("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring")
    fault = Fault(sys.argv[1])
    gui.hosted_engine = lambda _paths: RaisingEngine(fault)  # type: ignore[assignment, return-value]
    chosen = Path(os.environ["TANDEM_HOME"]).parent / "chosen.json"
    chosen.write_text("{}", encoding="utf-8")
    break_everything(fault)
    sys.exit(gui.main(None, script))
