"""The real bridge under load: engine thread → mailbox → Qt's event loop → chat.

20 000 chunks must arrive in order, none lost, without flooding the loop, and without losing
references of singletons: PySide6 6.12.0 on CPython 3.11 loses one reference to True per
signal and aborts after a few hundred.
"""

from __future__ import annotations

import asyncio
import sys
import time
import warnings
from collections.abc import Iterator

import pytest
from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QApplication

from app.engine_service import EngineService
from app.mailbox import Mailbox
from engine.protocol import TextSink
from engine.types import (
    FinishReason,
    GenerateRequest,
    LoadOptions,
    Message,
    Outcome,
    TextBatch,
    TextPart,
)
from tests.fakes.scripted_engine import ScriptedEngine

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import qasync

CHUNKS = 20_000


class Flood(ScriptedEngine):
    """Sends 20 000 numbered chunks as fast as it can."""

    def generate(self, request: GenerateRequest, sink: TextSink) -> Outcome:
        for i in range(CHUNKS):
            sink(TextBatch(run_id=request.run_id, text=f"{i},", steps=i + 1, first_s=0.0))
        return Outcome(run_id=request.run_id, reason=FinishReason.END)


@pytest.fixture
def loop(qapp: QApplication) -> Iterator[qasync.QEventLoop]:
    made = qasync.QEventLoop(qapp)
    asyncio.set_event_loop(made)
    with made:
        yield made
    asyncio.set_event_loop(None)


def test_twenty_thousand_chunks_through_the_real_bridge(loop: qasync.QEventLoop) -> None:
    got: list[str] = []
    gaps: list[float] = []

    async def beat(stop: asyncio.Event) -> None:
        last = time.perf_counter()
        while not stop.is_set():
            await asyncio.sleep(0)
            now = time.perf_counter()
            gaps.append(now - last)
            last = now

    async def main() -> Outcome:
        service = EngineService(Flood, loop)
        stop = asyncio.Event()
        beating = loop.create_task(beat(stop))
        request = GenerateRequest(
            run_id=1, chat_key="c", message=Message(role="user", parts=(TextPart(text="x"),))
        )
        try:
            return await service.generate(
                request, LoadOptions(model_path="/m"), lambda batch: got.append(batch.text)
            )
        finally:
            stop.set()
            await beating
            await service.close()

    outcome = loop.run_until_complete(main())
    assert outcome.reason is FinishReason.END
    assert "".join(got) == "".join(f"{i}," for i in range(CHUNKS))
    assert len(got) < CHUNKS / 2, "chunks were not merged"
    assert len(gaps) > 1, "the loop never ran in between"


def test_wakeups_do_not_lose_references(loop: qasync.QEventLoop) -> None:
    """Each burst is one Qt signal across threads; thousands must cost no reference."""

    async def main() -> tuple[int, int]:
        arrived = 0
        done = asyncio.Event()

        def deliver(items: list[TextBatch | str]) -> None:
            nonlocal arrived
            arrived += 1
            done.set()

        box: Mailbox[str] = Mailbox(loop, deliver)
        for _ in range(20):
            done.clear()
            await loop.run_in_executor(None, box.post, "x")
            await done.wait()
        before = sys.getrefcount(True), sys.getrefcount(None)
        for _ in range(500):
            done.clear()
            await loop.run_in_executor(None, box.post, "x")
            await done.wait()
        after = sys.getrefcount(True), sys.getrefcount(None)
        assert arrived == 520
        return after[0] - before[0], after[1] - before[1]

    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        loop.set_default_executor(pool)
        lost_true, lost_none = loop.run_until_complete(main())
    assert abs(lost_true) < 100
    assert abs(lost_none) < 100


def test_plain_signals_do_not_lose_references(qapp: QApplication) -> None:
    class Sender(QObject):
        fired = Signal(bool)

    sender = Sender()
    sender.fired.connect(lambda on: None)
    before = sys.getrefcount(True)
    for _ in range(2000):
        sender.fired.emit(True)
        qapp.processEvents()
    assert abs(sys.getrefcount(True) - before) < 200
