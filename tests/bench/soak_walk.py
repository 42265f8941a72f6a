"""The random walk of `tests.bench.soak`: what a restless person does with the real window.

Every action is a coroutine that starts something and returns soon; answers, loads and
dialogs go on while the next action comes. Nothing here asserts: `soak` judges.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import msgspec
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog, QPushButton
from shiboken6 import isValid

from app.chat import Chat
from app.conversation import Role
from app.gui import Program
from engine.types import Sampling, SpecMode

WORDS = (
    "Tell me about the sea.",
    "Write a long story about a dragon and a mill.",
    "日本語で答えて 😊",
    "List three **bold** things in a table.",
    "```python\nprint('x')\n```\nWhat does it print?",
    "مرحبا",
    "a\u2028b\u0000c",
    "x" * 600,
    "word " * 900,
    "1 2 3",
)
THEMES = ("light", "dark", "system")
MAX_TABS = 5
CLICKABLE = ("Restart engine", "Undo", "Load", "Cancel", "Switch", "Close", "OK", "Stop")

Action = Callable[["Walker"], Coroutine[Any, Any, None]]
ACTIONS: list[tuple[int, Action]] = []


def action(weight: int) -> Callable[[Action], Action]:
    def add(run: Action) -> Action:
        ACTIONS.append((weight, run))
        return run

    return add


class Walker:
    """Picks actions by weight. `models` are files to switch between, `broken` is no model."""

    def __init__(
        self, program: Program, rng: random.Random, models: list[str], broken: str, folder: Path
    ) -> None:
        self.program, self.rng, self.models, self.broken = program, rng, models, broken
        self.folder = folder
        self.services, self.window = program.services, program.window
        self.kills = 0

    async def step(self) -> str:
        run = self.rng.choices([a for _, a in ACTIONS], [w for w, _ in ACTIONS])[0]
        await run(self)
        await self.answer_dialogs()
        return run.__name__

    @property
    def chat(self) -> Chat:
        chat = self.services.chats.current()
        assert chat is not None
        return chat

    def page(self) -> Any:
        return self.services.chats.page(self.chat.key)

    def trigger(self, name: str) -> None:
        found = self.window.action(name)
        if found.isEnabled():
            found.trigger()

    async def answer_dialogs(self) -> None:
        """Presses some button of a dialog that is open, or Escape; sooner or later all go."""
        for dialog in [w for w in QApplication.topLevelWidgets() if isinstance(w, QDialog)]:
            # What was pressed before may have closed and deleted this one.
            if not isValid(dialog) or not dialog.isVisible() or self.rng.random() < 0.2:
                continue
            await asyncio.sleep(self.rng.uniform(0, 0.2))
            if not isValid(dialog):
                continue
            buttons = [
                b
                for b in dialog.findChildren(QPushButton)
                if b.isVisible() and b.isEnabled() and b.text().replace("&", "") in CLICKABLE
            ]
            if buttons and self.rng.random() < 0.7:
                self.rng.choice(buttons).click()
            else:
                dialog.reject()

    def some(self, role: Role) -> str | None:
        ids = [n.id for n in self.chat.conversation.path() if n.role is role]
        return self.rng.choice(ids) if ids else None


@action(14)
async def send(me: Walker) -> None:
    me.window.select_tab("chat")
    edit = me.page().composer.edit
    text = me.rng.choice(WORDS)
    if len(text) < 60 and text.isascii() and "\n" not in text:
        QTest.keyClicks(edit, text)
    else:
        me.page().composer.set_text(text)
    QTest.keyClick(edit, Qt.Key.Key_Return)


@action(6)
async def wait_for_answer(me: Walker) -> None:
    chat, end = me.chat, asyncio.get_running_loop().time() + me.rng.uniform(1, 8)
    while chat.busy and asyncio.get_running_loop().time() < end:  # noqa: ASYNC110
        await asyncio.sleep(0.02)


@action(8)
async def stop(me: Walker) -> None:
    me.trigger("stop")


@action(4)
async def regenerate(me: Walker) -> None:
    node = me.some(Role.ASSISTANT)
    if node:
        me.page().regenerate_requested.emit(node)


@action(4)
async def edit(me: Walker) -> None:
    node = me.some(Role.USER)
    if node:
        me.page().edit_submitted.emit(node, me.rng.choice(WORDS))


@action(3)
async def go_on(me: Walker) -> None:
    node = me.some(Role.ASSISTANT)
    if node:
        me.page().continue_requested.emit(node)


@action(3)
async def versions(me: Walker) -> None:
    node = me.some(me.rng.choice((Role.USER, Role.ASSISTANT)))
    if node:
        me.page().version_selected.emit(node, me.rng.choice((-1, 1)))


@action(2)
async def delete_turn(me: Walker) -> None:
    node = me.some(Role.USER)
    if node and not me.chat.busy:
        me.page().turn_deleted.emit(node)


@action(5)
async def new_chat(me: Walker) -> None:
    me.trigger("new_chat")
    while len(me.services.chats.chats) > MAX_TABS:
        me.services.chats.close(me.services.chats.chats[0].key)
    limit = me.rng.choice((16, 60, 200, None))
    sampling = Sampling(max_output_tokens=limit)
    me.chat.change_settings(msgspec.structs.replace(me.chat.settings, sampling=sampling))


@action(4)
async def close_tab(me: Walker) -> None:
    me.trigger("close_tab")


@action(3)
async def reopen_tab(me: Walker) -> None:
    me.trigger("reopen_tab")


@action(5)
async def switch_tab(me: Walker) -> None:
    me.trigger(me.rng.choice(("next_tab", "previous_tab")))


@action(4)
async def big_tabs(me: Walker) -> None:
    me.window.select_tab(me.rng.choice(("chat", "models", "tools", "benchmark", "chat")))


@action(4)
async def speculation(me: Walker) -> None:
    if me.rng.random() < 0.5:
        me.trigger("toggle_spec")
    else:
        me.page().spec_changed.emit(str(me.rng.choice(list(SpecMode))))


@action(2)
async def switch_model(me: Walker) -> None:
    files = [*me.models, me.broken]
    ask = me.rng.random() < 0.7
    flow = me.services.models.flow
    me.services.models.keep(flow.open_file(me.rng.choice(files), ask=ask))
    await asyncio.sleep(0.3)


@action(1)
async def unload(me: Walker) -> None:
    me.trigger("unload")


@action(1)
async def restart(me: Walker) -> None:
    me.trigger("restart_engine")


@action(1)
async def cancel_load(me: Walker) -> None:
    me.services.models.restart()
    await asyncio.sleep(me.rng.uniform(0, 0.6))
    me.window.cancel_load_requested.emit()


@action(2)
async def kill_engine(me: Walker) -> None:
    loaded = me.services.state.loaded
    if loaded is not None:
        me.kills += 1
        numbers = (signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT, signal.SIGTERM)
        try:
            os.kill(loaded.pid, me.rng.choice(numbers))
        except ProcessLookupError:
            pass


@action(3)
async def settings(me: Walker) -> None:
    dialog = me.program.history.settings.open()
    dialog.changed.emit("density", me.rng.choice(("comfortable", "compact")))
    dialog.changed.emit("show_footer", me.rng.random() < 0.5)
    await asyncio.sleep(0.1)
    dialog.close()


@action(3)
async def theme(me: Walker) -> None:
    me.services.settings.change(theme=me.rng.choice(THEMES))


@action(2)
async def zoom(me: Walker) -> None:
    me.trigger(me.rng.choice(("zoom_in", "zoom_out", "zoom_reset")))


@action(3)
async def search(me: Walker) -> None:
    me.trigger("find_everywhere")
    me.program.history.sidebar.search.setText(me.rng.choice(("sea", "dragon", "日本", "", "x*\"'")))
    await asyncio.sleep(0.2)
    me.program.history.sidebar.search.clear()


@action(2)
async def find(me: Walker) -> None:
    me.trigger("find")
    me.program.history.find.open_at(me.rng.choice(("the", "a", "%")), "")
    await asyncio.sleep(0.1)
    me.program.history.find.bar.close_bar()


@action(2)
async def looks(me: Walker) -> None:
    me.trigger(me.rng.choice(("sidebar", "inspector", "palette", "shortcuts", "logs", "about")))
    await asyncio.sleep(0.1)


@action(3)
async def export(me: Walker) -> None:
    if me.chat.conversation.nodes:
        path = me.folder / f"out.{me.rng.choice(('md', 'json', 'zip'))}"
        transfer = me.program.history.transfer
        await transfer.write([me.chat.conversation], path)
        if path.suffix != ".md" and me.rng.random() < 0.3:
            await transfer.read(path)


@action(2)
async def delete_chat(me: Walker) -> None:
    me.trigger("delete_chat")
    await asyncio.sleep(0.1)
    undo = [n for n in me.services.notices.open if n.key.startswith("deleted_")]
    if undo and me.rng.random() < 0.5:
        me.services.notices.dismiss(undo[-1].key)
        undo[-1].actions[0].run()


@action(2)
async def notices(me: Walker) -> None:
    """Presses a button of the notice shown, or closes it."""
    current = me.services.notices.current
    if current is None:
        return
    if current.actions and me.rng.random() < 0.5:
        me.window.notice_action.emit(current.key, str(me.rng.randrange(len(current.actions))))
    else:
        me.services.notices.dismiss(current.key)


@action(1)
async def benchmark(me: Walker) -> None:
    """Starts a comparison and cancels it before its end."""
    me.window.select_tab("benchmark")
    pages = me.program.benchmark.pages
    if pages is None:
        return
    await asyncio.sleep(0.5)
    pages.tab.setup.compare()
    await asyncio.sleep(me.rng.uniform(0, 3))
    me.program.benchmark.run.cancel()


@action(2)
async def resize(me: Walker) -> None:
    me.window.resize(me.rng.randint(640, 1400), me.rng.randint(480, 900))


@action(1)
async def drop_picture(me: Walker) -> None:
    me.page().files_dropped.emit([str(me.folder / "cat.png")])


@action(2)
async def clear_draft(me: Walker) -> None:
    me.page().clear_draft()


@action(3)
async def nothing(me: Walker) -> None:
    await asyncio.sleep(me.rng.uniform(0, 1.5))
