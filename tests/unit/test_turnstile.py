"""The fair slot: order, giving up, cancellation, and never two holders."""

from __future__ import annotations

import asyncio
import contextlib

from hypothesis import given, settings
from hypothesis import strategies as st

from app.turnstile import Turnstile


def test_waiters_enter_in_order() -> None:
    async def main() -> list[int]:
        slot, order = Turnstile(), []

        async def use(number: int) -> None:
            assert await slot.enter()
            order.append(number)
            await asyncio.sleep(0)
            slot.leave()

        await asyncio.gather(*(use(i) for i in range(6)))
        assert not slot.busy
        return order

    assert asyncio.run(main()) == list(range(6))


@given(st.lists(st.sampled_from(["run", "stop", "cancel"]), max_size=8), st.integers(0, 5))
@settings(max_examples=60, deadline=None)
def test_whoever_gives_up_the_slot_stays_usable(kinds: list[str], pause: int) -> None:
    async def main() -> None:
        slot = Turnstile()
        inside = 0
        loop = asyncio.get_running_loop()

        async def use(stop: asyncio.Future[None]) -> None:
            nonlocal inside
            if not await slot.enter(stop):
                return
            inside += 1
            assert inside == 1
            try:
                await asyncio.sleep(0)
            finally:
                inside -= 1
                slot.leave()

        stops = [loop.create_future() for _ in kinds]
        tasks = [loop.create_task(use(stop)) for stop in stops]
        for _ in range(pause):
            await asyncio.sleep(0)
        for kind, stop, task in zip(kinds, stops, tasks, strict=True):
            if kind == "stop" and not stop.done():
                stop.set_result(None)
            elif kind == "cancel":
                task.cancel()
        for task in tasks:
            with contextlib.suppress(asyncio.CancelledError):
                await task
        assert not slot.busy
        assert slot.waiting == 0
        assert await slot.enter()

    asyncio.run(main())
