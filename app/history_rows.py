"""How conversations become rows and back: plain functions, no connection, any thread.

Text may hold NUL characters and lone surrogates. SQLite keeps a NUL (lengths are bound),
but a lone surrogate is no UTF-8: such a text is stored as a blob of "surrogatepass" bytes
and such a JSON value with `\\ud800` escapes. Both come back exactly.
"""

from __future__ import annotations

import json
import re
from typing import Any, TypeVar

import msgspec

from app.conversation import (
    Attachment,
    ChatSettings,
    Conversation,
    Node,
    Role,
    RunRecord,
    ToolStep,
    TurnStatus,
)

T = TypeVar("T")

TITLE_CHARS = 48
PREVIEW_CHARS = 160


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the sidebar. Times are seconds since the epoch."""

    id: str
    title: str
    pinned: bool
    created: float
    updated: float
    preview: str = ""


class Extra(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The parts of a node that are rarely set, kept as one JSON column."""

    attachments: tuple[Attachment, ...] = ()
    tool_steps: tuple[ToolStep, ...] = ()
    run: RunRecord | None = None
    error: str = ""


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """Everything of a conversation but its nodes, copied at the moment of saving."""

    id: str
    title: str
    custom_title: bool
    pinned: bool
    created: float
    updated: float
    preview: str
    draft: str
    draft_files: tuple[Attachment, ...]
    settings: ChatSettings
    selected: dict[str, str]

    def summary(self) -> Summary:
        return Summary(
            id=self.id,
            title=self.title,
            pinned=self.pinned,
            created=self.created,
            updated=self.updated,
            preview=self.preview,
        )


def store_text(text: str) -> str | bytes:
    """A value SQLite can bind without losing a character of `text`."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    return text


def read_text(value: object) -> str:
    """The inverse of `store_text`; a damaged value becomes readable instead of an error."""
    if isinstance(value, bytes):
        try:
            return value.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            return value.decode("utf-8", "replace")
    return value if isinstance(value, str) else "" if value is None else str(value)


def to_json(value: object) -> str:
    """JSON text of a struct; lone surrogates become escapes."""
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:
        return json.dumps(msgspec.to_builtins(value), ensure_ascii=True)


def from_json(data: str | bytes, kind: type[T]) -> T:
    """Decodes `to_json`. Raises `msgspec.ValidationError` or `ValueError` for bad data."""
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.ValidationError:
        raise
    except (msgspec.DecodeError, UnicodeDecodeError):
        return msgspec.convert(json.loads(data), type=kind)


def clean(text: str) -> str:
    """Text for the index and for previews: no NUL, no lone surrogates, same words."""
    return text.replace("\0", " ").encode("utf-8", "replace").decode()


_MARKS = re.compile(r"[#>*_`~|]+|^\s*(?:[-+]|\d+[.)])\s+", re.MULTILINE)
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")


def plain_line(text: str, limit: int) -> str:
    """The start of `text` as one line without Markdown marks, cut at a word."""
    head = clean(text[: limit * 8])
    line = " ".join(_MARKS.sub(" ", _LINK.sub(r"\1", head)).split())
    if len(line) <= limit:
        return line
    cut = line[: limit - 1]
    space = cut.rfind(" ")
    return (cut[:space] if space > limit // 2 else cut).rstrip(" ,.;:") + "…"


def title_from(node: Node) -> str:
    """A title made from the first message: its first line with words, else its file."""
    for line in node.text[:2000].splitlines():
        title = plain_line(line, TITLE_CHARS)
        if title:
            return title
    return plain_line(node.attachments[0].name, TITLE_CHARS) if node.attachments else ""


def first_title(conversation: Conversation) -> str:
    """The title a conversation without a chosen one has, "" before its first message."""
    for node in conversation.nodes.values():
        if node.role is Role.USER and node.parent is None:
            return title_from(node)
    return ""


def head_of(conversation: Conversation) -> Head:
    """Copies what is saved besides nodes. Main thread; the preview is the newest text."""
    preview = ""
    for node in reversed(conversation.nodes.values()):
        if node.text:
            preview = plain_line(node.text, PREVIEW_CHARS)
            break
    return Head(
        id=conversation.id,
        title=conversation.title,
        custom_title=conversation.custom_title,
        pinned=conversation.pinned,
        created=conversation.created,
        updated=conversation.updated,
        preview=preview,
        draft=conversation.draft,
        draft_files=conversation.draft_files,
        settings=conversation.settings,
        selected=dict(conversation.selected),
    )


def node_values(node: Node) -> tuple[Any, ...]:
    """Column values of a node, in the order of `NODE_COLUMNS`."""
    extra = Extra(
        attachments=node.attachments,
        tool_steps=node.tool_steps,
        run=node.run,
        error=node.error,
    )
    return (
        store_text(node.id),
        None if node.parent is None else store_text(node.parent),
        node.role.value,
        node.status.value,
        node.created,
        store_text(node.text),
        store_text(node.thought),
        to_json(extra),
        "\n".join(clean(a.file) for a in node.attachments),
    )


NODE_COLUMNS = "id, parent, role, status, created, text, thought, extra, files"


def node_from(row: tuple[Any, ...]) -> Node | None:
    """A node from `NODE_COLUMNS`; None for a row no program of ours could have written."""
    try:
        extra = from_json(row[7], Extra)
        return Node(
            id=read_text(row[0]),
            parent=None if row[1] is None else read_text(row[1]),
            role=Role(row[2]),
            status=TurnStatus(row[3]),
            created=float(row[4]),
            text=read_text(row[5]),
            thought=read_text(row[6]),
            attachments=extra.attachments,
            tool_steps=extra.tool_steps,
            run=extra.run,
            error=extra.error,
        )
    except (ValueError, TypeError):
        return None
