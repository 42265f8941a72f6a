"""A conversation as people see it: a tree of turns with one active path.

Pure data: no Qt, no files, no engine. The transcript here is the only truth; native
conversations are rebuilt from `Conversation.messages`. Versions of an answer and edits of
a question are siblings: nodes with the same parent. The active path follows, from the
root, the selected child of each node.
"""

from __future__ import annotations

import time
import uuid
from enum import StrEnum

import msgspec

from engine.types import (
    AudioPart,
    FinishReason,
    ImagePart,
    Message,
    Part,
    Sampling,
    SpecMode,
    TextPart,
    ToolCall,
    ToolResultPart,
)


class Role(StrEnum):
    USER = "user"
    ASSISTANT = "assistant"


class TurnStatus(StrEnum):
    """State of one turn. STREAMING found at start means the app died: INTERRUPTED."""

    DONE = "done"
    STREAMING = "streaming"
    STOPPED = "stopped"
    LIMIT = "limit"
    CONTEXT_FULL = "context_full"
    FAILED = "failed"
    INTERRUPTED = "interrupted"


STATUS_OF_REASON: dict[FinishReason, TurnStatus] = {
    FinishReason.END: TurnStatus.DONE,
    FinishReason.TOOL_CALLS: TurnStatus.DONE,
    FinishReason.STOPPED: TurnStatus.STOPPED,
    FinishReason.LIMIT: TurnStatus.LIMIT,
    FinishReason.CONTEXT_FULL: TurnStatus.CONTEXT_FULL,
    FinishReason.ERROR: TurnStatus.FAILED,
}


class RunRecord(msgspec.Struct, frozen=True, kw_only=True):
    """How an answer was made; numbers are the engine's, None where it gave none."""

    model: str
    backend: str
    speculative: bool
    engine_version: str
    reason: FinishReason
    model_path: str = ""
    finished: float = 0.0
    elapsed_s: float | None = None
    ttft_s: float | None = None
    prefill_tps: float | None = None
    decode_tps: float | None = None
    prefill_tokens: int | None = None
    decode_tokens: int | None = None
    tokens_per_step: float | None = None
    context_used: int | None = None
    context_total: int | None = None
    resumed: str = ""
    form: str = ""
    """Whether the answer has the form it was asked for, in words; "" for free text."""
    form_ok: bool | None = None
    unseen: tuple[str, ...] = ()
    """Names of attachments of earlier messages that were not sent with this one."""


class ToolStep(msgspec.Struct, frozen=True, kw_only=True):
    """One tool call of an answer. `state`: done, refused, failed, unknown."""

    name: str
    arguments_json: str
    result_json: str = ""
    state: str = "done"
    seconds: float | None = None


class Attachment(msgspec.Struct, frozen=True, kw_only=True):
    """A file sent with a turn. `file` is its name in the attachments folder beside the
    history (content hash + extension); `name` is what the person's file was called."""

    kind: str
    file: str
    name: str
    bytes: int
    width: int | None = None
    height: int | None = None


class Node(msgspec.Struct, kw_only=True):
    """One turn. `text` is raw Markdown; `thought` never goes back to the model."""

    id: str
    parent: str | None
    role: Role
    text: str = ""
    thought: str = ""
    attachments: tuple[Attachment, ...] = ()
    tool_steps: tuple[ToolStep, ...] = ()
    run: RunRecord | None = None
    status: TurnStatus = TurnStatus.DONE
    error: str = ""
    created: float = 0.0


class ChatSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Generation settings of one conversation (load settings live elsewhere)."""

    system: str = ""
    sampling: Sampling = Sampling()
    spec: SpecMode = SpecMode.OFF
    thinking: bool = False
    thinking_budget: int | None = None
    tools: bool = False
    start_at: str = ""
    """Id of the first node still sent to the model; "" sends all (dropped oldest turns)."""


def new_id() -> str:
    return uuid.uuid4().hex


class Conversation(msgspec.Struct, kw_only=True):
    """One chat. Owned by the main thread; the store gets copies of what changed."""

    id: str
    title: str = ""
    custom_title: bool = False
    pinned: bool = False
    created: float = 0.0
    updated: float = 0.0
    draft: str = ""
    draft_files: tuple[Attachment, ...] = ()
    """Attached to the message in the box, which is not sent yet."""
    settings: ChatSettings = ChatSettings()
    nodes: dict[str, Node] = {}
    selected: dict[str, str] = {}
    """parent id ("" for the root) -> id of the child on the active path."""

    @classmethod
    def new(cls, settings: ChatSettings | None = None) -> Conversation:
        now = time.time()
        return cls(id=new_id(), created=now, updated=now, settings=settings or ChatSettings())

    @property
    def blank(self) -> bool:
        """Nothing was said and nothing is being written."""
        return not (self.nodes or self.draft or self.draft_files)

    def children(self, parent: str | None) -> list[Node]:
        """Direct children, oldest first (the order they were added)."""
        return [n for n in self.nodes.values() if n.parent == parent]

    def path(self) -> list[Node]:
        """The active path, oldest first."""
        kids: dict[str | None, list[Node]] = {}
        for node in self.nodes.values():
            kids.setdefault(node.parent, []).append(node)
        out: list[Node] = []
        at: str | None = None
        while kids.get(at):
            wanted = self.selected.get(at or "")
            choices = kids[at]
            node = next((n for n in choices if n.id == wanted), choices[-1])
            out.append(node)
            at = node.id
        return out

    def add(self, node: Node) -> Node:
        """Adds `node` under its parent and puts it on the active path."""
        if node.parent is not None and node.parent not in self.nodes:
            raise KeyError(node.parent)
        self.nodes[node.id] = node
        self.selected[node.parent or ""] = node.id
        self.updated = time.time()
        return node

    def versions(self, node_id: str) -> list[str]:
        """Ids of the node and its siblings of the same role, oldest first."""
        node = self.nodes[node_id]
        return [n.id for n in self.children(node.parent) if n.role == node.role]

    def select(self, node_id: str) -> None:
        """Makes `node_id` the active one among its siblings."""
        self.selected[self.nodes[node_id].parent or ""] = node_id

    def subtree(self, node_id: str) -> list[str]:
        """The node and all its descendants."""
        out, todo = [], [node_id]
        while todo:
            at = todo.pop()
            out.append(at)
            todo.extend(n.id for n in self.nodes.values() if n.parent == at)
        return out

    def remove(self, node_id: str) -> list[Node]:
        """Removes a node with everything below it; returns what was removed (for undo)."""
        gone = [self.nodes.pop(i) for i in self.subtree(node_id)]
        for node in gone:
            self.selected.pop(node.id, None)
        parent = gone[0].parent or ""
        if self.selected.get(parent) == node_id:
            left = self.children(gone[0].parent)
            if left:
                self.selected[parent] = left[-1].id
            else:
                self.selected.pop(parent, None)
        return gone

    def sent_path(self, until: str | None = None) -> list[Node]:
        """Nodes of the active path that go to the model: from `settings.start_at` up to,
        not including, `until`."""
        path = self.path()
        ids = [n.id for n in path]
        start = ids.index(self.settings.start_at) if self.settings.start_at in ids else 0
        stop = ids.index(until) if until in ids else len(path)
        return path[start:stop]


def messages(nodes: list[Node], attachments_dir: str) -> tuple[Message, ...]:
    """Engine messages for consecutive nodes: thoughts, errors and notes are not sent,
    stopped answers are sent as they are, empty failed answers take their question with
    them so that roles alternate."""
    out: list[Message] = []
    for node in nodes:
        if node.role is Role.USER:
            if out and out[-1].role == "user":
                out.pop()
            out.append(user_message(node, attachments_dir))
            continue
        if not node.text and not node.tool_steps:
            if out and out[-1].role == "user":
                out.pop()
            continue
        for step in node.tool_steps:
            call = ToolCall(name=step.name, arguments_json=step.arguments_json)
            out.append(Message(role="assistant", parts=(), tool_calls=(call,)))
            out.append(
                Message(
                    role="tool",
                    parts=(ToolResultPart(name=step.name, result_json=step.result_json),),
                )
            )
        if node.text:
            out.append(Message(role="assistant", parts=(TextPart(text=node.text),)))
    return tuple(out)


def user_message(node: Node, attachments_dir: str) -> Message:
    """The wire message of a user turn: images, then sounds, then the text. That is how the
    makers of these models send them, and the question comes right before the answer."""
    parts: list[Part] = []
    for item in sorted(node.attachments, key=lambda a: a.kind != "image"):
        path = f"{attachments_dir}/{item.file}"
        parts.append(ImagePart(path=path) if item.kind == "image" else AudioPart(path=path))
    if node.text:
        parts.append(TextPart(text=node.text))
    return Message(role="user", parts=tuple(parts))
