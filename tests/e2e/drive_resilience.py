"""The real window while the world around it changes: `python -m tests.e2e.drive_resilience NAME`.

Model switches while streaming, stop and send again, folders that vanish, clocks that jump.
TANDEM_TEST_ROUNDS says how often (long rounds by hand: `tests.bench.faults`). A failed
`assert` ends the process with code 1.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import time

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.chat_state import ChatState
from app.conversation import TurnStatus
from tests.e2e.scenarios import LONG, Person, Scenario, play

ROUNDS = int(os.environ.get("TANDEM_TEST_ROUNDS", "4"))
FINE = (TurnStatus.DONE, TurnStatus.LIMIT, TurnStatus.CONTEXT_FULL)


async def switches(me: Person) -> None:
    """Another model in the middle of an answer: the text so far is kept and marked."""
    await me.ready()
    models = me.services.models
    files = (os.environ["TANDEM_TEST_PLAIN_MODEL"], str(me.services.state.info.path))
    pids = set()
    for number in range(ROUNDS):
        me.window.action("new_chat").trigger()
        await me.send(LONG)
        await me.until(lambda: me.last().text or not me.chat.busy)
        info = await me.services.facts.inspect(files[number % 2])
        models.keep(models.switch(models.fitting(models.options_for(info.path), info)))
        await me.press("Switch")
        await me.until(lambda info=info: (i := me.services.state.info) and i.path == info.path)
        await me.ready()
        assert me.services.state.loaded is not None
        pids.add(me.services.state.loaded.pid)
        assert not me.chat.busy, me.where()
        assert me.last().text
        assert me.last().status in (TurnStatus.STOPPED, *FINE), me.last()
    assert len(pids) == ROUNDS
    assert (await me.ask("Hello?")).status is not TurnStatus.FAILED


async def stops(me: Person) -> None:
    """Stop at any moment, then send: the next answer arrives every time."""
    await me.ready()
    for number in range(ROUNDS):
        me.window.action("new_chat").trigger()
        await me.send(LONG if number % 3 else "word " * 300)
        if number % 2:
            await me.until(lambda: me.chat.state is ChatState.DECODING or not me.chat.busy)
        await asyncio.sleep(0.05 * (number % 7))
        QTest.keyClick(me.page.composer.edit, Qt.Key.Key_Escape)
        QTest.keyClick(me.page.composer.edit, Qt.Key.Key_Escape)
        await me.until(lambda: not me.chat.busy)
        stopped = me.last()
        assert stopped.status in (TurnStatus.STOPPED, *FINE), stopped
        answer = await me.ask("Say OK.")
        assert answer.status in FINE, (number, answer, me.where())
        assert me.chat.conversation.nodes[stopped.id].text == stopped.text


async def folders(me: Person) -> None:
    """Cache, settings, logs and data vanish while running: it goes on and says so at most."""
    await me.ready()
    paths = me.services.paths
    shutil.rmtree(paths.cache)
    me.services.models.restart()
    await me.until(lambda: me.services.state.loaded is None)
    await me.ready()
    assert (await me.ask("Hello?")).status in FINE
    for folder in (paths.config, paths.logs, paths.data):
        shutil.rmtree(folder)
        folder.with_name(folder.name).write_text("a file where the folder was")
        me.services.settings.change(enter_sends=True, theme="dark")
        me.services.settings.change(theme="light")
        answer = await me.ask("Are you there?")
        assert answer.status in FINE, (folder, answer)
        assert me.page.turns()[-1].text == answer.text
        for notice in me.services.notices.open:
            assert "\n" not in notice.text, notice
            assert "Traceback" not in notice.detail, notice


async def clocks(me: Person) -> None:
    """The wall clock jumps by years while an answer is written: durations do not care."""
    await me.ready()
    real, shown = time.time, len(me.program.history.sidebar.model.items())
    for jump in (-10, 10):
        begun = time.monotonic()
        await me.send(LONG)
        await me.until(lambda: me.last().text or not me.chat.busy)
        time.time = lambda jump=jump: real() + jump * 365 * 86400.0
        await me.until(lambda: not me.chat.busy)
        took = time.monotonic() - begun
        run = me.last().run
        assert run is not None
        assert me.last().status in FINE, me.last()
        assert 0 <= run.elapsed_s <= took + 1, run.elapsed_s
        assert run.decode_tps is None or run.decode_tps > 0
        assert me.page.turns()[-1].text == me.last().text
        await me.services.history.flush()
        stored = await me.services.history.load(me.chat.key)
        assert stored is not None
        assert [n.text for n in stored.path()] == [n.text for n in me.chat.conversation.path()]
        me.window.action("new_chat").trigger()
    time.time = real
    assert len(me.program.history.sidebar.model.items()) == shown + 2


async def suspended(me: Person) -> None:
    """Streams one answer after another; somebody else stops and continues the processes."""
    await me.ready()
    end = time.monotonic() + float(os.environ.get("TANDEM_TEST_SECONDS", "10"))
    print("ready", flush=True)
    while time.monotonic() < end:
        me.window.action("new_chat").trigger()
        answer = await me.ask(LONG)
        assert answer.status in FINE, (answer, me.where())


SCENARIOS: dict[str, Scenario] = {
    f.__name__: f for f in (switches, stops, folders, clocks, suspended)
}


if __name__ == "__main__":
    sys.exit(play(SCENARIOS, sys.argv[1:]))
