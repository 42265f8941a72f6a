"""What opens and closes leaves nothing: counted exactly, in the real window.

`tests.bench.leaks` measures the same operations, and more of them, over hundreds of rounds.
"""

from __future__ import annotations

import asyncio
import gc
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QObject
from PySide6.QtWidgets import QApplication, QLabel, QLayoutItem, QWidget

from tests.bench.leak_steps import STEPS, Steps
from tests.e2e.scenarios import Person
from tests.fakes.scripted_engine import ScriptedEngine
from tests.fakes.window_run import Run, run_window
from ui.layouts import FlowLayout

ROUNDS = 3
PATIENCE = 50
DIALOGS = (
    "settings", "palette", "shortcuts", "logs", "about", "save_report", "switch_model",
    "load_settings", "answer_form", "add_model", "model_details", "tool_servers", "rename",
)  # fmt: skip
PAGES = (
    "conversation",
    "stored",
    "regenerate",
    "theme",
    "zoom",
    "find",
    "panel",
    "menus",
    "notices",
)


@pytest.fixture
def run(qapp: QApplication, tandem_home: Path) -> Iterator[Run]:
    gc.collect()
    gc.freeze()  # what earlier tests imported is not looked at again and again
    yield partial(run_window, qapp)
    gc.unfreeze()


def qt_objects() -> Counter[str]:
    """Python's objects of Qt, and Qt's own widgets, by type."""
    gc.collect()
    kinds = (QObject, QLayoutItem)
    found = Counter(f"python {type(o).__name__}" for o in gc.get_objects() if isinstance(o, kinds))
    found.update(f"qt {w.metaObject().className()}" for w in QApplication.allWidgets())
    return found


async def settled(steps: Steps) -> Counter[str]:
    """The same once the window stands still: deletions and what they let go need the loop."""
    await steps.rest(0.02)
    for _ in range(2):
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
        gc.collect()
        await asyncio.sleep(0.02)
    return qt_objects()


def more(before: Counter[str], after: Counter[str]) -> dict[str, int]:
    return dict(after - before)


@pytest.mark.qt_log_ignore("grabbing the keyboard", extend=True)
@pytest.mark.parametrize("names", [DIALOGS, PAGES], ids=["dialogs", "pages"])
def test_what_is_closed_is_gone(run: Run, names: tuple[str, ...], tmp_path: Path) -> None:
    left: dict[str, dict[str, int]] = {}

    async def body(me: Person) -> None:
        await me.ready()
        steps = Steps(me.program, me, tmp_path)
        for name in names:
            await STEPS[name](steps)
            before = await settled(steps)
            for _ in range(ROUNDS):
                await STEPS[name](steps)
            found = more(before, await settled(steps))
            for _ in range(PATIENCE):  # what a busy machine has not let go yet
                if not found:
                    break
                await asyncio.sleep(0.1)
                found = more(before, await settled(steps))
            if found:
                left[name] = found

    run(ScriptedEngine(), body)
    assert left == {}


def test_a_flow_layout_goes_with_its_widget(qapp: QApplication) -> None:
    before = qt_objects()
    for _ in range(ROUNDS):
        place = QWidget()
        flow = FlowLayout(place)
        for n in range(4):
            flow.addWidget(QLabel(str(n)))
        flow.insert_widget(1, QLabel("between"))
        flow.removeWidget(flow.widgets()[0])
        place.deleteLater()
        del place, flow
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
    assert more(before, qt_objects()) == {}
