"""Waiting, logs and reasons of the MCP client; no SDK, no state."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any, TextIO

import psutil

from app.tools.registry import ToolFailure

MAX_LOG_BYTES = 1_000_000
MARK = "TANDEM_TOOL_SERVER"
"""Set in the environment of every server we start, so that leftovers are known as ours."""


async def any_of(*waits: Coroutine[Any, Any, Any]) -> None:
    """Until the first is done; the others are cancelled."""
    tasks = [asyncio.ensure_future(w) for w in waits]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def quietly(task: asyncio.Future[Any]) -> None:
    await asyncio.wait([task])


async def settled(task: asyncio.Future[Any]) -> BaseException | None:
    """Ends `task` if it still runs; its error, if it had one."""
    if not task.done():
        task.cancel()
        await quietly(task)
    return None if task.cancelled() else task.exception()


def log_file(folder: Path, name: str) -> Path:
    """Where the stderr of the server called `name` goes."""
    safe = "".join(c if c.isalnum() or c in "-_" else "_" for c in name)[:40]
    return folder / f"tool-server-{safe}.log"


@contextlib.contextmanager
def stderr_log(folder: Path, name: str) -> Iterator[TextIO]:
    """A user-only file for what the server writes to stderr; begun anew when large."""
    path = log_file(folder, name)
    fresh = not path.exists() or path.stat().st_size > MAX_LOG_BYTES
    flags = os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if fresh else os.O_APPEND)
    with open(os.open(path, flags, 0o600), "a", encoding="utf-8") as file:
        yield file


def reason_of(problem: BaseException) -> str:
    """One sentence for an error of the SDK, which may come in groups."""
    while isinstance(problem, BaseExceptionGroup) and problem.exceptions:
        problem = problem.exceptions[0]
    if isinstance(problem, ToolFailure):
        return str(problem)
    if isinstance(problem, PermissionError):
        return "The program may not be run."
    lines = str(problem).strip().splitlines()
    text = (lines[0] if lines else type(problem).__name__)[:200]
    return text if text.endswith(".") else f"{text}."


def kill_leftovers() -> int:
    """Ends servers that did not end when asked, with what they started. Any thread."""
    killed = 0
    for child in psutil.Process().children(recursive=True):
        try:
            if MARK in child.environ():
                child.kill()
                killed += 1
        except psutil.Error:
            continue
    return killed
