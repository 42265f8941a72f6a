"""The life of the program: running until asked to quit, then leaving in stages.

`quit` may be called any number of times, from signals, menus and the window's close button;
the stages run once, each with a deadline, and the whole never takes longer than
`HARD_LIMIT_S`: a watchdog thread ends the process with code 0 if a stage hangs for good.
Main thread and its loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Awaitable, Callable

log = logging.getLogger(__name__)

HARD_LIMIT_S = 4.7

Stage = Callable[[], Awaitable[object]]


class Lifecycle:
    """`at_quit(name, stage, seconds)` adds a stage; stages run in the order of `order`."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._stages: list[tuple[int, str, Stage, float]] = []
        self._task: asyncio.Task[None] | None = None
        self._over = loop.create_future()
        self._sockets: tuple[socket.socket, socket.socket] | None = None
        self._old_fd = -1
        self.on_closing: Callable[[], None] = lambda: None
        self.last_resort: Callable[[], None] = lambda: None
        """Called by the watchdog on its own thread before it ends the process: kill children."""

    @property
    def closing(self) -> bool:
        return self._task is not None

    def at_quit(self, name: str, stage: Stage, *, seconds: float = 2.0, order: int = 50) -> None:
        """Lower `order` runs earlier, the same order at the same time. Stops of running work:
        10 to 30; saving and the engine: 50."""
        self._stages.append((order, name, stage, seconds))

    def quit(self) -> None:
        if self._task is None and not self._over.done():
            self._task = self._loop.create_task(self._quit())

    async def run(self) -> None:
        """Returns when everything is closed."""
        await self._over

    async def _quit(self) -> None:
        watchdog = threading.Timer(HARD_LIMIT_S, self._give_up)
        watchdog.name = "quit-watchdog"
        watchdog.daemon = True
        watchdog.start()
        try:
            with contextlib.suppress(Exception):
                self.on_closing()
            for order in sorted({stage[0] for stage in self._stages}):
                group = [s for s in self._stages if s[0] == order]
                await asyncio.gather(*(_guarded(*stage[1:]) for stage in group))
        finally:
            watchdog.cancel()
            if not self._over.done():
                self._over.set_result(None)

    def _give_up(self) -> None:
        log.error("quit: still not closed after %s s; leaving now", HARD_LIMIT_S)
        with contextlib.suppress(Exception):
            self.last_resort()
        logging.shutdown()
        os._exit(0)

    # Signals

    def watch_signals(self) -> None:
        """SIGTERM, SIGINT and SIGHUP quit. The wake-up comes through a socket the loop
        watches: Python's handlers alone would wait for Qt to return to Python."""
        if sys.platform == "win32":
            signal.signal(signal.SIGTERM, lambda *_: self._loop.call_soon_threadsafe(self.quit))
            return
        receiver, sender = socket.socketpair()
        for end in (receiver, sender):
            end.setblocking(False)
        self._sockets = (receiver, sender)
        self._old_fd = signal.set_wakeup_fd(sender.fileno(), warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda *_: None)
        self._loop.add_reader(receiver.fileno(), self._on_signal)

    def _on_signal(self) -> None:
        if self._sockets is None:
            return
        with contextlib.suppress(OSError):
            data = self._sockets[0].recv(64)
            if data:
                log.info("signal %s: quitting", data[0])
                self.quit()

    def forget_signals(self) -> None:
        if self._sockets is None:
            return
        receiver, sender = self._sockets
        self._sockets = None
        self._loop.remove_reader(receiver.fileno())
        signal.set_wakeup_fd(self._old_fd)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        receiver.close()
        sender.close()


async def _guarded(name: str, stage: Stage, seconds: float) -> None:
    """One stage with its deadline; whatever goes wrong in it, the next one runs."""
    try:
        await asyncio.wait_for(_call(stage), seconds)
    except TimeoutError:
        log.warning("quit: %s did not end within %s s", name, seconds)
    except Exception:
        log.exception("quit: %s failed", name)


async def _call(stage: Stage) -> None:
    await stage()
