"""The history: every conversation, kept in SQLite, with an async face for the main thread.

One thread ("history") owns the only connection. Saving never blocks and never fails the
caller: what is to be written is kept in `_pending` (the newest value per thing) until a
transaction with it was committed. A locked file or a full disk is told once through
`on_problem`, retried every few seconds, and told again when everything is safe.

All methods belong to the main thread and a running asyncio loop, except where said.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import msgspec

from app.conversation import Conversation, Node
from app.history_rows import Summary, from_json, head_of, to_json
from app.history_search import Hit
from app.history_worker import HistoryDatabase, OpenReport, is_damage
from app.kept_tasks import tell_failure

T = TypeVar("T")
Problem = Callable[[str, dict[str, str]], None]
Write = Callable[[HistoryDatabase], None]

RETRY_SECONDS = 4.0
_BAD_VALUE = (
    sqlite3.IntegrityError,
    sqlite3.DataError,
    sqlite3.InterfaceError,
    sqlite3.ProgrammingError,
    ValueError,
    TypeError,
    OverflowError,
)
"""One value cannot be stored: no retry helps, and the others must not wait for it."""

_log = logging.getLogger(__name__)


class OpenTabs(msgspec.Struct, frozen=True):
    """Which conversations were open, in order, and which one was in front."""

    ids: tuple[str, ...] = ()
    selected: str = ""


class History:
    """`open` first, `close` last. `on_problem(code, params)` runs on the main thread;
    codes: history_newer, history_damaged, history_unwritable, history_read_only,
    history_not_saved, history_saved_again."""

    def __init__(self, path: Path, on_problem: Problem | None = None) -> None:
        self._database = HistoryDatabase(path)
        self.on_problem: Problem = on_problem or (lambda _code, _params: None)
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="history")
        self._pending: dict[tuple[str, ...], Write] = {}
        self._failing = False
        self._flushing: asyncio.Task[None] | None = None
        self._retry: asyncio.TimerHandle | None = None
        self._closed = False
        self._report: OpenReport | None = None

    @property
    def unsaved(self) -> bool:
        """True while something waits to be written."""
        return bool(self._pending)

    @property
    def persistent(self) -> bool:
        """False when this session is kept in memory only."""
        return self._database.persistent

    async def open(self) -> OpenReport:
        """Opens the file once; a second call returns the report of the first."""
        if self._report is not None:
            return self._report
        report = self._report = await self._run(self._database.open)
        for code in report.codes:
            self.on_problem(code, report.params)
        return report

    async def close(self) -> bool:
        """Writes what is left and ends the thread; False when something stayed unsaved."""
        if self._closed:
            return not self._pending
        if self._retry is not None:
            self._retry.cancel()
        await self.flush()
        self._closed = True
        await self._run(self._database.close)
        self._executor.shutdown(wait=True)
        return not self._pending

    async def _run(self, work: Callable[[], T]) -> T:
        return await asyncio.wrap_future(self._executor.submit(work))

    async def _read(self, work: Callable[[], T]) -> T:
        """A read after all writes queued so far. A damaged file is repaired on the way."""
        await self.flush()
        report = OpenReport()

        def guarded() -> T:
            try:
                return work()
            except sqlite3.DatabaseError as error:
                if not is_damage(error):
                    raise
                self._database.recover(report)
                return work()

        result = await self._run(guarded)
        for code in report.codes:
            self.on_problem(code, report.params)
        return result

    # -- reading ---------------------------------------------------------------------

    async def summaries(self) -> list[Summary]:
        """All conversations, newest first."""
        return await self._read(self._database.summaries)

    async def load(self, conversation_id: str) -> Conversation | None:
        return await self._read(lambda: self._database.load(conversation_id))

    async def load_all(self) -> list[Conversation]:
        """Everything, oldest first (for export)."""

        def work() -> list[Conversation]:
            found = (self._database.load(s.id) for s in self._database.summaries())
            return sorted((c for c in found if c is not None), key=lambda c: c.created)

        return await self._read(work)

    async def search(self, text: str, limit: int = 100) -> list[Hit]:
        return await self._read(lambda: self._database.search(text, limit))

    async def files_in_use(self) -> set[str]:
        return await self._read(self._database.files_in_use)

    async def value(self, name: str, kind: type[T]) -> T | None:
        """A small stored value (open tabs, presets); None when missing or unreadable."""
        data = await self._read(lambda: self._database.value(name))
        if data is None:
            return None
        try:
            return from_json(data, kind)
        except (ValueError, TypeError):
            return None

    async def open_tabs(self) -> OpenTabs:
        return await self.value("open_tabs", OpenTabs) or OpenTabs()

    # -- writing ---------------------------------------------------------------------

    def save_soon(self, conversation: Conversation, nodes: Iterable[Node] = ()) -> None:
        """Queues the head (title, draft, settings, selection) and the given turns."""
        head = head_of(conversation)
        self._pending[("head", head.id)] = lambda db: db.put_head(head)
        for node in nodes:
            self._queue_node(head.id, msgspec.structs.replace(node))
        self._kick()

    def _queue_node(self, conversation_id: str, node: Node) -> None:
        # A turn that was dropped and is added again (undo) is not dropped at all: its row,
        # and so its place among its versions, stays.
        self._pending.pop(("drop", conversation_id, node.id), None)
        self._pending["node", conversation_id, node.id] = lambda db: db.put_node(
            conversation_id, node
        )

    async def save(self, conversation: Conversation, nodes: Iterable[Node] = ()) -> bool:
        """Like `save_soon`, returning when it was tried; True when it is on the disk."""
        self.save_soon(conversation, nodes)
        await self.flush()
        return not self._failing

    async def save_whole(self, conversations: Iterable[Conversation]) -> bool:
        """Heads and all turns, for imports; replaces what a deleted one left behind."""
        for conversation in conversations:
            self._pending["clear", conversation.id] = _clearer(conversation.id)
            self.save_soon(conversation, conversation.nodes.values())
        await self.flush()
        return not self._failing

    def drop_nodes(self, conversation: Conversation, ids: Iterable[str]) -> None:
        """Queues the removal of turns (undo: `save_soon` them again)."""
        for node_id in ids:
            self._pending.pop(("node", conversation.id, node_id), None)
            self._pending["drop", conversation.id, node_id] = _dropper(conversation.id, node_id)
        self.save_soon(conversation)

    def delete(self, conversation_id: str) -> None:
        """Hides a conversation; it is purged at the end of the session unless restored."""
        self._mark(conversation_id, True)

    def restore(self, conversation_id: str) -> None:
        self._mark(conversation_id, False)

    def _mark(self, conversation_id: str, deleted: bool) -> None:
        key = ("deleted", conversation_id)
        self._pending.pop(key, None)
        self._pending[key] = lambda db: db.mark_deleted(conversation_id, deleted)
        self._kick()

    def set_value(self, name: str, value: object) -> None:
        data = to_json(value)
        self._pending[("value", name)] = lambda db: db.put_value(name, data)
        self._kick()

    def set_open_tabs(self, tabs: OpenTabs) -> None:
        self.set_value("open_tabs", tabs)

    def _kick(self) -> None:
        if not self._closed and (self._flushing is None or self._flushing.done()):
            self._start_flush()

    def _start_flush(self) -> asyncio.Task[None]:
        task = self._flushing = asyncio.get_running_loop().create_task(self._flush_once())
        task.add_done_callback(tell_failure)
        return task

    async def flush(self) -> None:
        """Returns when everything queued before the call was written or has failed once."""
        while self._flushing is not None and not self._flushing.done():
            await asyncio.shield(self._flushing)
            if self._failing:
                break
        if self._pending and not self._closed:
            await asyncio.shield(self._start_flush())

    async def _flush_once(self) -> None:
        report = OpenReport()
        while self._pending:
            batch = dict(self._pending)
            try:
                await self._run(lambda b=batch: self._write(b, report))  # type: ignore[misc]
            except (sqlite3.Error, OSError) as error:
                self._failed(error)
                break
            for key, write in batch.items():
                if self._pending.get(key) is write:
                    del self._pending[key]
            if self._failing:
                self._failing = False
                self.on_problem("history_saved_again", {})
        for code in report.codes:
            self.on_problem(code, report.params)

    def _write(self, batch: dict[tuple[str, ...], Write], report: OpenReport) -> None:
        database = self._database

        def work() -> None:
            for write in batch.values():
                write(database)

        for attempt in range(3):
            try:
                database.transaction(work)
                return
            except _BAD_VALUE:
                _write_singly(database, batch)
                return
            except sqlite3.DatabaseError as error:
                if is_damage(error) and attempt == 0:
                    database.recover(report)
                elif attempt == 2 or not isinstance(error, sqlite3.OperationalError):
                    raise
                else:
                    time.sleep(0.05 * (attempt + 1))

    def _failed(self, error: Exception) -> None:
        if not self._failing:
            self._failing = True
            self.on_problem("history_not_saved", {"detail": str(error)})
        if self._retry is not None:
            self._retry.cancel()
        if not self._closed:
            loop = asyncio.get_running_loop()
            self._retry = loop.call_later(RETRY_SECONDS, self._kick)


def _dropper(conversation_id: str, node_id: str) -> Write:
    return lambda db: db.drop_nodes(conversation_id, (node_id,))


def _clearer(conversation_id: str) -> Write:
    return lambda db: db.clear(conversation_id)


def _write_singly(database: HistoryDatabase, batch: dict[tuple[str, ...], Write]) -> None:
    """Each write on its own, so that one impossible value does not hold up the rest."""
    for key, write in batch.items():
        try:
            database.transaction(lambda w=write: w(database))  # type: ignore[misc]
        except _BAD_VALUE:
            _log.exception("one %s could not be stored", key[0])
