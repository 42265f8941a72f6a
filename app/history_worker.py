"""The history database itself: one SQLite connection and the statements on it.

Synchronous. Every method but `__init__` runs on the history thread, which owns the
connection (`app.history.History` sees to that). Errors are `sqlite3.Error`; the caller
decides what to retry. Files are 0600.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TypeVar

from app import history_recovery, migrations
from app.conversation import TurnStatus
from app.history_lock import OwnerLock
from app.history_rows import NODE_COLUMNS
from app.history_tables import HistoryTables

T = TypeVar("T")

BUSY_SECONDS = 2.0
UNDO_SECONDS = 600.0
"""A deleted conversation of another running window is not purged before this age."""


class OpenReport:
    """What was found at start; `codes` are sentence keys, `params` fill them."""

    def __init__(self) -> None:
        self.codes: list[str] = []
        self.params: dict[str, str] = {}
        self.interrupted = 0


class HistoryDatabase(HistoryTables):
    """Opens on `open`, usable until `close`. After a problem that cannot be solved it
    works in memory (`persistent` False) so that the program goes on."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.persistent = True
        self._lock = OwnerLock(path.with_name(path.name + ".lock"))
        self._owner = False

    # -- opening and closing ---------------------------------------------------------

    def open(self) -> OpenReport:
        """Never raises for a bad file: the report says what happened."""
        report = OpenReport()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            self._in_memory(report, "history_unwritable", str(error))
            return report
        self._owner = self._lock.take()
        try:
            self._open_file()
        except migrations.NewerSchemaError:
            self._read_newer(report)
        except OSError as error:
            self._read_only(report, error.strerror or str(error))
        except sqlite3.Error as error:
            if not is_damage(error) or not self._owner:
                self._read_only(report, str(error))
            else:
                self.recover(report)
        if self.persistent and self._owner:
            try:
                report.interrupted = self._repair()
            except sqlite3.Error as error:
                if is_damage(error):
                    self.recover(report)
        return report

    def _open_file(self) -> None:
        fresh = not self.path.exists()
        if fresh:
            os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
        db = sqlite3.connect(
            self.path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=True
        )
        try:
            migrations.check(db)
            db.execute("PRAGMA journal_mode = WAL")
            # FULL: a committed turn survives a power cut, not only a crash.
            db.execute("PRAGMA synchronous = FULL")
            db.execute("PRAGMA foreign_keys = ON")
            db.execute("PRAGMA secure_delete = ON")
            migrations.migrate(db)
            doubtful = not fresh and self._owner and not self._was_closed(db)
            if doubtful and db.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
                raise sqlite3.DatabaseError("quick_check failed: malformed")
            if self._owner:
                db.execute("REPLACE INTO value VALUES ('clean', '0')")
            if os.name == "posix":
                with contextlib.suppress(OSError):  # a disk without modes
                    self.path.chmod(0o600)
        except BaseException:
            db.close()
            raise
        self._db = db

    @staticmethod
    def _was_closed(db: sqlite3.Connection) -> bool:
        row = db.execute("SELECT data FROM value WHERE name = 'clean'").fetchone()
        return row is not None and row[0] == "1"

    def _in_memory(self, report: OpenReport, code: str, detail: str) -> None:
        self.persistent = False
        if self._db is not None:
            self._db.close()
        self._db = sqlite3.connect(":memory:", isolation_level=None)
        migrations.migrate(self._db)
        report.codes.append(code)
        report.params.update(path=str(self.path), detail=detail)

    def _read_newer(self, report: OpenReport) -> None:
        """Shows what a newer program wrote, from a copy in memory; the file is only read."""
        self._in_memory(report, "history_newer", "")
        self._show_copy("mode=ro", migrate=False)

    def _read_only(self, report: OpenReport, detail: str) -> None:
        """A file that cannot be written: its conversations are shown, new ones kept in memory."""
        self._in_memory(report, "history_unwritable", detail)
        # Without write access there may be no shared memory for a WAL: then what was moved
        # into the file itself is shown.
        for how in ("mode=ro", "mode=ro&immutable=1"):
            if self.path.is_file() and self._show_copy(how, migrate=True):
                report.codes[-1] = "history_read_only"
                return

    def _show_copy(self, how: str, *, migrate: bool) -> bool:
        """Works on a copy of the file in memory from now on; False if it cannot be read."""
        uri = f"{self.path.resolve().as_uri()}?{how}"
        copy = sqlite3.connect(":memory:", isolation_level=None)
        old = self._db
        try:
            with closing(sqlite3.connect(uri, uri=True)) as source:
                source.backup(copy)
            if migrate:
                migrations.migrate(copy)
            self._db = copy
            self.summaries()
            copy.execute(f"SELECT {NODE_COLUMNS} FROM node LIMIT 1").fetchall()  # noqa: S608
            copy.execute("SELECT rowid, body FROM search LIMIT 1").fetchall()
        except sqlite3.Error:
            copy.close()
            self._db = old
            return False
        if old is not None:
            old.close()
        return True

    def recover(self, report: OpenReport) -> None:
        """Sets a damaged file aside and starts a new one with what can be read. A second
        window leaves the file to the first and goes on in memory."""
        if not self._owner or not self.persistent:
            self._in_memory(report, "history_unwritable", "the file is damaged")
            return
        if self._db is not None:
            self._db.close()
            self._db = None
        try:
            damaged = history_recovery.set_aside(self.path)
            self._open_file()
            report.params["count"] = str(history_recovery.rescue(damaged, self.db))
            report.params["path"] = str(damaged)
            report.codes.append("history_damaged")
        except (OSError, sqlite3.Error) as error:
            self._in_memory(report, "history_unwritable", str(error))

    def _repair(self) -> int:
        """Marks answers a crash cut off; removes what was deleted before. Owner only."""
        changed = self.db.execute(
            "UPDATE node SET status = ? WHERE status = ?",
            (TurnStatus.INTERRUPTED.value, TurnStatus.STREAMING.value),
        ).rowcount
        self.purge(older_than=UNDO_SECONDS)
        return changed

    def close(self) -> None:
        """Purges deleted conversations and marks the file as whole. Never raises."""
        if self._db is None:
            return
        try:
            if self.persistent and self._owner:
                self.purge(older_than=0.0)
                self.purge_empty()
                self.db.execute("REPLACE INTO value VALUES ('clean', '1')")
                self.db.execute("PRAGMA optimize")
        except sqlite3.Error:
            pass
        self._db.close()
        self._db = None
        self._lock.close()

    def transaction(self, work: Callable[[], T]) -> T:
        """Runs `work` in one write transaction; rolls back and re-raises on any error."""
        self.db.execute("BEGIN IMMEDIATE")
        try:
            result = work()
            self.db.execute("COMMIT")
        except BaseException:
            if self.db.in_transaction:
                self.db.execute("ROLLBACK")
            raise
        return result

    def purge(self, older_than: float) -> None:
        """Removes conversations deleted more than `older_than` seconds ago, for good."""
        gone = self.db.execute(
            "SELECT key, id FROM conversation WHERE deleted <= ?", (time.time() - older_than,)
        ).fetchall()
        self._remove(gone)

    def purge_empty(self) -> None:
        """Removes conversations in which nothing was ever said, named or left to send."""
        gone = self.db.execute(
            "SELECT key, id FROM conversation AS c WHERE title = '' AND draft = '' AND"
            " draft_files = '[]' AND NOT pinned AND NOT EXISTS"
            " (SELECT 1 FROM node WHERE conversation = c.id)"
        ).fetchall()
        self._remove(gone)

    def _remove(self, gone: list[tuple[int, str]]) -> None:

        def work() -> None:
            for key, name in gone:
                self.db.execute(
                    "DELETE FROM search WHERE rowid IN (SELECT key FROM node WHERE"
                    " conversation = ?) OR rowid = ?",
                    (name, -key),
                )
                self.db.execute("DELETE FROM conversation WHERE key = ?", (key,))

        if gone:
            self.transaction(work)


def is_damage(error: sqlite3.Error) -> bool:
    """True for a file that is no whole database (not for a full disk or a lock)."""
    code = getattr(error, "sqlite_errorcode", None)
    if code is not None:
        return (code & 0xFF) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
    return "malformed" in str(error)
