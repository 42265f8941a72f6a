"""Coroutines that nobody waits for: kept until they end, their failures told. Main thread."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

from app import logs

log = logging.getLogger(__name__)


def tell_failure(task: asyncio.Task[Any]) -> None:
    """For `add_done_callback`: an exception nobody expected goes to the log and to the person,
    as one of the main thread does."""
    if task.cancelled() or (problem := task.exception()) is None:
        return
    log.error("a background task failed", exc_info=problem)
    if logs.on_uncaught is not None:
        logs.on_uncaught(problem)


class KeptTasks:
    """Without a reference the loop may drop a task in the middle of its work."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    def keep(self, work: Coroutine[Any, Any, Any]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(tell_failure)

    async def cancel(self, seconds: float = 1.0) -> None:
        """Cancels all and waits for them, at most `seconds`."""
        for task in list(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=seconds)
