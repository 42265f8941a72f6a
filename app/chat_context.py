"""What a chat needs from the program, and what it tells. No Qt; main thread only."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from app.conversation import Attachment, Conversation, Node, ToolStep
from app.engine_service import EngineService
from engine.types import Backend, Constraint, LoadOptions, ModelInfo, ToolCall, ToolSpec

if TYPE_CHECKING:
    from app.chat import Chat


class ChatEvent(StrEnum):
    """What changed: the state, the set of turns, the text being streamed, the settings or
    the title, the context and speed numbers."""

    STATE = "state"
    TURNS = "turns"
    TEXT = "text"
    SETTINGS = "settings"
    GAUGE = "gauge"


class HistorySink(Protocol):
    """Where a chat is kept. Saving never raises and never waits for the disk unless awaited."""

    def save_soon(self, conversation: Conversation, nodes: Iterable[Node] = ()) -> None: ...

    async def save(self, conversation: Conversation, nodes: Iterable[Node] = ()) -> bool: ...

    def drop_nodes(self, conversation: Conversation, ids: Iterable[str]) -> None: ...


class NoHistory:
    """Keeps nothing: chats that live for one run only."""

    def save_soon(self, conversation: Conversation, nodes: Iterable[Node] = ()) -> None:
        pass

    async def save(self, conversation: Conversation, nodes: Iterable[Node] = ()) -> bool:
        return True

    def drop_nodes(self, conversation: Conversation, ids: Iterable[str]) -> None:
        pass


ToolRunner = Callable[["Chat", ToolCall], Awaitable[ToolStep]]
"""Checks, asks for consent and runs one call. Never raises; may be cancelled."""


@dataclass
class ChatContext:
    """What a chat needs from the program. `options` is the model picked now (None: none);
    `inspect` gives its header facts; `auto_choice` answers for the mode Auto."""

    engine: EngineService
    options: Callable[[], LoadOptions | None]
    inspect: Callable[[str], Awaitable[ModelInfo | None]]
    history: HistorySink
    known: Callable[[str], ModelInfo | None] = lambda _path: None
    """Header facts read earlier, without waiting."""
    attachments_dir: str = ""
    auto_choice: Callable[[str, Backend], bool] = lambda _path, _backend: False
    tool_specs: Callable[[Chat], tuple[ToolSpec, ...]] = lambda _chat: ()
    tool_runner: ToolRunner | None = None
    at_tools: dict[str, str] = field(default_factory=dict)
    """What open chats wait for between two sends, by key: "deciding" (the person is asked
    whether a call may run) or "tool" (one runs)."""
    form_for: Callable[[str], Constraint | None] = lambda _key: None
    """The form that the next message of a chat asks its answer to have."""
    show_footer: Callable[[], bool] = lambda: True
    """Whether the numbers under an answer are wanted."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """A message that did not fit; its turn was taken back so that it can be changed."""

    text: str
    attachments: tuple[Attachment, ...]
    needs: int | None
    left: int | None
