"""What a person does in the real window, as coroutines. Run by `tests.e2e.drive` in a process
of its own, with the real engine. A failed `assert` ends that process with code 1."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any

from PySide6.QtCore import QCoreApplication, QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtNetwork import QLocalSocket
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog, QPushButton, QWidget
from shiboken6 import isValid

import resources
from app import paths
from app.chat import Chat
from app.chat_state import ChatState
from app.conversation import ChatSettings, Node, TurnStatus
from app.engine_state import Phase
from app.gui import Program
from app.single_instance import SingleInstance
from engine.types import SpecMode
from ui import format as fmt
from ui.conversation_page import ConversationPage
from ui.dialogs import AskDialog, confirm
from ui.load_dialog import LoadDialog
from ui.log_dialog import LogDialog

LONG = "Write a very long story about a river, the fish in it, the mill and the old miller."
GAUGE = re.compile(
    r"^context \d+/\d+ \(\d+%\) · \d+\.\ds · \d+\.\d tok/s decode · TTFT \d+\.\d\ds$"
)


class Person:
    """Hands and eyes of somebody who uses the window."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.services = program.services
        self.window = program.window

    @property
    def chat(self) -> Chat:
        chat = self.services.chats.current()
        assert chat is not None
        return chat

    @property
    def page(self) -> ConversationPage:
        page = self.services.chats.page(self.chat.key)
        assert page is not None
        return page

    async def until(self, what: Callable[[], object], seconds: float = 100) -> None:
        end = time.monotonic() + seconds
        while not what():
            if time.monotonic() > end:
                raise AssertionError(f"did not happen: {self.where()}")
            await asyncio.sleep(0.005)

    def where(self) -> str:
        notice = self.services.notices.current
        return (
            f"chat {self.chat.state}, engine {self.services.state.phase}, "
            f"header {self.window.header('chat').text_shown()!r}, notice {notice}"
        )

    async def ready(self) -> None:
        await self.until(lambda: self.services.state.phase is Phase.READY)

    def type(self, text: str) -> None:
        edit = self.page.composer.edit
        edit.setFocus()
        QTest.keyClicks(edit, text)

    async def send(self, text: str) -> None:
        self.type(text)
        QTest.keyClick(self.page.composer.edit, Qt.Key.Key_Return)
        await self.until(lambda: self.chat.busy or self.chat.state is ChatState.FAILED)

    async def ask(self, text: str) -> Node:
        await self.send(text)
        await self.until(lambda: not self.chat.busy)
        await asyncio.sleep(0.05)
        return self.last()

    def last(self) -> Node:
        return self.chat.conversation.path()[-1]

    async def press(self, label: str) -> None:
        """Clicks the visible button with this text, in the window or a dialog."""

        def found() -> QPushButton | None:
            buttons = [w for w in QApplication.allWidgets() if isinstance(w, QPushButton)]
            shown = (b for b in buttons if b.isVisible())
            return next((b for b in shown if b.text().replace("&", "") == label), None)

        await self.until(found)
        button = found()
        assert button is not None
        QTest.mouseClick(button, Qt.MouseButton.LeftButton)

    def dialog(self, kind: type[QDialog]) -> QDialog | None:
        shown = (w for w in QApplication.topLevelWidgets() if w.isVisible())
        return next((w for w in shown if isinstance(w, kind)), None)

    def notice(self) -> str:
        current = self.services.notices.current
        return current.key if current is not None else ""

    def kill_engine(self) -> None:
        loaded = self.services.state.loaded
        assert loaded is not None
        os.kill(loaded.pid, signal.SIGKILL)


