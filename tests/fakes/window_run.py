"""The real window with another engine inside the test's own process."""

from __future__ import annotations

import asyncio
import gc
import warnings
from collections.abc import Callable, Coroutine
from typing import Any

from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtWidgets import QApplication

from app import paths
from app.gui import Program
from tests.e2e.scenarios import Person
from tests.fakes.scripted_engine import ScriptedEngine

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import qasync

LIMIT_S = 200
Body = Callable[[Person], Coroutine[Any, Any, None]]
Run = Callable[[ScriptedEngine, Body], None]


def run_window(app: QApplication, engine: ScriptedEngine, body: Body) -> None:
    """Runs `body` in the window with this engine, then quits as a person would."""
    loop = qasync.QEventLoop(app)
    asyncio.set_event_loop(loop)

    async def main() -> None:
        program = Program(paths.resolve(), loop, lambda: engine)
        program.start()
        try:
            await asyncio.wait_for(body(Person(program)), LIMIT_S)
        finally:
            program.services.lifecycle.quit()
            await program.services.lifecycle.run()
            program.dispose()

    gc.disable()  # what is left of the window must not be collected on another thread
    try:
        with loop:
            loop.run_until_complete(main())
        asyncio.set_event_loop(None)
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        gc.collect()
    finally:
        gc.enable()
    assert engine.closed or not engine.loads
