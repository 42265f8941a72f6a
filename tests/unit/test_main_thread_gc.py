"""The collector of the window: off by itself, on the loop by hand, cheap, and put back."""

from __future__ import annotations

import asyncio
import gc
import weakref

from app.main_thread_gc import MainThreadGc


class Thing:
    """Something that can be in a cycle and be watched."""

    other: Thing


def cycle() -> weakref.ref[Thing]:
    a, b = Thing(), Thing()
    a.other, b.other = b, a
    return weakref.ref(a)


def test_garbage_is_collected_on_the_loop_and_nothing_else_collects() -> None:
    async def main() -> None:
        collector = MainThreadGc(asyncio.get_running_loop())
        before = len(gc.get_objects())
        collector.start()
        try:
            assert not gc.isenabled()
            assert len(gc.get_objects()) < before / 2, "what was there is not looked at again"
            garbage = cycle()
            kept = [[] for _ in range(3 * gc.get_threshold()[0])]
            assert garbage() is not None
            collector._tick()
            assert garbage() is None
            assert kept
        finally:
            collector.stop()
        assert gc.isenabled()
        assert gc.get_freeze_count() == 0

    assert gc.isenabled()
    asyncio.run(main())