async def chatting(me: Person) -> None:
    """Type, stream, read the numbers, stop, go on, and keep earlier turns in memory."""
    await me.ready()
    header = me.window.header("chat").text_shown()
    assert "CPU · context 1024 tokens · speculative off · thinking off · text only" in header
    answer = await me.ask("Tell me about the sea.")
    assert answer.status is TurnStatus.DONE, answer
    assert me.page.turns()[-1].text == answer.text
    assert GAUGE.match(me.page.gauge.text()), me.page.gauge.text()
    assert answer.run is not None
    assert answer.run.speculative is False
    assert me.page.draft() == ""

    for round_ in range(3):
        await me.send(LONG)
        await me.until(lambda: me.chat.state is ChatState.DECODING or not me.chat.busy)
        me.type("draft")
        begin = time.monotonic()
        QTest.keyClick(me.page.composer.edit, Qt.Key.Key_Escape)
        assert me.chat.state in (ChatState.STOPPING, ChatState.IDLE)
        assert time.monotonic() - begin < 0.3
        await me.until(lambda: not me.chat.busy)
        assert me.page.draft() == "draft"
        me.page.clear_draft()
        if me.last().status is TurnStatus.STOPPED:
            assert me.page.turns()[-1].status == "stopped"
        answer = await me.ask("Say that again.")
        assert answer.status in (TurnStatus.DONE, TurnStatus.LIMIT), (round_, answer)
        assert answer.run is not None
        assert answer.run.resumed in ("resident", "checkpoint"), answer.run.resumed


async def speculation(me: Person) -> None:
    """The switch of one chat works on the loaded engine, from the next message on."""
    await me.ready()
    pid = me.services.state.loaded.pid if me.services.state.loaded else 0
    assert me.page.composer.spec.isVisible()
    me.page.spec_changed.emit("on")
    await me.until(lambda: "speculative on" in me.window.header("chat").text_shown())
    answer = await me.ask("Tell me about rain.")
    assert answer.run is not None
    assert answer.run.speculative is True
    assert me.page.turns()[-1].footer is not None
    assert me.window.chat.tabs.view(me.chat.key).speculative is True
    me.window.action("toggle_spec").trigger()
    answer = await me.ask("And about snow?")
    assert answer.run is not None
    assert answer.run.speculative is False
    assert me.services.state.loaded is not None
    assert me.services.state.loaded.pid == pid


async def switching(me: Person) -> None:
    """Another model: asked once, conversation and draft stay, no drafter and no error."""
    await me.ready()
    me.page.spec_changed.emit("on")
    await me.ask("My dog is called Rex.")
    me.type("unsent words")
    plain = os.environ["TANDEM_TEST_PLAIN_MODEL"]
    me.services.settings.change(chat=ChatSettings(spec=SpecMode.ON))
    me.window.model_dropped.emit(plain)
    await me.press("Load")
    await me.press("Switch")
    await me.until(lambda: (i := me.services.state.info) is not None and i.path == plain)
    assert me.page.draft() == "unsent words"
    assert not me.page.composer.spec.isVisible()
    assert "speculative off" in me.window.header("chat").text_shown()
    assert len(me.page.turns()) == 2
    me.page.clear_draft()
    answer = await me.ask("What is my dog called?")
    assert answer.status is not TurnStatus.FAILED, answer.error
    assert answer.run is not None
    assert (answer.run.speculative, answer.run.resumed) == (False, "rebuilt")


async def dying(me: Person) -> None:
    """The engine is killed while writing, while idle and while loading."""
    await me.ready()
    for _ in range(10):  # on a busy machine an answer may be at its end before it is looked at
        await me.send(LONG)
        await me.until(lambda: me.last().text or not me.chat.busy)
        me.kill_engine()
        await me.until(lambda: not me.chat.busy)
        await me.until(lambda: me.notice() == "crashed")
        if me.last().status is TurnStatus.FAILED:
            break
    assert me.last().status is TurnStatus.FAILED, me.where()
    assert me.last().text
    await me.until(lambda: me.notice() == "crashed")
    assert me.window.isVisible()
    assert me.window.chat.header.view().parts(extras=True) == (
        "Tandem demo", "CPU", "context 1024 tokens", "speculative off", "thinking off", "text only"
    )  # fmt: skip
    told = me.services.notices.current
    assert told is not None
    assert told.text.startswith("Tandem demo on CPU ended with signal 9 (killed).")
    assert "Your conversation is safe." in told.text
    cut = me.last()
    shown = me.page.transcript.turn(cut.id)
    assert shown is not None
    assert shown.footer is not None, "how it was made is kept"
    assert (shown.footer.backend, shown.footer.stop_reason) == ("CPU", "failed")
    assert dict(shown.footer.details)["Model"] == "Tandem demo"
    assert dict(shown.footer.details)["decode tok/s"] == fmt.DASH
    assert dict(shown.footer.details)["Time"] != f"{fmt.DASH} s"
    me.type("still here")
    await me.press("Restart engine")
    await me.ready()
    assert me.page.draft() == "still here"
    me.page.clear_draft()
    before = cut.text
    me.page.continue_requested.emit(cut.id)
    await me.until(lambda: not me.chat.busy)
    assert cut.status is not TurnStatus.FAILED, cut.error
    assert cut.text.startswith(before)
    assert (await me.ask("Hello?")).status is not TurnStatus.FAILED

    me.kill_engine()
    await me.until(lambda: me.notice() == "crashed")
    assert (await me.ask("Hello again?")).status is not TurnStatus.FAILED  # loads by itself
    await me.until(lambda: me.notice() != "crashed")

    for _ in range(10):  # a load may be done before the cancel reaches it
        me.services.models.restart()
        await me.until(lambda: me.services.state.phase is Phase.LOADING)
        me.services.engine.cancel_load()
        await me.until(lambda: me.services.state.phase in (Phase.NONE, Phase.READY))
        if me.services.state.phase is Phase.NONE:
            break
    assert me.services.state.phase is Phase.NONE, me.where()
    assert (await me.ask("And now?")).status is not TurnStatus.FAILED
    assert me.services.settings.value.crashed == ()


