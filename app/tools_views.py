"""From the tools' state to what the Tools tab shows. Pure functions, no Qt."""

from __future__ import annotations

import json

from app.settings import McpServer
from app.tools.builtin import FILE_TOOL
from app.tools.loop import EventKind, LoopEvent
from app.tools.mcp_client import ServerState
from app.tools.registry import BUILTIN, Registry, Tool
from app.tools.servers import ToolServers
from app.wording import explain
from engine.types import LoadOptions, Outcome
from ui import tool_strings as words
from ui.tool_views import LogEntryView, ServerView, ToolGroupView, ToolView
from ui.views import FooterView


def groups(
    registry: Registry, servers: ToolServers, files: tuple[str, ...]
) -> tuple[ToolGroupView, ...]:
    """Built-in tools first, then one group per configured server."""
    tools = registry.tools()
    made = [
        ToolGroupView(
            source=BUILTIN,
            title=words.BUILTIN_GROUP,
            tools=tuple(_tool(t, files) for t in tools if t.source == BUILTIN),
        )
    ]
    for server in servers.configured():
        state = servers.state(server.name)
        made.append(
            ToolGroupView(
                source=server.name,
                title=server.name,
                tools=tuple(_tool(t, files) for t in tools if t.source == server.name),
                phase=str(state.phase),
                reason=state.reason,
            )
        )
    return tuple(made)


def _tool(tool: Tool, files: tuple[str, ...]) -> ToolView:
    takes_files = tool.source == BUILTIN and tool.name == FILE_TOOL
    return ToolView(
        name=tool.name,
        description=tool.description,
        schema=json.dumps(tool.schema, ensure_ascii=False, indent=2),
        enabled=tool.enabled,
        ask=tool.ask,
        files=files if takes_files else None,
    )


def server_views(servers: ToolServers) -> tuple[ServerView, ...]:
    return tuple(_server(servers.state(s.name), s) for s in servers.configured())


def _server(state: ServerState, server: McpServer) -> ServerView:
    return ServerView(
        name=server.name,
        command=server.command,
        args=server.args,
        env=tuple(server.env.items()),
        enabled=server.enabled,
        phase=str(state.phase),
        reason=state.reason,
        tools=len(state.tools),
    )


def entry(event: LoopEvent, key: str, options: LoadOptions | None) -> LogEntryView | None:
    """One line of the log for an event of a question."""
    kind = event.kind
    if kind is EventKind.QUESTION:
        return LogEntryView(key=key, kind="you", text=event.text)
    if kind is EventKind.CALL:
        return LogEntryView(key=key, kind="call", name=event.name, text=event.text)
    if kind is EventKind.RESULT:
        step = event.step
        return LogEntryView(
            key=key,
            kind="result",
            name=event.name,
            text=plain_result(event.text) if step and step.state != "done" else event.text,
            seconds=event.seconds,
            state=step.state if step else "done",
        )
    if kind in (EventKind.TEXT, EventKind.ANSWER):
        no_call = kind is EventKind.ANSWER and not event.called
        text = event.text or ("" if kind is EventKind.TEXT else words.EMPTY)
        return LogEntryView(
            key=key,
            kind="model_no_call" if no_call else "model",
            text=text,
            seconds=event.seconds,
            numbers=numbers(event.outcome),
        )
    if kind is EventKind.NOTE:
        return LogEntryView(key=key, kind="note", text=words.NOTES.get(event.text, event.text))
    if kind is EventKind.ERROR:
        said = explain(event.error, options) if event.error else None
        return LogEntryView(
            key=key,
            kind="error",
            text=said.sentence if said else "",
            details=said.details if said else "",
        )
    return LogEntryView(key=key, kind="stopped", text=words.STOPPED)


def plain_result(result_json: str) -> str:
    """The sentence of a call that did not run."""
    try:
        value = json.loads(result_json)
    except ValueError:
        return result_json
    error = value.get("error") if isinstance(value, dict) else None
    return error if isinstance(error, str) else result_json


def numbers(outcome: Outcome | None) -> str:
    """Speed and size of one answer, as in a chat's footer."""
    bench = outcome.benchmark if outcome else None
    if outcome is None or bench is None:
        return ""
    return FooterView(
        decode_tps=bench.decode_tps,
        prefill_tps=bench.prefill_tps,
        ttft_s=bench.ttft_s,
        tokens=bench.decode_tokens,
        tokens_per_step=bench.tokens_per_step,
        speculative=outcome.speculative,
    ).text()
