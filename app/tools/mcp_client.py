"""Tool servers of the Model Context Protocol, over stdio, through the official SDK.

All of it runs on one thread of its own ("mcp") with its own event loop, so a dead or slow
server can never hold the window, and the SDK's cancel scopes never meet qasync. Methods of
`McpHub` may be called from any thread and return at once; results are futures of
`concurrent.futures`, state changes come through `on_state` on the "mcp" thread.

A server is started without a shell, with an allow-list of environment variables plus the
ones set for it, and its stderr goes to its own log file. The SDK is imported on first use.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import shutil
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.settings import McpServer
from app.tools.mcp_waits import (
    MARK,
    any_of,
    kill_leftovers,
    quietly,
    reason_of,
    settled,
    stderr_log,
)
from app.tools.registry import Tool, ToolFailure

if TYPE_CHECKING:
    from mcp import ClientSession

log = logging.getLogger(__name__)

START_TIMEOUT_S = 30.0
CALL_TIMEOUT_S = 60.0
CLOSE_TIMEOUT_S = 1.0
MAX_TOOLS = 128


class ServerPhase(StrEnum):
    STOPPED = "stopped"
    STARTING = "starting"
    READY = "ready"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class ServerState:
    """What is known of one server. `reason` is one sentence when it failed."""

    name: str
    phase: ServerPhase = ServerPhase.STOPPED
    reason: str = ""
    tools: tuple[Tool, ...] = ()


@dataclass(slots=True)
class _Running:
    """One server on the "mcp" thread."""

    config: McpServer
    stop: asyncio.Event
    session: ClientSession | None = None
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None


class McpHub:
    """Starts, lists, calls and ends servers. `close` ends the thread; call it at quit."""

    def __init__(
        self,
        logs: Path,
        on_state: Callable[[ServerState], None],
        *,
        start_timeout_s: float = START_TIMEOUT_S,
        call_timeout_s: float = CALL_TIMEOUT_S,
    ) -> None:
        self._logs = logs
        self._on_state = on_state
        self._start_timeout_s = start_timeout_s
        self._call_timeout_s = call_timeout_s
        self._running: dict[str, _Running] = {}
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._closed = False

    def start(self, config: McpServer) -> None:
        """Starts a server, ending a running one of that name first."""
        self._submit(self._restart(config))

    def stop(self, name: str) -> None:
        if self._thread is not None:
            self._submit(self._end(name))

    def call(self, server: str, tool: str, arguments: dict[str, object]) -> Future[object]:
        """The result of one call as a JSON value; `ToolFailure` holds the one sentence.
        Cancelling the future cancels the call."""
        return self._submit(self._call(server, tool, arguments))

    def begin_close(self) -> None:
        """Starts ending every server and returns at once. Any thread; idempotent."""
        with self._lock:
            self._closed = True
            loop = self._loop
        if loop is not None:
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(self._quit.set)

    def close(self, timeout_s: float = CLOSE_TIMEOUT_S) -> bool:
        """Ends every server and the thread; those that do not end within `timeout_s` are
        killed. Blocks. True if all ended by themselves. Any thread but "mcp"; idempotent."""
        self.begin_close()
        thread = self._thread
        if thread is None:
            return True
        thread.join(timeout_s)
        if not thread.is_alive():
            return True
        kill_leftovers()
        thread.join(1.0)
        return False

    def _submit(self, work: Coroutine[Any, Any, Any]) -> Future[Any]:
        with self._lock:
            if self._closed:
                work.close()
                failed: Future[Any] = Future()
                failed.set_exception(ToolFailure("Tandem is closing."))
                return failed
            if self._loop is None:
                self._open_thread()
            assert self._loop is not None
            return asyncio.run_coroutine_threadsafe(work, self._loop)

    def _open_thread(self) -> None:
        ready = threading.Event()

        async def main() -> None:
            self._quit = asyncio.Event()
            self._loop = asyncio.get_running_loop()
            ready.set()
            await self._quit.wait()
            await self._end_all()

        self._thread = threading.Thread(target=lambda: asyncio.run(main()), name="mcp", daemon=True)
        self._thread.start()
        ready.wait()

    # From here on everything runs on the "mcp" thread.

    async def _restart(self, config: McpServer) -> None:
        await self._end(config.name)
        running = _Running(config, asyncio.Event())
        self._running[config.name] = running
        self._tell(ServerState(config.name, ServerPhase.STARTING))
        running.task = asyncio.create_task(self._serve(running))

    async def _end(self, name: str) -> None:
        running = self._running.pop(name, None)
        if running is None or running.task is None:
            return
        if running.task.done():
            self._tell(ServerState(name))
            return
        running.stop.set()
        await asyncio.wait([running.task])

    async def _end_all(self) -> None:
        await asyncio.gather(*(self._end(name) for name in list(self._running)))

    async def _serve(self, running: _Running) -> None:
        """The whole life of one server in one task, as the SDK's scopes demand."""
        name = running.config.name
        last = ServerState(name)
        try:
            path = running.config.env.get("PATH")
            if shutil.which(running.config.command, path=path) is None:
                raise ToolFailure(f"The program “{running.config.command}” was not found.")
            await self._connected(running)
            if not running.stop.is_set():
                raise ToolFailure("It ended by itself.")
        except Exception as problem:
            log.info("tool server %s: %s", name, type(problem).__name__)
            last = ServerState(name, ServerPhase.FAILED, reason_of(problem))
        finally:
            running.session = None
            running.gone.set()
        self._tell(last)

    async def _connected(self, running: _Running) -> None:
        from mcp import ClientSession, StdioServerParameters
        from mcp.client.stdio import stdio_client

        from app.tools.mcp_stream import watched

        config = running.config
        parameters = StdioServerParameters(
            command=config.command,
            args=list(config.args),
            env={**config.env, MARK: config.name},
            encoding_error_handler="replace",
        )
        ended = asyncio.Event()
        with stderr_log(self._logs, config.name) as errors:
            async with (
                stdio_client(parameters, errlog=errors) as (raw, write),
                watched(raw, ended) as read,
                ClientSession(read, write) as session,
            ):
                tools = await self._first_or(running, ended, self._hello(session))
                if tools is None:
                    return
                running.session = session
                made = tuple(self._tool(config, t) for t in tools[:MAX_TOOLS])
                self._tell(ServerState(config.name, ServerPhase.READY, tools=made))
                await any_of(running.stop.wait(), ended.wait())
                running.session = None

    async def _first_or(
        self, running: _Running, ended: asyncio.Event, hello: Coroutine[Any, Any, list[Any]]
    ) -> list[Any] | None:
        """The tools; None when asked to stop before they came. ToolFailure: dead or slow."""
        task = asyncio.ensure_future(hello)
        try:
            await asyncio.wait_for(
                any_of(quietly(task), running.stop.wait(), ended.wait()), self._start_timeout_s
            )
        except TimeoutError:
            said = f"It gave no answer within {self._start_timeout_s:.0f} seconds."
            raise ToolFailure(said) from None
        finally:
            problem = await settled(task)
        if running.stop.is_set():
            return None
        if task.cancelled() or (problem is not None and ended.is_set()):
            raise ToolFailure("It ended before it was ready; its log tells why.")
        return task.result()

    @staticmethod
    async def _hello(session: ClientSession) -> list[Any]:
        await session.initialize()
        tools: list[Any] = []
        cursor: str | None = None
        while len(tools) < MAX_TOOLS:
            page = await session.list_tools(cursor)
            tools += page.tools
            cursor = page.nextCursor
            if not cursor:
                break
        return tools

    def _tool(self, config: McpServer, listed: Any) -> Tool:
        server, own_name = config.name, str(listed.name)

        def start(arguments: dict[str, object]) -> Future[object]:
            return self.call(server, own_name, arguments)

        return Tool(
            name=own_name,
            description=str(listed.description or listed.title or "")[:1000],
            schema=dict(listed.inputSchema),
            start=start,
            source=server,
            own_name=own_name,
            timeout_s=self._call_timeout_s + 5,
            origin="\0".join((config.command, *config.args)),
        )

    async def _call(self, server: str, tool: str, arguments: dict[str, object]) -> object:
        from app.tools.mcp_stream import value_of

        running = self._running.get(server)
        session = running.session if running else None
        if running is None or session is None:
            raise ToolFailure(f"The tool server “{server}” is not running.")
        task = asyncio.ensure_future(session.call_tool(tool, arguments))
        try:
            await asyncio.wait_for(any_of(quietly(task), running.gone.wait()), self._call_timeout_s)
        except TimeoutError:
            said = f"gave no answer within {self._call_timeout_s:.0f} seconds"
            raise ToolFailure(f"The tool server “{server}” {said}.") from None
        finally:
            problem = await settled(task)
        if task.cancelled():
            raise ToolFailure(f"The tool server “{server}” ended.")
        if problem is not None:
            if running.session is None:
                raise ToolFailure(f"The tool server “{server}” ended.")
            raise ToolFailure(f"The tool server “{server}” said: {reason_of(problem)}")
        return value_of(task.result())

    def _tell(self, state: ServerState) -> None:
        try:
            self._on_state(state)
        except Exception:
            log.exception("state of tool server %s not delivered", state.name)