async def picking(me: Person) -> None:
    """The picker, the load dialog with its choices, and what was chosen is used."""
    await me.ready()
    me.window.switch_model_requested.emit()
    await me.press("Load")
    await me.until(lambda: me.dialog(LoadDialog))
    dialog = me.dialog(LoadDialog)
    assert isinstance(dialog, LoadDialog)
    assert dialog.spec is not None
    dialog.spec.set_value("on")
    dialog.context.setValue(512)
    await asyncio.sleep(0.05)
    await me.press("Load")
    await me.until(lambda: "context 512 tokens" in me.window.header("chat").text_shown())
    assert "speculative on" in me.window.header("chat").text_shown()
    answer = await me.ask("Hello")
    assert answer.run is not None
    assert (answer.run.speculative, answer.run.context_total) == (True, 512)


async def failing_load(me: Person) -> None:
    """A file that is no model: one sentence, and the model before it is still in use."""
    await me.ready()
    bad = Path(os.environ["TANDEM_HOME"]) / "bad.litertlm"
    data = me.services.state.info.path if me.services.state.info else ""
    _cut(Path(data), bad)
    me.window.model_dropped.emit(str(bad))
    await me.until(lambda: me.notice() in ("load_failed", "model_refused"))
    notice = me.services.notices.current
    assert notice is not None
    assert notice.text
    assert "\n" not in notice.text
    assert (await me.ask("Hello")).status is not TurnStatus.FAILED


async def second_start(me: Person) -> None:
    """Starting the program again hands its file to this window and ends."""
    await me.ready()
    loop = asyncio.get_running_loop()
    plain = os.environ["TANDEM_TEST_PLAIN_MODEL"]
    done = await loop.run_in_executor(None, _start_again, plain)
    assert (done.returncode, done.stderr) == (0, ""), done
    await me.until(lambda: me.dialog(LoadDialog))
    await me.press("Cancel")
    await me.until(lambda: not me.dialog(LoadDialog))
    done = await loop.run_in_executor(None, _start_again)
    assert done.returncode == 0, done
    assert me.window.isVisible()


def _start_again(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "app", *args],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def _cut(source: Path, target: Path) -> None:
    target.write_bytes(source.read_bytes()[: 3 * 1024 * 1024])


async def tabs(me: Person) -> None:
    """Chats queue for the one engine; a tab closed while writing leaves nothing behind."""
    await me.ready()
    first = me.chat
    await me.send(LONG)
    me.window.action("new_chat").trigger()
    await me.until(lambda: me.chat.key != first.key)
    second = me.chat
    await me.send("Hello")
    assert second.state is ChatState.QUEUED or not first.busy
    await me.until(lambda: not second.busy)
    assert second.conversation.path()[-1].status is not TurnStatus.FAILED
    await me.send(LONG)
    me.window.action("close_tab").trigger()
    await me.until(lambda: me.chat.key == first.key)
    await me.until(lambda: not second.busy)
    assert (await me.ask("Still there?")).status is not TurnStatus.FAILED


