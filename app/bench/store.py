"""The history of comparisons: one SQLite file beside the chats, never in them.

Synchronous; an instance belongs to the thread that made it (the window gives it a thread of
its own, the command line uses it directly). Each row holds the whole record as JSON and,
beside it, what lists and Auto need. Errors are `sqlite3.Error` or `StoreError`.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import msgspec

from app.bench.records import Record, Verdict
from engine.types import Backend

MIGRATIONS: tuple[str, ...] = (
    """
    CREATE TABLE comparison (
        id TEXT PRIMARY KEY, date REAL NOT NULL, model TEXT NOT NULL, model_key TEXT NOT NULL,
        backend TEXT NOT NULL, engine TEXT NOT NULL, machine TEXT NOT NULL,
        baseline INTEGER NOT NULL DEFAULT 0, notes TEXT NOT NULL DEFAULT '',
        entry BLOB NOT NULL, record BLOB NOT NULL
    );
    CREATE INDEX comparison_newest ON comparison (model_key, backend, engine, machine, date);
    """,
)
"""Statement n brings the file from version n to n + 1 (`PRAGMA user_version`)."""


class StoreError(Exception):
    """The file is from a newer Tandem."""


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One comparison as lists show it; `baseline` and `notes` are those of the row."""

    id: str
    date: float
    model: str
    model_key: str
    backend: Backend
    engine: str
    machine: str
    complete: bool
    covered: bool = True
    """Whether at least half of the planned prompts were measured."""
    verdict: Verdict = Verdict.TOO_FEW
    speedup: float | None = None
    low: float | None = None
    high: float | None = None
    off_tps: float | None = None
    on_tps: float | None = None
    acceptance: float | None = None
    adapter: str | None = None
    software_adapter: bool = False
    baseline: bool = False
    notes: str = ""


def entry_of(record: Record) -> Entry:
    """What a list shows of a record; numbers are those over all classes."""
    env, whole = record.environment, record.overall
    ratio = whole.speedup if whole else None
    return Entry(
        id=record.id,
        date=env.date,
        model=record.model,
        model_key=record.model_key,
        backend=env.backend,
        engine=env.engine,
        machine=env.machine,
        complete=record.complete,
        covered=2 * len({s.prompt_id for s in record.samples if s.part == "suite"})
        >= len(record.plan.prompts),
        verdict=whole.verdict if whole else Verdict.TOO_FEW,
        speedup=ratio.value if ratio else None,
        low=ratio.low if ratio else None,
        high=ratio.high if ratio else None,
        off_tps=whole.off.decode.mean if whole and whole.off.decode else None,
        on_tps=whole.on.decode.mean if whole and whole.on.decode else None,
        acceptance=whole.acceptance if whole else None,
        adapter=env.adapter,
        software_adapter=env.software_adapter,
        baseline=record.baseline,
        notes=record.notes,
    )


class BenchmarkStore:
    """Opens (or makes) the file at once. ":memory:" keeps nothing."""

    def __init__(self, path: Path | str) -> None:
        if str(path) != ":memory:":
            Path(path).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with contextlib.suppress(OSError):
                os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        self._db = sqlite3.connect(path, timeout=5.0)
        try:
            self._migrate()
        except BaseException:
            self._db.close()
            raise

    def _migrate(self) -> None:
        (version,) = self._db.execute("PRAGMA user_version").fetchone()
        if version > len(MIGRATIONS):
            raise StoreError(f"benchmarks were written by a newer Tandem (version {version})")
        if version == len(MIGRATIONS):
            return
        for number, script in enumerate(MIGRATIONS[version:], start=version + 1):
            self._db.executescript(f"BEGIN; {script}; PRAGMA user_version = {number}; COMMIT;")

    def add(self, record: Record) -> None:
        """Stores a record; one with the same id is replaced (undo of a delete)."""
        entry = entry_of(record)
        with self._db:
            self._db.execute(
                "INSERT OR REPLACE INTO comparison VALUES (?,?,?,?,?,?,?,?,?,?,?)",
                (
                    record.id,
                    entry.date,
                    entry.model,
                    entry.model_key,
                    entry.backend.value,
                    entry.engine,
                    entry.machine,
                    record.baseline,
                    record.notes,
                    msgspec.json.encode(entry),
                    msgspec.json.encode(record),
                ),
            )

    def entries(self, model: str = "", backend: Backend | None = None) -> list[Entry]:
        """Newest first, of one model name and backend if given. Rows that cannot be read
        (written by another version) are left out."""
        rows = self._db.execute(
            "SELECT entry, baseline, notes FROM comparison"
            " WHERE (?1 = '' OR model = ?1) AND (?2 = '' OR backend = ?2)"
            " ORDER BY date DESC, rowid DESC",
            (model, backend.value if backend else ""),
        )
        out = []
        for blob, baseline, notes in rows:
            with contextlib.suppress(msgspec.DecodeError):
                entry = msgspec.json.decode(blob, type=Entry)
                out.append(msgspec.structs.replace(entry, baseline=bool(baseline), notes=notes))
        return out

    def get(self, record_id: str) -> Record | None:
        row = self._db.execute(
            "SELECT record, baseline, notes FROM comparison WHERE id = ?", (record_id,)
        ).fetchone()
        if row is None:
            return None
        try:
            record = msgspec.json.decode(row[0], type=Record)
        except msgspec.DecodeError:
            return None
        return msgspec.structs.replace(record, baseline=bool(row[1]), notes=row[2])

    def delete(self, record_id: str) -> Record | None:
        """Removes a comparison and returns it, so that it can be put back."""
        record = self.get(record_id)
        with self._db:
            self._db.execute("DELETE FROM comparison WHERE id = ?", (record_id,))
        return record

    def set_notes(self, record_id: str, notes: str) -> None:
        with self._db:
            self._db.execute("UPDATE comparison SET notes = ? WHERE id = ?", (notes, record_id))

    def set_baseline(self, record_id: str, *, on: bool = True) -> None:
        """Makes this the baseline of its model, the only one; `on` False takes it off."""
        with self._db:
            self._db.execute(
                "UPDATE comparison SET baseline = 0 WHERE model ="
                " (SELECT model FROM comparison WHERE id = ?)",
                (record_id,),
            )
            if on:
                self._db.execute("UPDATE comparison SET baseline = 1 WHERE id = ?", (record_id,))

    def close(self) -> None:
        self._db.close()


def newest(
    entries: Sequence[Entry], *, model_key: str, backend: Backend, engine: str, machine: str
) -> Entry | None:
    """The newest result that may speak for this file, backend, engine and machine: with a
    speedup, enough samples for a verdict and, if cut short, at least half of its prompts; or
    one that found that speculation cannot run."""
    wanted = (model_key, backend, engine, machine)
    for entry in sorted(entries, key=lambda e: e.date, reverse=True):
        if (entry.model_key, entry.backend, entry.engine, entry.machine) != wanted:
            continue
        told = entry.speedup is not None and entry.verdict is not Verdict.TOO_FEW
        told = told or entry.verdict is Verdict.CANNOT
        if model_key and told and entry.covered:
            return entry
    return None
