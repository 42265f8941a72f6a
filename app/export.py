"""Conversations as a file of our own and back, exactly: `docs/export-format.md`.

A `.json` file, or a `.zip` with `conversations.json` and `attachments/` when there are
attachments. Importing trusts nothing: names in the archive are never used as paths, sizes
are limited while reading, trees are checked, values out of range fall back to defaults.

Synchronous, worker thread. Errors: `TransferError` (codes import_*, export_failed).
"""

from __future__ import annotations

import os
import re
import tempfile
import time
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from app.attachments import AttachmentError, AttachmentStore, sniff
from app.conversation import Attachment, ChatSettings, Conversation, Node, new_id
from app.history_rows import from_json, to_json
from app.settings import CONTEXT_MAX, sampling_ok
from app.version import VERSION

FORMAT = "tandem-conversations"
FORMAT_VERSION = 1
JSON_NAME = "conversations.json"
FOLDER = "attachments/"

MAX_JSON_BYTES = 500_000_000
MAX_FILE_BYTES = 50_000_000
MAX_TOTAL_BYTES = 4_000_000_000
MAX_ENTRIES = 200_000
_STORED = re.compile(r"[0-9a-f]{32,64}\.[a-z0-9]{1,5}")


class TransferError(Exception):
    """An export or import that failed as a whole; nothing was changed."""

    def __init__(self, code: str, name: str, detail: str = "") -> None:
        self.code = code
        self.params = {"name": name, "detail": detail}
        super().__init__(f"{code}: {name} {detail}")


class ExportedConversation(msgspec.Struct, kw_only=True):
    """A conversation with its turns as a list, in the order they were added."""

    id: str
    title: str = ""
    custom_title: bool = False
    pinned: bool = False
    created: float = 0.0
    updated: float = 0.0
    draft: str = ""
    draft_files: tuple[Attachment, ...] = ()
    settings: ChatSettings = ChatSettings()
    selected: dict[str, str] = {}
    nodes: tuple[Node, ...] = ()


class ExportFile(msgspec.Struct, kw_only=True):
    """The whole file. `version` grows only when old programs could no longer read it."""

    format: str = FORMAT
    version: int = FORMAT_VERSION
    program: str = ""
    exported: float = 0.0
    conversations: tuple[ExportedConversation, ...] = ()


class _Mark(msgspec.Struct):
    format: str = ""
    version: int = 0


@dataclass(slots=True)
class Imported:
    """What an import brings. `missing` counts attachments whose file was not in it."""

    conversations: list[Conversation] = field(default_factory=list)
    missing: int = 0


def encode(conversations: Iterable[Conversation]) -> bytes:
    """The JSON text of an export, UTF-8."""
    fields = [f for f in ExportedConversation.__struct_fields__ if f != "nodes"]
    items = tuple(
        ExportedConversation(nodes=tuple(c.nodes.values()), **{f: getattr(c, f) for f in fields})
        for c in conversations
    )
    file = ExportFile(program=f"Tandem {VERSION}", exported=time.time(), conversations=items)
    return to_json(file).encode()


def decode(data: bytes, name: str = JSON_NAME) -> list[Conversation]:
    """Conversations from JSON text. Raises `TransferError`; a broken tree is an error."""
    try:
        mark = from_json(data, _Mark)
    except (ValueError, RecursionError) as error:
        raise TransferError("import_not_ours", name) from error
    if mark.format != FORMAT:
        raise TransferError("import_not_ours", name)
    if mark.version > FORMAT_VERSION:
        raise TransferError("import_newer", name)
    try:
        file = from_json(data, ExportFile)
    except (ValueError, RecursionError) as error:
        raise TransferError("import_damaged", name, str(error)) from error
    return [_conversation(item, name) for item in file.conversations]


def _conversation(item: ExportedConversation, name: str) -> Conversation:
    nodes = {n.id: n for n in item.nodes}
    if not item.id or len(nodes) != len(item.nodes) or "" in nodes:
        raise TransferError("import_damaged", name, "two turns have the same id")
    children: dict[str | None, list[str]] = {}
    for node in item.nodes:
        children.setdefault(node.parent, []).append(node.id)
    reached, todo = 0, list(children.get(None, ()))
    while todo:
        reached += 1
        todo.extend(children.get(todo.pop(), ()))
    if reached != len(nodes):
        raise TransferError("import_damaged", name, "the turns do not form a tree")
    selected = {
        parent: child
        for parent, child in item.selected.items()
        if child in nodes and (nodes[child].parent or "") == parent
    }
    fields = {f: getattr(item, f) for f in ExportedConversation.__struct_fields__}
    fields.update(nodes=nodes, selected=selected, settings=_settings(item.settings))
    return Conversation(**fields)


def _settings(settings: ChatSettings) -> ChatSettings:
    if not sampling_ok(settings.sampling):
        settings = msgspec.structs.replace(settings, sampling=ChatSettings().sampling)
    budget = settings.thinking_budget
    if budget is not None and not 1 <= budget <= CONTEXT_MAX:
        settings = msgspec.structs.replace(settings, thinking_budget=None)
    return settings


