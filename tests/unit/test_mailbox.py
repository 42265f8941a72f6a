"""The mailbox: order, nothing lost, one wake-up per burst."""

from __future__ import annotations

import asyncio
import threading

from app.mailbox import Mailbox, merge
from engine.types import TextBatch


def batch(run_id: int, text: str, steps: int = 1) -> TextBatch:
    return TextBatch(run_id=run_id, text=text, steps=steps, first_s=0.5)


def test_merge_joins_neighbours_of_one_run_only() -> None:
    items: list[TextBatch | str] = [
        batch(1, "a"),
        batch(1, "b", 2),
        batch(2, "c"),
        "x",
        batch(2, "d"),
    ]
    got = merge(items)
    assert [g.text if isinstance(g, TextBatch) else g for g in got] == ["ab", "c", "x", "d"]
    first = got[0]
    assert isinstance(first, TextBatch)
    assert (first.steps, first.first_s) == (2, 0.5)


def test_burst_needs_one_wakeup_and_keeps_order() -> None:
    async def main() -> tuple[int, str]:
        loop = asyncio.get_running_loop()
        got: list[str] = []
        done = asyncio.Event()

        def deliver(items: list[str | TextBatch]) -> None:
            for item in items:
                assert isinstance(item, TextBatch)
                got.append(item.text)
                if item.steps == 999:
                    done.set()

        box: Mailbox[str] = Mailbox(loop, deliver)
        wakeups = 0
        real = loop.call_soon_threadsafe

        def counted(*args: object, **kwargs: object) -> asyncio.Handle:
            nonlocal wakeups
            wakeups += 1
            return real(*args, **kwargs)  # type: ignore[arg-type]

        loop.call_soon_threadsafe = counted  # type: ignore[method-assign,assignment]

        def post() -> None:
            for i in range(1000):
                box.post(batch(1, f"{i},", i))

        thread = threading.Thread(target=post)
        thread.start()
        thread.join()  # the loop cannot run meanwhile: all of it is one burst
        await done.wait()
        return wakeups, "".join(got)

    wakeups, text = asyncio.run(main())
    assert wakeups == 1
    assert text == "".join(f"{i}," for i in range(1000))


def test_closed_mailbox_delivers_nothing() -> None:
    async def main() -> list[object]:
        got: list[object] = []
        box: Mailbox[str] = Mailbox(asyncio.get_running_loop(), got.extend)
        box.post("early")
        box.close()
        box.post("late")
        await asyncio.sleep(0.01)
        return got

    assert asyncio.run(main()) == []


def test_posting_after_the_loop_is_closed_is_harmless() -> None:
    loop = asyncio.new_event_loop()
    box: Mailbox[str] = Mailbox(loop, lambda items: None)
    loop.close()
    box.post("late")
    box.post("later")
