"""Pieces of the MCP client that need the SDK's own types. Used on the "mcp" thread only."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import AsyncIterator

import anyio
import mcp.types as types
from anyio.streams.memory import MemoryObjectReceiveStream
from mcp.shared.message import SessionMessage

from app.tools.registry import ToolFailure

# The SDK logs lines it cannot read with their text; what a server says is not for our log.
logging.getLogger("mcp.client.stdio").setLevel(logging.CRITICAL)

Stream = MemoryObjectReceiveStream[SessionMessage | Exception]


@contextlib.asynccontextmanager
async def watched(raw: Stream, ended: asyncio.Event) -> AsyncIterator[Stream]:
    """`raw` passed on message by message; `ended` is set when the server closed its end.

    The SDK gives no sign of a server that died while nothing was asked (mcp 1.x).
    """
    send, receive = anyio.create_memory_object_stream[SessionMessage | Exception](0)

    async def pump() -> None:
        try:
            async with send:
                async for message in raw:
                    await send.send(message)
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            pass
        finally:
            ended.set()

    async with anyio.create_task_group() as group:
        group.start_soon(pump)
        try:
            yield receive
        finally:
            group.cancel_scope.cancel()
            receive.close()
            # The SDK forgets this one when the server's end breaks while it waits for it.
            raw.close()


def value_of(result: types.CallToolResult) -> object:
    """What a call brought, as a JSON value. ToolFailure when the tool reported an error."""
    texts = []
    for item in result.content:
        if isinstance(item, types.TextContent):
            texts.append(item.text)
        elif isinstance(item, types.ImageContent | types.AudioContent):
            texts.append(f"[{item.type}, {item.mimeType}, not shown]")
        elif isinstance(item, types.EmbeddedResource) and isinstance(
            item.resource, types.TextResourceContents
        ):
            texts.append(item.resource.text)
        else:
            texts.append(f"[{item.type}, not shown]")
    text = "\n".join(texts)
    if result.isError:
        raise ToolFailure(text.strip() or "The tool reported an error.")
    if result.structuredContent is not None:
        return result.structuredContent
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
