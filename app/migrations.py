"""Numbered schema changes of the history database.

`PRAGMA user_version` holds `major * 100 + minor`. A step inside one major only adds
(columns with defaults, tables), so an older program of the same major can still write. A
newer major cannot be written by this program: `check` says so and nothing is touched.

Called on the history thread only, with a connection in autocommit mode. Each step runs in
its own transaction together with its new number, so a crash leaves a whole step or none.
"""

from __future__ import annotations

import sqlite3

MAJOR = 1
MINOR = 2
VERSION = MAJOR * 100 + MINOR

STEPS: tuple[tuple[int, tuple[str, ...]], ...] = (
    (
        100,
        (
            """CREATE TABLE conversation (
                key INTEGER PRIMARY KEY AUTOINCREMENT,
                id TEXT NOT NULL UNIQUE,
                title TEXT NOT NULL DEFAULT '',
                custom_title INTEGER NOT NULL DEFAULT 0,
                pinned INTEGER NOT NULL DEFAULT 0,
                created REAL NOT NULL DEFAULT 0,
                updated REAL NOT NULL DEFAULT 0,
                preview TEXT NOT NULL DEFAULT '',
                draft TEXT NOT NULL DEFAULT '',
                settings TEXT NOT NULL DEFAULT '{}',
                selected TEXT NOT NULL DEFAULT '{}',
                deleted REAL
            )""",
            "CREATE INDEX conversation_order ON conversation (updated DESC)",
            """CREATE TABLE node (
                key INTEGER PRIMARY KEY AUTOINCREMENT,
                conversation TEXT NOT NULL REFERENCES conversation (id) ON DELETE CASCADE,
                id TEXT NOT NULL,
                parent TEXT,
                role TEXT NOT NULL,
                status TEXT NOT NULL,
                created REAL NOT NULL DEFAULT 0,
                text TEXT NOT NULL DEFAULT '',
                thought TEXT NOT NULL DEFAULT '',
                extra TEXT NOT NULL DEFAULT '{}',
                files TEXT NOT NULL DEFAULT '',
                UNIQUE (conversation, id)
            )""",
            # Only the few rows of a crash are in it, so the start-up repair is instant.
            "CREATE INDEX node_streaming ON node (status) WHERE status = 'streaming'",
            "CREATE INDEX node_files ON node (files) WHERE files <> ''",
            "CREATE TABLE value (name TEXT PRIMARY KEY, data TEXT NOT NULL) WITHOUT ROWID",
            # Rowid: `node.key` for a turn, `-conversation.key` for a title. Own content and
            # no triggers: what is indexed is cleaned text (no NUL, no lone surrogates).
            """CREATE VIRTUAL TABLE search USING fts5 (
                body, tokenize = "unicode61 remove_diacritics 2"
            )""",
        ),
    ),
    (101, ("CREATE INDEX node_conversation ON node (conversation, key)",)),
    (102, ("ALTER TABLE conversation ADD COLUMN draft_files TEXT NOT NULL DEFAULT '[]'",)),
)


class NewerSchemaError(Exception):
    """The file was written by a newer major version of the program."""

    def __init__(self, found: int) -> None:
        self.found = found
        super().__init__(f"history schema {found // 100}.{found % 100} is newer than {MAJOR}")


def version(connection: sqlite3.Connection) -> int:
    """The schema number of the open file; 0 for a new one. Raises sqlite3.DatabaseError."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def check(connection: sqlite3.Connection) -> int:
    """Returns the number, or raises `NewerSchemaError` before anything was written."""
    found = version(connection)
    if found // 100 > MAJOR:
        raise NewerSchemaError(found)
    return found


def migrate(connection: sqlite3.Connection) -> int:
    """Runs the missing steps and returns the number reached. Safe against a second
    program doing the same: the number is read again inside each write transaction."""
    found = check(connection)
    for number, statements in STEPS:
        if number <= found:
            continue
        connection.execute("BEGIN IMMEDIATE")
        try:
            if version(connection) < number:
                for statement in statements:
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {number:d}")
            connection.execute("COMMIT")
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        found = number
    return found
