"""A first-come, first-served slot for coroutines, with a way to give up while waiting.

Loop thread only. `asyncio.Lock` is fair too, but a waiter that must leave because of an
event other than its own cancellation needs a second task per wait; this does not.
"""

from __future__ import annotations

import asyncio
from collections import deque


class Turnstile:
    """`enter` returns True when the caller holds the slot; it must call `leave` then."""

    def __init__(self) -> None:
        self._held = False
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def busy(self) -> bool:
        return self._held

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    async def enter(self, stop: asyncio.Future[None] | None = None) -> bool:
        """Waits for the slot; False when `stop` finished first. Raises CancelledError."""
        if not self._held:
            self._held = True
            return True
        ticket: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(ticket)
        waits = {ticket} if stop is None else {ticket, stop}
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            self._give_up(ticket)
            raise
        if stop is not None and stop.done():
            self._give_up(ticket)
            return False
        return True

    def leave(self) -> None:
        """Hands the slot to the one who has waited longest."""
        while self._waiting:
            ticket = self._waiting.popleft()
            if not ticket.done():
                ticket.set_result(None)
                return
        self._held = False

    def _give_up(self, ticket: asyncio.Future[None]) -> None:
        if ticket.done():
            self.leave()
        else:
            self._waiting.remove(ticket)
            ticket.cancel()
