"""The operations of `tests.bench.leaks`: each does one thing of the real window and undoes it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog

from app.conversation import ChatSettings
from app.gui import Program
from engine.types import Sampling
from tests.e2e.scenarios import Person

Step = Callable[["Steps"], Coroutine[Any, Any, None]]
STEPS: dict[str, Step] = {}
SHORT = ChatSettings(sampling=Sampling(top_k=1, seed=1, max_output_tokens=12))
PER_CHAT = 10
"""Questions asked in one conversation before the next one."""


def step(run: Step) -> Step:
    STEPS[run.__name__] = run
    return run


class Steps:
    """What the operations share."""

    def __init__(self, program: Program, me: Person, folder: Path) -> None:
        self.program, self.me, self.folder = program, me, folder
        self.services, self.window = program.services, program.window
        self.asked = 0

    async def rest(self, seconds: float = 1.2) -> None:
        """Brings the window back to one empty conversation and lets everything end."""
        self.window.select_tab("chat")
        for chat in list(self.services.chats.chats):
            self.services.chats.close(chat.key)
        self.me.chat.change_settings(SHORT)  # closing the last one opened an empty one
        self.asked = 0
        await self.me.until(lambda: self.program.history.ready)
        await asyncio.sleep(seconds)

    async def ask(self) -> None:
        if self.asked % PER_CHAT == 0:
            await self.close_all()
            self.services.chats.new_chat(SHORT)
        self.asked += 1
        edit = self.me.page.composer.edit
        edit.setPlainText("Tell me about the sea.")
        QTest.keyClick(edit, Qt.Key.Key_Return)
        await self.me.until(lambda: not self.me.chat.busy)

    async def close_all(self) -> None:
        for chat in list(self.services.chats.chats):
            self.services.chats.close(chat.key)

    async def dialog(self, open_it: Callable[[], object]) -> None:
        """Opens a dialog, sees it, closes it."""
        before = set(QApplication.topLevelWidgets())
        open_it()

        def found() -> QDialog | None:
            shown = (w for w in QApplication.topLevelWidgets() if w not in before)
            return next((w for w in shown if isinstance(w, QDialog) and w.isVisible()), None)

        await self.me.until(found, 10)
        dialog = found()
        assert dialog is not None
        await asyncio.sleep(0.01)
        dialog.reject()
        await asyncio.sleep(0.02)

    async def by_action(self, name: str) -> None:
        await self.dialog(self.window.action(name).trigger)


@step
async def send(me: Steps) -> None:
    await me.ask()


@step
async def regenerate(me: Steps) -> None:
    if me.asked == 0:
        await me.ask()
    node = me.me.last().id
    if me.me.chat.conversation.versions(node)[PER_CHAT:]:
        await me.close_all()
        me.services.chats.new_chat(SHORT)
        me.asked = 0
        await me.ask()
        node = me.me.last().id
    me.me.page.regenerate_requested.emit(node)
    await me.me.until(lambda: not me.me.chat.busy)


@step
async def conversation(me: Steps) -> None:
    """Opens an empty one and closes it."""
    chat = me.services.chats.new_chat(SHORT)
    await asyncio.sleep(0.01)
    me.services.chats.close(chat.key)
    await asyncio.sleep(0.01)


@step
async def stored(me: Steps) -> None:
    """Opens a conversation of twelve turns and closes it."""
    summaries = await me.services.history.summaries()
    big = next((s for s in summaries if s.title == "stored"), None)
    if big is None:
        await me.close_all()
        me.services.chats.new_chat(SHORT)
        me.asked = 1
        for _ in range(6):
            await me.ask()
        me.me.chat.rename("stored")
        await asyncio.sleep(0.5)
        key = me.me.chat.key
    else:
        key = big.id
    chat = await me.program.history.open(key)
    assert chat is not None
    await asyncio.sleep(0.02)
    me.services.chats.close(key)
    await asyncio.sleep(0.02)


@step
async def conversation_tabs(me: Steps) -> None:
    """Goes to the other of two conversations."""
    if len(me.services.chats.chats) < 2:
        await me.ask()
        me.asked = 0
        me.services.chats.new_chat(SHORT)
        await me.ask()
    me.window.action("next_tab").trigger()
    await asyncio.sleep(0.02)


@step
async def big_tabs(me: Steps) -> None:
    for name in ("models", "tools", "benchmark", "chat"):
        me.window.select_tab(name)
        await asyncio.sleep(0.01)


@step
async def theme(me: Steps) -> None:
    if me.asked == 0:
        await me.ask()
    for mode in ("dark", "light"):
        me.services.settings.change(theme=mode)
        await asyncio.sleep(0.02)


@step
async def zoom(me: Steps) -> None:
    if me.asked == 0:
        await me.ask()
    for name in ("zoom_in", "zoom_reset"):
        me.window.action(name).trigger()
        await asyncio.sleep(0.02)


@step
async def settings(me: Steps) -> None:
    await me.dialog(lambda: me.program.history.settings.open())


@step
async def palette(me: Steps) -> None:
    await me.by_action("palette")


@step
async def shortcuts(me: Steps) -> None:
    await me.dialog(me.window.action("shortcuts").trigger)


@step
async def logs(me: Steps) -> None:
    await me.by_action("logs")


@step
async def about(me: Steps) -> None:
    await me.by_action("about")


@step
async def save_report(me: Steps) -> None:
    await me.by_action("save_report")


@step
async def switch_model(me: Steps) -> None:
    await me.by_action("switch_model")


@step
async def load_settings(me: Steps) -> None:
    await me.by_action("load_settings")


@step
async def answer_form(me: Steps) -> None:
    await me.by_action("answer_form")


@step
async def add_model(me: Steps) -> None:
    await me.dialog(me.program.library.dialogs.add_model)


@step
async def model_details(me: Steps) -> None:
    model = me.services.state.info
    assert model is not None
    await me.dialog(lambda: me.program.library.dialogs.details(model.path))


@step
async def tool_servers(me: Steps) -> None:
    await me.dialog(me.program.tools.open_servers)


@step
async def rename(me: Steps) -> None:
    if me.asked == 0:
        await me.ask()
    await me.by_action("rename_chat")


@step
async def panel(me: Steps) -> None:
    for _ in range(2):
        me.window.action("inspector").trigger()
        await asyncio.sleep(0.01)


@step
async def find(me: Steps) -> None:
    if me.asked == 0:
        await me.ask()
    me.window.action("find").trigger()
    me.program.history.find.open_at("sea", "")
    await asyncio.sleep(0.01)
    me.program.history.find.bar.close_bar()


@step
async def export(me: Steps) -> None:
    if me.asked == 0:
        await me.ask()
    for suffix in ("md", "json", "zip"):
        await me.program.history.transfer.write(
            [me.me.chat.conversation], me.folder / f"out.{suffix}"
        )


@step
async def menus(me: Steps) -> None:
    """The menus of a question and an answer."""
    if me.asked == 0:
        await me.ask()
    for view in me.me.page.transcript.message_views()[-2:]:
        view._on_more()
        await asyncio.sleep(0.01)
        popup = QApplication.activePopupWidget()
        if popup is not None:
            popup.close()
    await asyncio.sleep(0.01)


@step
async def notices(me: Steps) -> None:
    from app.notices import Notice

    me.services.notices.post(Notice("leak", "Some words."))
    await asyncio.sleep(0.01)
    me.services.notices.dismiss("leak")
    await asyncio.sleep(0.01)


@step
async def benchmark(me: Steps) -> None:
    """Starts a comparison and cancels it."""
    me.window.select_tab("benchmark")
    await asyncio.sleep(0.05)
    pages = me.program.benchmark.pages
    assert pages is not None
    pages.tab.setup.compare()
    await asyncio.sleep(0.3)
    me.program.benchmark.run.cancel()
    await me.me.until(lambda: not me.program.benchmark.run.running, 60)
    await me.me.ready()
