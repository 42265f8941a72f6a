"""The statements on the history tables; `app.history_worker` opens the file around them.

History thread only. Errors are `sqlite3.Error`; writes belong inside a transaction.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable
from typing import TypeVar

from app.conversation import Attachment, ChatSettings, Conversation, Node, TurnStatus
from app.history_rows import (
    NODE_COLUMNS,
    Head,
    Summary,
    clean,
    from_json,
    node_from,
    node_values,
    read_text,
    store_text,
    to_json,
)
from app.history_search import Hit, find

T = TypeVar("T")


class HistoryTables:
    """Reads and writes rows over one open connection."""

    def __init__(self) -> None:
        self._db: sqlite3.Connection | None = None

    @property
    def db(self) -> sqlite3.Connection:
        if self._db is None:
            raise sqlite3.OperationalError("history is closed")
        return self._db

    # -- writing (inside `transaction`) ----------------------------------------------

    def put_head(self, head: Head) -> None:
        values = (
            store_text(head.title),
            head.custom_title,
            head.pinned,
            head.created,
            head.updated,
            store_text(head.preview),
            store_text(head.draft),
            to_json(head.settings),
            to_json(head.selected),
            to_json(head.draft_files),
        )
        self.db.execute(
            "INSERT INTO conversation (id, title, custom_title, pinned, created, updated,"
            " preview, draft, settings, selected, draft_files)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (id) DO UPDATE SET title = excluded.title,"
            " custom_title = excluded.custom_title, pinned = excluded.pinned,"
            " created = excluded.created, updated = excluded.updated,"
            " preview = excluded.preview, draft = excluded.draft,"
            " settings = excluded.settings, selected = excluded.selected,"
            " draft_files = excluded.draft_files",
            (store_text(head.id), *values),
        )
        row = self.db.execute(
            "SELECT key FROM conversation WHERE id = ?", (store_text(head.id),)
        ).fetchone()
        self._index(-row[0], head.title)

    def put_node(self, conversation: str, node: Node) -> None:
        """Inserts or overwrites one turn; its place among the others stays."""
        values = node_values(node)
        row = self.db.execute(
            f"INSERT INTO node (conversation, {NODE_COLUMNS})"  # noqa: S608
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (conversation, id) DO UPDATE SET parent = excluded.parent,"
            " role = excluded.role, status = excluded.status, created = excluded.created,"
            " text = excluded.text, thought = excluded.thought, extra = excluded.extra,"
            " files = excluded.files RETURNING key",
            (store_text(conversation), *values),
        ).fetchone()
        if node.status is not TurnStatus.STREAMING:
            self._index(row[0], node.text)

    def drop_nodes(self, conversation: str, ids: Iterable[str]) -> None:
        for node_id in ids:
            key = (store_text(conversation), store_text(node_id))
            self.db.execute(
                "DELETE FROM search WHERE rowid IN"
                " (SELECT key FROM node WHERE conversation = ? AND id = ?)",
                key,
            )
            self.db.execute("DELETE FROM node WHERE conversation = ? AND id = ?", key)

    def clear(self, conversation: str) -> None:
        """Removes all turns of a conversation and brings it back if it was deleted."""
        self.db.execute(
            "DELETE FROM search WHERE rowid IN (SELECT key FROM node WHERE conversation = ?)",
            (store_text(conversation),),
        )
        self.db.execute("DELETE FROM node WHERE conversation = ?", (store_text(conversation),))
        self.mark_deleted(conversation, False)

    def mark_deleted(self, conversation: str, deleted: bool) -> None:
        self.db.execute(
            "UPDATE conversation SET deleted = ? WHERE id = ?",
            (time.time() if deleted else None, store_text(conversation)),
        )

    def put_value(self, name: str, data: str) -> None:
        self.db.execute("REPLACE INTO value VALUES (?, ?)", (name, data))

    def _index(self, rowid: int, text: str) -> None:
        body = clean(text)
        self.db.execute("DELETE FROM search WHERE rowid = ?", (rowid,))
        if body.strip():
            self.db.execute("INSERT INTO search (rowid, body) VALUES (?, ?)", (rowid, body))

    # -- reading ---------------------------------------------------------------------

    def summaries(self) -> list[Summary]:
        """All conversations that are not deleted, newest first."""
        rows = self.db.execute(
            "SELECT id, title, pinned, created, updated, preview FROM conversation"
            " WHERE deleted IS NULL ORDER BY updated DESC"
        )
        return [
            Summary(
                id=read_text(r[0]),
                title=read_text(r[1]),
                pinned=bool(r[2]),
                created=float(r[3]),
                updated=float(r[4]),
                preview=read_text(r[5]),
            )
            for r in rows
        ]

    def load(self, conversation: str) -> Conversation | None:
        """The whole tree, nodes in the order they were made; None when there is none. A turn
        whose deletion was undone has a new row, so its time comes before its key."""
        row = self.db.execute(
            "SELECT title, custom_title, pinned, created, updated, draft, settings, selected,"
            " draft_files FROM conversation WHERE id = ? AND deleted IS NULL",
            (store_text(conversation),),
        ).fetchone()
        if row is None:
            return None
        rows = self.db.execute(
            f"SELECT {NODE_COLUMNS} FROM node WHERE conversation = ?"  # noqa: S608
            " ORDER BY created, key",
            (store_text(conversation),),
        )
        nodes = {n.id: n for n in map(node_from, rows) if n is not None}
        for node in nodes.values():
            if node.parent is not None and node.parent not in nodes:
                node.parent = None
        return Conversation(
            id=conversation,
            title=read_text(row[0]),
            custom_title=bool(row[1]),
            pinned=bool(row[2]),
            created=float(row[3]),
            updated=float(row[4]),
            draft=read_text(row[5]),
            draft_files=_decode(row[8], tuple[Attachment, ...], ()),
            settings=_decode(row[6], ChatSettings, ChatSettings()),
            nodes=nodes,
            selected=_decode(row[7], dict[str, str], {}),
        )

    def value(self, name: str) -> str | None:
        row = self.db.execute("SELECT data FROM value WHERE name = ?", (name,)).fetchone()
        return None if row is None else str(row[0])

    def files_in_use(self) -> set[str]:
        """Names of all attachments some turn or some unsent message refers to."""
        rows = self.db.execute("SELECT files FROM node WHERE files <> ''")
        found = {name for (names,) in rows for name in str(names).split("\n")}
        rows = self.db.execute("SELECT draft_files FROM conversation WHERE draft_files <> '[]'")
        for (files,) in rows:
            found.update(a.file for a in _decode(files, tuple[Attachment, ...], ()))
        return found

    def search(self, text: str, limit: int = 100) -> list[Hit]:
        """One hit per conversation, titles first, then best first."""
        return find(self.db, text, limit)


def _decode(data: str, kind: type[T], fallback: T) -> T:
    try:
        return from_json(data, kind)
    except (ValueError, TypeError):
        return fallback