async def quit_idle(me: Person) -> None:
    """A start that comes while the window closes is told to wait."""
    await me.ready()

    async def slow() -> None:
        await asyncio.sleep(0.5)

    me.services.lifecycle.at_quit("slow", slow, order=5)
    me.window.close()
    socket = QLocalSocket()
    socket.connectToServer(SingleInstance(paths.resolve().runtime)._name)
    socket.write(b'{"open": ""}\n')
    answer = b""
    while not answer:
        await asyncio.sleep(0.01)
        answer = bytes(socket.readAll().data())
    assert answer == b"closing\n"
    assert not me.window.isVisible()


async def quit_loading(me: Person) -> None:
    await me.until(lambda: me.services.state.phase is Phase.LOADING)
    me.window.action("quit").trigger()
    me.window.close()


async def quit_prefill(me: Person) -> None:
    await me.ready()
    await me.send("word " * 400)
    await me.until(lambda: me.chat.state in (ChatState.PREFILL, ChatState.DECODING))
    me.window.close()


async def quit_decoding(me: Person) -> None:
    await me.ready()
    await me.send(LONG)
    await me.until(lambda: me.last().text)
    os.kill(os.getpid(), signal.SIGTERM)
    await asyncio.sleep(30)


async def quit_dialog(me: Person) -> None:
    """With a question open nobody answers."""
    await me.ready()
    me.services.models.show_log()
    await me.until(lambda: any(isinstance(w, LogDialog) for w in QApplication.topLevelWidgets()))
    me.services.models.keep(confirm(me.window, "A question", "Nobody answers it.", "Yes"))
    await me.until(lambda: any(isinstance(w, AskDialog) for w in QApplication.topLevelWidgets()))
    me.window.close()


async def dropping(me: Person) -> None:
    """A model file dropped anywhere on the window is taken; nothing is typed into a field.
    The Models tab adds it to its list instead of loading it."""
    await me.ready()
    me.window.action("inspector").trigger()
    me.window.action("find").trigger()
    await asyncio.sleep(0.2)
    wanted: list[str] = []
    me.window.model_dropped.disconnect()
    me.window.model_dropped.connect(wanted.append)
    path = str(resources.DEMO_MODEL)
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(path)])
    for key in ("chat", "models", "tools", "benchmark"):
        me.window.select_tab(key)
        await asyncio.sleep(0.3)
        if key == "models":
            tab = me.window.tab_widget(key)
            tab.files_dropped.disconnect()  # type: ignore[union-attr]
            tab.files_dropped.connect(wanted.extend)  # type: ignore[union-attr]
        widgets = [w for w in me.window.findChildren(QWidget) if w.isVisible() and not w.isWindow()]
        assert len(widgets) > 20
        for widget in widgets:
            if not isValid(widget) or not widget.isVisible():
                continue
            del wanted[:]
            name = f"{key}: {type(widget).__name__} {widget.accessibleName()}"
            _drop(widget, data)
            await asyncio.sleep(0)
            assert wanted == [path], name


def _drop(widget: QWidget, data: QMimeData) -> None:
    """What Qt does with a drag: up from the widget until somebody accepts it."""
    copy, left = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton
    none = Qt.KeyboardModifier.NoModifier
    at: QWidget | None = widget
    while at is not None:
        if at.isEnabled() and at.acceptDrops():
            entering = QDragEnterEvent(QPoint(3, 3), copy, data, left, none)
            QCoreApplication.sendEvent(at, entering)
            if entering.isAccepted():
                QCoreApplication.sendEvent(at, QDropEvent(QPointF(3, 3), copy, data, left, none))
                return
        at = None if at.isWindow() else at.parentWidget()


Scenario = Callable[[Person], Coroutine[Any, Any, None]]


async def act(program: Program, scenarios: Mapping[str, Scenario], names: Sequence[str]) -> None:
    """The named scenarios one after another, each in a new chat of the same window."""
    for number, name in enumerate(names):
        me = Person(program)
        if number:
            me.window.action("new_chat").trigger()
        await scenarios[name](me)


def play(scenarios: Mapping[str, Scenario], names: Sequence[str]) -> int:
    """Starts the program, acts, quits as a person would; the program's exit code."""
    from app import gui

    return gui.main(None, lambda program: act(program, scenarios, names))


SCENARIOS: dict[str, Scenario] = {
    f.__name__: f
    for f in (
        chatting,
        speculation,
        switching,
        picking,
        dropping,
        second_start,
        dying,
        failing_load,
        tabs,
        quit_idle,
        quit_loading,
        quit_prefill,
        quit_decoding,
        quit_dialog,
    )
}
