"""Quitting in stages: once, in order, with deadlines, whatever a stage does."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time

import pytest

from app.lifecycle import Lifecycle


def test_stages_run_once_in_order_and_equal_ones_together() -> None:
    done: list[str] = []

    async def main() -> None:
        life = Lifecycle(asyncio.get_running_loop())

        def stage(name: str, seconds: float = 0.0):  # type: ignore[no-untyped-def]
            async def run() -> None:
                await asyncio.sleep(seconds)
                done.append(name)

            return run

        life.at_quit("late", stage("late"), order=90)
        life.at_quit("slow", stage("slow", 0.05), order=50)
        life.at_quit("quick", stage("quick"), order=50)
        life.at_quit("early", stage("early"), order=10)
        life.on_closing = lambda: done.append("closing")
        life.quit()
        life.quit()
        assert life.closing
        await life.run()
        life.quit()

    asyncio.run(main())
    assert done == ["closing", "early", "quick", "slow", "late"]


def test_a_stage_that_hangs_or_fails_does_not_keep_the_others() -> None:
    done: list[str] = []

    async def main() -> None:
        life = Lifecycle(asyncio.get_running_loop())

        async def hang() -> None:
            await asyncio.sleep(60)

        async def fail() -> None:
            raise RuntimeError("no")

        async def good() -> None:
            done.append("good")

        life.at_quit("hang", hang, seconds=0.05, order=1)
        life.at_quit("fail", fail, order=2)
        life.at_quit("good", good, order=3)
        life.quit()
        await life.run()

    begin = time.monotonic()
    asyncio.run(main())
    assert done == ["good"]
    assert time.monotonic() - begin < 30


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_sigterm_quits() -> None:
    async def main() -> None:
        life = Lifecycle(asyncio.get_running_loop())
        life.watch_signals()
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            await asyncio.wait_for(life.run(), 60)
        finally:
            life.forget_signals()

    asyncio.run(main())
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    signal.signal(signal.SIGINT, signal.default_int_handler)
