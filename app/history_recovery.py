"""A damaged history file: set it aside unchanged, copy every readable row to a new one.

History thread only. Nothing here deletes or changes the damaged file; it is renamed, with
its write-ahead log, to `NAME.damaged-DATE`.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from app import migrations
from app.history_rows import clean, read_text

_TABLES = {
    "conversation": (
        "key", "id", "title", "custom_title", "pinned", "created", "updated", "preview",
        "draft", "settings", "selected", "deleted", "draft_files",
    ),
    "node": (
        "key", "conversation", "id", "parent", "role", "status", "created", "text",
        "thought", "extra", "files",
    ),
    "value": ("name", "data"),
}  # fmt: skip
_PROBES = 5000
"""Single row look-ups between two unreadable pages; enough for thousands of turns."""


def set_aside(path: Path) -> Path:
    """Renames the file and its log; returns the new name. Raises OSError."""
    stamp = time.strftime("%Y%m%d-%H%M%S")
    target = path.with_name(f"{path.name}.damaged-{stamp}")
    count = 1
    while target.exists():
        count += 1
        target = path.with_name(f"{path.name}.damaged-{stamp}-{count}")
    for suffix in ("-wal", "-shm"):
        log = path.with_name(path.name + suffix)
        if log.exists():
            os.replace(log, target.with_name(target.name + suffix))
    os.replace(path, target)
    return target


def rescue(damaged: Path, connection: sqlite3.Connection) -> int:
    """Copies readable rows of `damaged` into the fresh, migrated `connection`; returns the
    number of conversations saved. Works on a scratch copy, so `damaged` stays as it is."""
    scratch = damaged.with_name(damaged.name + ".reading")
    sides = ("", "-wal", "-shm")
    try:
        for side in sides:
            source = damaged.with_name(damaged.name + side)
            if source.exists():
                shutil.copyfile(source, scratch.with_name(scratch.name + side))
        broken = sqlite3.connect(scratch, isolation_level=None)
        try:
            return _copy(broken, connection)
        finally:
            broken.close()
    except (sqlite3.Error, OSError):
        return 0
    finally:
        for side in sides:
            scratch.with_name(scratch.name + side).unlink(missing_ok=True)


def _copy(broken: sqlite3.Connection, connection: sqlite3.Connection) -> int:
    if migrations.version(broken) // 100 != migrations.MAJOR:
        return 0
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("PRAGMA defer_foreign_keys = ON")
    for table, wanted in _TABLES.items():
        columns = _present(broken, table, wanted)
        marks = ", ".join("?" * len(columns))
        names = ", ".join(columns)
        statement = f"INSERT OR IGNORE INTO {table} ({names}) VALUES ({marks})"  # noqa: S608
        for row in _rows(broken, table, columns):
            try:
                connection.execute(statement, row)
            except (sqlite3.Error, OverflowError):
                continue
    # Turns whose conversation row was lost get one, so nothing readable is thrown away.
    connection.execute(
        "INSERT OR IGNORE INTO conversation (id, title, custom_title, created, updated)"
        " SELECT conversation, '', 0, min(created), max(created) FROM node"
        " WHERE conversation NOT IN (SELECT id FROM conversation) GROUP BY conversation"
    )
    reindex(connection)
    connection.execute("COMMIT")
    return int(connection.execute("SELECT count(*) FROM conversation").fetchone()[0])


def _present(broken: sqlite3.Connection, table: str, wanted: tuple[str, ...]) -> tuple[str, ...]:
    """The columns a file has that an older program wrote; all when it cannot tell."""
    try:
        have = {row[1] for row in broken.execute(f"PRAGMA table_info({table})")}
    except sqlite3.Error:
        return wanted
    return tuple(c for c in wanted if c in have) or wanted


def reindex(connection: sqlite3.Connection) -> None:
    """Fills the search index anew. Inside a transaction of the caller."""
    connection.execute("DELETE FROM search")
    for table, sign, column in (("node", 1, "text"), ("conversation", -1, "title")):
        for key, body in connection.execute(f"SELECT key, {column} FROM {table}"):  # noqa: S608
            text = clean(read_text(body))
            if text.strip():
                connection.execute(
                    "INSERT INTO search (rowid, body) VALUES (?, ?)", (sign * key, text)
                )


def _rows(
    broken: sqlite3.Connection, table: str, columns: tuple[str, ...]
) -> Iterator[tuple[Any, ...]]:
    """Readable rows: forward to the first damage, backward to the last, then one by one."""
    names = ", ".join(columns)
    if columns[0] != "key":
        yield from _until_error(broken, f"SELECT {names} FROM {table}")  # noqa: S608
        return
    low = 0
    select = f"SELECT {names} FROM {table} NOT INDEXED"  # noqa: S608
    for row in _until_error(broken, f"{select} WHERE key > 0 ORDER BY key"):
        low = row[0]
        yield row
    high = None
    for row in _until_error(broken, f"{select} WHERE key > {low:d} ORDER BY key DESC"):
        high = row[0]
        yield row
    top = high if high is not None else low + _PROBES
    for key in range(low + 1, min(top, low + 1 + _PROBES)):
        yield from _until_error(broken, f"{select} WHERE key = {key:d}")


def _until_error(connection: sqlite3.Connection, statement: str) -> Iterator[tuple[Any, ...]]:
    try:
        yield from connection.execute(statement)
    except (sqlite3.Error, OverflowError):
        return
