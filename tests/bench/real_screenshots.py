"""Pictures of the real program with the real engine, for the README and the documentation.

    python tests/bench/real_screenshots.py MODEL FOLDER [--font NAME] [--only benchmark]

MODEL is a .litertlm file with a drafter that can write a few lines of code. The program runs
in a folder of its own; a person's clicks and keys drive it. Nothing shown is made up: answers,
numbers and the stopped engine are what happened. 1280x800, PNG with a palette. The
comparison takes a few minutes.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

CODE = "Write a short Python function that adds two numbers."
MORE = "Explain at length how a computer adds two numbers."
LONG = "Write a long story about a river, the fish in it, the mill and the old miller."
ROUNDS_S = 900


class Camera:
    """Takes the window, with an open dialog over it, in one or both looks."""

    def __init__(self, window: Any, folder: Path) -> None:
        self._window, self._folder = window, folder

    async def both(self, name: str) -> None:
        for mode in ("dark", "light"):
            await self.one(name, mode)

    async def one(self, name: str, mode: str, dialog: Any = None) -> None:
        from ui.theme import theme

        theme().apply(mode=mode)
        await asyncio.sleep(0.6)
        self.save(f"{name}-{mode}", dialog)

    def save(self, name: str, dialog: Any = None) -> None:
        from PySide6.QtGui import QColor, QImage, QPainter

        picture = self._window.grab()
        if dialog is not None:
            over = dialog.grab()
            x = (picture.width() - over.width()) // 2
            y = (picture.height() - over.height()) // 2
            painter = QPainter(picture)
            painter.fillRect(picture.rect(), QColor(0, 0, 0, 60))
            painter.drawPixmap(x, y, over)
            painter.setPen(QColor(0, 0, 0, 70))
            painter.drawRect(x, y, over.width(), over.height())
            painter.end()
        image = picture.toImage().convertToFormat(QImage.Format.Format_RGB32)
        path = self._folder / f"{name}.png"
        image.save(str(path), "PNG", 0)
        print(path.name, path.stat().st_size // 1024, "kB", flush=True)


async def chat(me: Any, camera: Camera) -> None:
    """A streamed answer with code, and one stopped by the person."""
    import msgspec

    from engine.types import Sampling
    from ui.theme import theme

    settings = me.chat.settings
    me.chat.change_settings(
        msgspec.structs.replace(settings, sampling=Sampling(max_output_tokens=220))
    )
    me.page.spec_changed.emit("on")
    await me.ask(CODE)
    for mode in ("light", "dark"):
        theme().apply(mode=mode)
        await asyncio.sleep(0.3)
        await me.send(MORE)
        await me.until(lambda: len(me.last().text) > 150)
        await asyncio.sleep(0.05)
        camera.save(f"chat-{mode}")
        await me.until(lambda: not me.chat.busy)
        me.chat.delete_turn(me.last().parent)
    theme().apply(mode="light")
    await me.until(lambda: not me.chat.busy)
    me.window.action("new_chat").trigger()
    await me.until(lambda: not me.chat.conversation.nodes)
    await me.send(LONG)
    await me.until(lambda: len(me.last().text) > 400)
    await me.press("Stop")
    await me.until(lambda: not me.chat.busy)
    await camera.one("stopped", "light")


async def dialogs(me: Any, camera: Camera) -> None:
    """The picker and the load dialog."""
    from ui.load_dialog import LoadDialog
    from ui.model_picker import ModelPicker

    me.window.switch_model_requested.emit()
    await me.until(lambda: me.dialog(ModelPicker))
    await asyncio.sleep(0.5)
    camera.save("picker-light", me.dialog(ModelPicker))
    await me.press("Load")
    await me.until(lambda: me.dialog(LoadDialog))
    await asyncio.sleep(0.5)
    camera.save("load-dialog-light", me.dialog(LoadDialog))
    await me.press("Cancel")
    await me.until(lambda: not me.dialog(LoadDialog))


async def tabs(me: Any, camera: Camera) -> None:
    """The library, and an answer of a forced form on the Tools tab."""
    me.window.select_tab("models")
    await asyncio.sleep(1.5)
    await camera.both("models")
    me.window.select_tab("tools")
    await asyncio.sleep(0.5)
    tab = me.window.tab_widget("tools")
    tab.show_page(1)
    tab.structured.input.setText("Invent a person who works in a mill.")
    tab.structured.send.click()
    tools = me.services.tools
    await me.until(lambda: tools.asking.state == "idle" and tab.structured.verdict.isVisible(), 120)
    await camera.both("tools")
    me.window.select_tab("chat")


async def benchmark(me: Any, camera: Camera) -> None:
    """A quick comparison, really measured."""
    me.window.action("measure").trigger()
    await asyncio.sleep(2.0)
    tab = me.window.tab_widget("benchmark")
    tab.setup.set_workloads(("rewrite", "summary", "code", "qa"))
    tab.setup._set_runs(3)
    tab.setup._set_per_class(1)
    await me.press("Compare")
    await asyncio.sleep(2.0)
    await me.until(tab.setup.compare_button.isEnabled, ROUNDS_S)
    await asyncio.sleep(1.0)
    await camera.both("benchmark")
    me.window.select_tab("chat")


async def engine_stops(me: Any, camera: Camera) -> None:
    """The engine process is killed from outside while it writes."""
    await me.send(LONG)
    await me.until(lambda: len(me.last().text) > 150)
    me.kill_engine()
    await me.until(lambda: me.notice() == "crashed")
    await camera.one("engine-stopped", "light")


def main() -> int:
    args = argparse.ArgumentParser(description=__doc__)
    args.add_argument("model")
    args.add_argument("folder", type=Path)
    args.add_argument("--font", default="")
    args.add_argument("--only", default="")
    options = args.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    os.environ["TANDEM_HOME"] = tempfile.mkdtemp(prefix="tandem-shots-")
    from PySide6.QtGui import QFont

    from app import gui
    from tests.e2e.scenarios import Person

    application = gui.make_application()
    if options.font:
        application.setFont(QFont(options.font))

    async def script(program: Any) -> None:
        from ui.theme import theme

        me = Person(program)
        me.window.resize(1280, 800)
        theme().apply(mode="light")
        camera = Camera(me.window, options.folder)
        await me.ready()
        await me.services.models.flow.open_file(options.model, ask=False)
        await me.ready()
        for notice in me.services.notices.open:
            me.services.notices.dismiss(notice.key)
        for part in (chat, dialogs, tabs, benchmark, engine_stops):
            if not options.only or options.only in part.__name__:
                print("--", part.__name__, flush=True)
                await part(me, camera)

    return gui.main(None, script)


if __name__ == "__main__":
    sys.exit(main())