def write(path: Path, conversations: list[Conversation], store: AttachmentStore) -> Path:
    """Writes an export and returns its path: `.zip` when there are attachments, else
    `.json`. Written beside and renamed. Raises `TransferError`."""
    files: dict[str, Attachment] = {a.file: a for c in conversations for a in _attachments(c)}
    path = _with_ending(path, ".zip" if files else ".json")
    try:
        handle, name = tempfile.mkstemp(prefix=".export-", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as out:
                if files:
                    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
                        archive.writestr(JSON_NAME, encode(conversations))
                        for item in files.values():
                            data = store.read(item)
                            if data is not None:
                                archive.writestr(FOLDER + item.file, data, zipfile.ZIP_STORED)
                else:
                    out.write(encode(conversations))
                out.flush()
                os.fsync(out.fileno())
            os.replace(name, path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise TransferError("export_failed", path.name, error.strerror or str(error)) from error
    return path


def _attachments(conversation: Conversation) -> Iterator[Attachment]:
    """All files of a conversation, those of the unsent message too."""
    for node in conversation.nodes.values():
        yield from node.attachments
    yield from conversation.draft_files


def _with_ending(path: Path, ending: str) -> Path:
    """`path` with the ending its content needs; a changed name never hits another file."""
    if path.suffix.lower() == ending:
        return path
    wanted = path.with_suffix(ending)
    count = 1
    while wanted.exists():
        count += 1
        wanted = path.with_name(f"{path.stem}-{count}{ending}")
    return wanted


def write_text(path: Path, text: str) -> None:
    """Writes a Markdown export. Raises `TransferError`."""
    try:
        path.write_text(text, encoding="utf-8", errors="replace", newline="\n")
    except OSError as error:
        raise TransferError("export_failed", path.name, error.strerror or str(error)) from error


def read(path: Path, store: AttachmentStore) -> Imported:
    """Reads an export and stores its attachments. Raises `TransferError`."""
    name = path.name
    try:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                return _read_zip(archive, name, store)
        if path.stat().st_size > MAX_JSON_BYTES:
            raise TransferError("import_too_large", name)
        conversations = decode(path.read_bytes(), name)
    except OSError as error:
        detail = error.strerror or str(error)
        raise TransferError("import_unreadable", name, detail) from error
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as error:
        raise TransferError("import_damaged", name, str(error)) from error
    return _with_files(conversations, {}, store)


def _read_zip(archive: zipfile.ZipFile, name: str, store: AttachmentStore) -> Imported:
    entries = archive.infolist()
    if len(entries) > MAX_ENTRIES or sum(e.file_size for e in entries) > MAX_TOTAL_BYTES:
        raise TransferError("import_too_large", name)
    known = {e.filename: e for e in entries}
    if JSON_NAME not in known:
        raise TransferError("import_not_ours", name)
    conversations = decode(_bounded(archive, known[JSON_NAME], MAX_JSON_BYTES, name), name)
    wanted = {a.file for c in conversations for a in _attachments(c)}
    renamed: dict[str, str] = {}
    for old in wanted:
        entry = known.get(FOLDER + old)
        if entry is None or not _STORED.fullmatch(old):
            continue
        data = _bounded(archive, entry, MAX_FILE_BYTES, name)
        kind, form = sniff(data[:32])
        if kind:
            try:
                renamed[old] = store.store_imported(data, {"jpeg": "jpg"}.get(form, form))
            except AttachmentError as error:
                reason = error.params.get("reason", "")
                raise TransferError("import_unreadable", name, reason) from error
    return _with_files(conversations, renamed, store)


def _bounded(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, limit: int, name: str) -> bytes:
    """Unpacks at most `limit` bytes, whatever the directory of the archive claims."""
    if entry.file_size > limit:
        raise TransferError("import_too_large", name)
    with archive.open(entry) as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise TransferError("import_too_large", name)
    return data


def _with_files(
    conversations: list[Conversation], renamed: Mapping[str, str], store: AttachmentStore
) -> Imported:
    """Points attachments at the stored files; one with an impossible name is left out."""
    result = Imported(conversations)

    def kept(items: Iterable[Attachment]) -> Iterator[Attachment]:
        for item in items:
            item = msgspec.structs.replace(item, file=renamed.get(item.file, item.file))
            if not _STORED.fullmatch(item.file):
                result.missing += 1
                continue
            if not store.path(item).exists():
                result.missing += 1
            yield item

    for conversation in conversations:
        for node in conversation.nodes.values():
            node.attachments = tuple(kept(node.attachments))
        conversation.draft_files = tuple(kept(conversation.draft_files))
    return result


def resolve_clashes(
    incoming: Iterable[Conversation], existing: Mapping[str, Conversation]
) -> tuple[list[Conversation], int]:
    """(what to save, how many are here already). A conversation that differs from the one
    with its id gets a new id: an import never overwrites."""
    taken = dict(existing)
    fresh: list[Conversation] = []
    same = 0
    for conversation in incoming:
        here = taken.get(conversation.id)
        if here == conversation:
            same += 1
            continue
        if here is not None:
            conversation = msgspec.structs.replace(conversation, id=new_id())
        taken[conversation.id] = conversation
        fresh.append(conversation)
    return fresh, same
