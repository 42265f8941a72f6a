"""The person's tool servers: settings, running processes and the registry kept in step.

Belongs to the event loop's thread. The hub, and with it the SDK, is made when the first
server starts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import msgspec

from app.settings import McpServer, SettingsStore
from app.tools import mcp_settings
from app.tools.mcp_client import McpHub, ServerPhase, ServerState
from app.tools.registry import BUILTIN, Registry


class ToolServers:
    """`changed` runs on the loop's thread after every change of a server's state."""

    def __init__(
        self,
        store: SettingsStore,
        registry: Registry,
        logs: Path,
        loop: asyncio.AbstractEventLoop,
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        self._store = store
        self._registry = registry
        self._logs = logs
        self._loop = loop
        self._states: dict[str, ServerState] = {}
        self._hub: McpHub | None = None
        self._closed = False
        self.changed = changed

    def configured(self) -> tuple[McpServer, ...]:
        """All but one that would pass for the program itself (settings edited by hand)."""
        return tuple(s for s in self._store.value.mcp_servers if s.name != BUILTIN)

    def state(self, name: str) -> ServerState:
        return self._states.get(name, ServerState(name))

    def start_enabled(self) -> None:
        """Starts every server that is on; those that run are left alone."""
        for server in self.configured():
            if server.enabled and self.state(server.name).phase is ServerPhase.STOPPED:
                self._start(server)

    def add(self, server: McpServer) -> None:
        """A new server: stored and, if on, started. Its tools ask before they run."""
        mcp_settings.put_server(self._store, server)
        if server.enabled:
            self._start(server)
        self.changed()

    def remove(self, name: str) -> None:
        self._stop(name)
        mcp_settings.remove_server(self._store, name)
        for key in [k for k in self._registry.choices if k.startswith(f"{name}/")]:
            del self._registry.choices[key]
        self._states.pop(name, None)
        self._registry.remove_source(name)
        self.changed()

    def restart(self, name: str) -> None:
        server = mcp_settings.find_server(self._store, name)
        if server is not None:
            self._start(server)

    def switch(self, name: str, on: bool) -> None:
        server = mcp_settings.find_server(self._store, name)
        if server is None or server.enabled == on:
            return
        servers = tuple(
            msgspec.structs.replace(s, enabled=on) if s.name == name else s
            for s in self._store.value.mcp_servers
        )
        self._store.change(mcp_servers=servers)
        if on:
            self.restart(name)
        else:
            self._stop(name)
        self.changed()

    def begin_close(self) -> None:
        """Asks all servers to end; returns at once."""
        self._closed = True
        if self._hub is not None:
            self._hub.begin_close()

    def close(self) -> None:
        """Ends all servers. Blocks up to two seconds; any thread."""
        self._closed = True
        if self._hub is not None:
            self._hub.close()

    def _start(self, server: McpServer) -> None:
        if self._closed:
            return
        if self._hub is None:
            self._hub = McpHub(self._logs, self._from_hub)
        self._hub.start(server)

    def _stop(self, name: str) -> None:
        if self._hub is not None:
            self._hub.stop(name)

    def _from_hub(self, state: ServerState) -> None:
        """On the "mcp" thread."""
        if not self._closed and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._on_state, state)

    def _on_state(self, state: ServerState) -> None:
        if self._closed or mcp_settings.find_server(self._store, state.name) is None:
            return
        self._states[state.name] = state
        self._registry.set_source(state.name, state.tools)
        self.changed()
