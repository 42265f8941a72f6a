"""Fills the Benchmark tab from stored results and does what its buttons ask for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from PySide6.QtGui import QGuiApplication

from app.bench import export, present
from app.bench.library import BenchmarkLibrary
from app.bench.records import Record
from app.notices import Action, Notice
from app.services import Services
from engine.types import Backend
from ui import bench_strings as words
from ui import strings
from ui.benchmark_tab import BenchmarkTab
from ui.main_window import MainWindow

UNDO_S = 10.0


class BenchPages:
    """Main thread; made with the tab."""

    def __init__(
        self,
        window: MainWindow,
        services: Services,
        library: BenchmarkLibrary,
        keep: Callable[[Coroutine[Any, Any, object]], None],
    ) -> None:
        self._window = window
        self._services = services
        self._library = library
        self._keep = keep
        self._record: Record | None = None
        self._baseline: Record | None = None
        self.tab = BenchmarkTab()
        tab = self.tab
        tab.result_selected.connect(lambda i: keep(self.select(i)))
        tab.filter_changed.connect(lambda _model, _backend: self.refresh())
        tab.baseline_requested.connect(lambda i, on: keep(self._set_baseline(i, on)))
        tab.delete_requested.connect(lambda i: keep(self._delete(i)))
        tab.notes_changed.connect(lambda i, text: keep(self._set_notes(i, text)))
        tab.copy_requested.connect(self._copy)
        tab.save_requested.connect(self._save)

    def refresh(self) -> None:
        """Shows the list, filtered as chosen, and the result again (its history may differ)."""
        model, backend = self.tab.history.filter()
        entries = self._library.entries
        shown = [e for e in entries if self._passes(e.model, e.backend, model, backend)]
        selected = self._record.id if self._record else ""
        self.tab.set_history(present.history_view(entries, shown, selected))
        self._show()

    async def select(self, record_id: str) -> None:
        """Shows one stored comparison."""
        record = await self._library.get(record_id)
        if record is None:
            return
        self._record = record
        base = next(
            (e.id for e in self._library.entries if e.baseline and e.model == record.model), ""
        )
        self._baseline = await self._library.get(base) if base else None
        self.refresh()

    def _passes(self, model: str, on: Backend, wanted: str, backend: Backend | None) -> bool:
        return wanted in ("", model) and backend in (None, on)

    def _show(self) -> None:
        record = self._record
        if record is None:
            self.tab.set_result(None)
            return
        entries = self._library.entries
        self.tab.set_result(present.result_view(record, entries, self._baseline))

    async def _set_baseline(self, record_id: str, on: bool) -> None:
        await self._library.set_baseline(record_id, on=on)
        if self._record is not None:
            await self.select(self._record.id)

    async def _set_notes(self, record_id: str, text: str) -> None:
        await self._library.set_notes(record_id, text)
        if self._record is not None and self._record.id == record_id:
            await self.select(record_id)

    async def _delete(self, record_id: str) -> None:
        gone = await self._library.delete(record_id)
        if self._record is not None and self._record.id == record_id:
            self._record = self._baseline = None
            left = self._library.entries
            if left:
                await self.select(left[0].id)
            else:
                self.refresh()
        if gone is not None:
            undo = Action(strings.UNDO, lambda: self._keep(self._restore(gone)))
            self._services.notices.post(
                Notice("benchmark_deleted", words.DELETED, actions=(undo,), seconds=UNDO_S)
            )

    async def _restore(self, record: Record) -> None:
        await self._library.add(record)
        await self.select(record.id)

    def _copy(self, kind: str) -> None:
        record = self._record
        if record is None:
            return
        texts = {
            "row": export.markdown_row,
            "table": export.table,
            "command": lambda r: export.reproduce(r.plan),
        }
        make: Callable[[Record], str] = texts[kind]
        QGuiApplication.clipboard().setText(make(record))

    def _save(self, kind: str) -> None:
        record = self._record
        if record is None:
            return
        stem = f"{record.model}-{record.environment.backend.value}".replace("/", "-")
        dialog = self.tab.ask_file(kind, f"{stem}.{kind}")
        dialog.fileSelected.connect(lambda path: self._keep(self.save(kind, path)))

    async def save(self, kind: str, path: str) -> None:
        """Writes the shown comparison (or its picture) to a file; says how it went."""
        record = self._record
        if record is None:
            return
        try:
            if kind in ("png", "svg"):
                self.tab.result.save_picture(path)
            else:
                text = export.to_csv([record]) if kind == "csv" else export.to_json(record)
                loop = asyncio.get_running_loop()
                await loop.run_in_executor(
                    self._services.executor, lambda: Path(path).write_text(text, encoding="utf-8")
                )
        except OSError as problem:
            reason = problem.strerror or str(problem)
            self.tab.set_message(words.SAVE_FAILED.format(name=Path(path).name, reason=reason))
        else:
            notice = words.SAVED.format(name=Path(path).name)
            self._services.notices.post(Notice("benchmark_saved", notice, seconds=5.0))
