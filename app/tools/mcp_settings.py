"""Choices and tool servers in the settings file (user-only, written by `SettingsStore`).

Main thread, like the store itself.
"""

from __future__ import annotations

from app.settings import McpServer, SettingsStore
from app.tools.registry import ToolChoice


def choices(store: SettingsStore) -> dict[str, ToolChoice]:
    """What the person decided for tools, by key."""
    value = store.value
    keys = value.tools_enabled.keys() | value.tools_ask.keys()
    return {
        key: ToolChoice(
            enabled=value.tools_enabled.get(key, True),
            ask=value.tools_ask.get(key, True),
            fingerprint=value.tools_seen.get(key, ""),
        )
        for key in keys
    }


def save_choice(store: SettingsStore, key: str, choice: ToolChoice) -> None:
    store.change(
        tools_enabled={**store.value.tools_enabled, key: choice.enabled},
        tools_ask={**store.value.tools_ask, key: choice.ask},
        tools_seen={**store.value.tools_seen, key: choice.fingerprint},
    )


def find_server(store: SettingsStore, name: str) -> McpServer | None:
    return next((s for s in store.value.mcp_servers if s.name == name), None)


def put_server(store: SettingsStore, server: McpServer) -> None:
    """Adds a server, or replaces the one of its name."""
    others = tuple(s for s in store.value.mcp_servers if s.name != server.name)
    store.change(mcp_servers=(*others, server))


def remove_server(store: SettingsStore, name: str) -> None:
    """Forgets a server and what was decided for its tools: consent does not outlive it."""
    mine = f"{name}/"
    value = store.value
    store.change(
        mcp_servers=tuple(s for s in value.mcp_servers if s.name != name),
        tools_enabled={k: v for k, v in value.tools_enabled.items() if not k.startswith(mine)},
        tools_ask={k: v for k, v in value.tools_ask.items() if not k.startswith(mine)},
        tools_seen={k: v for k, v in value.tools_seen.items() if not k.startswith(mine)},
    )
