"""The store on a thread of its own, for the window.

Main thread and its loop; the SQLite connection lives on one executor thread. Every change
ends with a fresh list of entries, kept in `entries` for whoever must not wait (Auto, lists).
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from app.bench.records import Record
from app.bench.store import BenchmarkStore, Entry, StoreError

T = TypeVar("T")


class BenchmarkLibrary:
    """`on_changed` after every new list; `on_problem(reason)` when the file cannot be used:
    results then live until the program ends."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="benchmarks")
        self._store: BenchmarkStore | None = None
        self._closed = False
        self.entries: tuple[Entry, ...] = ()
        self.on_changed: Callable[[], None] = lambda: None
        self.on_problem: Callable[[str], None] = lambda _reason: None

    async def open(self) -> None:
        """Reads the list. Never raises: a bad file is told by `on_problem`."""
        await self._change(lambda _store: None)

    async def add(self, record: Record) -> None:
        await self._change(lambda store: store.add(record))

    async def get(self, record_id: str) -> Record | None:
        return await self._do(lambda store: store.get(record_id))

    async def delete(self, record_id: str) -> Record | None:
        return await self._change(lambda store: store.delete(record_id))

    async def set_baseline(self, record_id: str, *, on: bool) -> None:
        await self._change(lambda store: store.set_baseline(record_id, on=on))

    async def set_notes(self, record_id: str, notes: str) -> None:
        await self._change(lambda store: store.set_notes(record_id, notes))

    async def close(self) -> None:
        """Ends the thread after what was asked. Idempotent."""
        if self._closed:
            return
        self._closed = True
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._executor, self._close)
        self._executor.shutdown(wait=False)

    def _close(self) -> None:
        store, self._store = self._store, None
        if store is not None:
            store.close()

    async def _change(self, work: Callable[[BenchmarkStore], T]) -> T | None:
        def both(store: BenchmarkStore) -> tuple[T, list[Entry]]:
            return work(store), store.entries()

        found = await self._do(both)
        if found is None:
            return None
        result, entries = found
        self.entries = tuple(entries)
        self.on_changed()
        return result

    async def _do(self, work: Callable[[BenchmarkStore], T]) -> T | None:
        if self._closed:
            return None
        loop = asyncio.get_running_loop()
        problem: Exception
        try:
            return await loop.run_in_executor(self._executor, self._on_thread, work)
        except (sqlite3.Error, StoreError, OSError) as found:
            problem = found
        self.on_problem(str(problem))
        try:
            return await loop.run_in_executor(self._executor, self._in_memory, work)
        except sqlite3.Error:
            return None

    def _on_thread(self, work: Callable[[BenchmarkStore], T]) -> T:
        if self._store is None:
            self._store = BenchmarkStore(self._path)
        return work(self._store)

    def _in_memory(self, work: Callable[[BenchmarkStore], T]) -> T:
        """After a problem: go on without the file, which stays as it is."""
        self._close()
        self._store = BenchmarkStore(":memory:")
        return work(self._store)
