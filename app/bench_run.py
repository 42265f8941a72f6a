"""One comparison at a time on the engine worker, with progress in the main thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from app.bench import progress_line, report
from app.bench.records import Plan, Progress, Record
from app.bench.runner import Cancelled, Runner
from app.services import Services
from engine.errors import EngineError
from engine.protocol import Engine
from ui import bench_strings as words
from ui.bench_views import ProgressView


class BenchRun:
    """Main thread. `on_progress` gets what to show while `running`."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._runner: Runner | None = None
        self._waiting: asyncio.Future[None] | None = None
        self._stopping = False
        self._over = asyncio.Event()
        self._over.set()
        self._last: ProgressView | None = None
        self.on_progress: Callable[[ProgressView], None] = lambda _view: None

    @property
    def running(self) -> bool:
        return not self._over.is_set()

    async def compare(self, plan: Plan) -> tuple[Record | None, str]:
        """Runs a plan; the record (whole or partial) and a sentence if something went wrong.
        Waits for the engine slot first."""
        self._over.clear()
        self._stopping = False
        self._show(ProgressView(title=words.COMPARING, text=words.WAITING))
        loop = self._services.loop

        def on_progress(event: Progress) -> None:
            loop.call_soon_threadsafe(self._on_event, event)

        def work(engine: Engine) -> Record | EngineError:
            runner = Runner(engine, plan, on_progress)
            self._runner = runner
            if self._stopping:
                raise Cancelled
            try:
                return runner.run()
            except EngineError as error:
                return error  # not the engine of the chats: those get their model back

        self._waiting = loop.create_future()
        try:
            found = await self._services.engine.run_exclusive(work, stop=self._waiting)
        except Cancelled:
            return None, words.CANCELLED_EMPTY
        except EngineError as error:
            found = error
        finally:
            self._runner = self._waiting = None
            self._over.set()
        if isinstance(found, Record):
            return found, ""
        if self._stopping:
            return None, words.CANCELLED_EMPTY
        return None, report.sentence(found.info(), plan)

    def cancel(self) -> None:
        """Stops as soon as the engine lets go, at once while it only waits; what was measured
        is kept."""
        if not self.running:
            return
        self._stopping = True
        if self._last is not None:
            self._show(self._last)
        if self._runner is not None:
            self._runner.cancel()
        elif self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    async def close(self) -> None:
        """For quitting: cancels and waits."""
        self.cancel()
        await self._over.wait()

    def _on_event(self, event: Progress) -> None:
        if self.running:
            share = event.done / event.total if event.total else None
            text = progress_line.describe(event)
            self._show(ProgressView(title=words.COMPARING, text=text, share=share))

    def _show(self, view: ProgressView) -> None:
        self._last = ProgressView(
            title=view.title, text=view.text, share=view.share, stopping=self._stopping
        )
        self.on_progress(self._last)
