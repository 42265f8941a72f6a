"""The whole vertical in the real window with an engine of invented speeds."""

from __future__ import annotations

import asyncio
import os
import threading
import time
import warnings
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication

from app import paths
from app.gui import Program
from app.paths import Paths
from engine.protocol import Engine
from engine.types import Backend, GenerateRequest, Outcome, SpecMode
from tests.fakes.paced_engine import PacedEngine
from ui import bench_strings as words

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import qasync

Scenario = Callable[[Program], Awaitable[None]]


async def until(check: Callable[[], object], seconds: float = 100.0) -> None:
    deadline = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < deadline, "did not happen in time"
        await asyncio.sleep(0.01)


class Person:
    """Runs a scenario in a fresh program and quits it properly."""

    def __init__(self, app: QApplication, where: Paths) -> None:
        self._app = app
        self._where = where

    def run(self, engine: Engine, scenario: Scenario) -> None:
        loop = qasync.QEventLoop(self._app)
        asyncio.set_event_loop(loop)
        failures: list[dict[str, object]] = []
        loop.set_exception_handler(lambda _loop, context: failures.append(context))
        try:
            with loop:
                loop.run_until_complete(self._run(loop, engine, scenario))
        finally:
            asyncio.set_event_loop(None)
        assert failures == []

    async def _run(
        self, loop: asyncio.AbstractEventLoop, engine: Engine, scenario: Scenario
    ) -> None:
        program = Program(self._where, loop, lambda: engine)
        program.start()
        try:
            await until(lambda: program.services.state.loaded is not None)
            await asyncio.wait_for(scenario(program), 200)
        finally:
            program.services.lifecycle.quit()
            await program.services.lifecycle.run()
            program.dispose()


@pytest.fixture
def person(qapp: QApplication, tandem_home: Path) -> Person:
    return Person(qapp, paths.resolve(dict(os.environ)))


def faster(request: GenerateRequest, n: int) -> float:
    return (80.0 if request.speculative else 50.0) + n % 3 * 0.1


async def compare(program: Program, classes: tuple[str, ...] = ("code",)) -> None:
    """Opens the tab, ticks the classes and clicks Compare."""
    program.window.select_tab("benchmark")
    tab = program.benchmark.pages.tab
    await until(tab.setup.compare_button.isEnabled)
    tab.setup.set_workloads(classes)
    tab.setup.compare_button.click()
    await until(lambda: program.benchmark.run.running)


def test_a_comparison_from_the_button_to_auto(person: Person, demo_model: Path) -> None:
    async def scenario(program: Program) -> None:
        model = str(demo_model)
        assert not program.benchmark.choice(model, Backend.CPU).measured
        await compare(program)
        await until(lambda: program.benchmark.library.entries)
        tab = program.benchmark.pages.tab
        await until(tab.result.isVisible)
        await until(lambda: not tab.progress.isVisible())
        assert tab.result.verdict.number.text() == "1.60×"
        assert tab.history.list.count() == 1
        choice = program.benchmark.choice(model, Backend.CPU)
        assert choice.on
        assert program.services.chat_context.auto_choice(model, Backend.CPU)
        assert not program.services.chat_context.auto_choice(model, Backend.GPU)
        assert program.services.chats.spec_texts()[SpecMode.ON] == "80.1 tok/s here"
        await until(lambda: program.services.state.loaded is not None)

    person.run(PacedEngine(speed=faster), scenario)


def test_the_menu_opens_the_tab_aimed_at_the_model_in_use(person: Person, demo_model: Path) -> None:
    async def scenario(program: Program) -> None:
        program.window.action("measure").trigger()
        assert program.window.current_tab() == "benchmark"
        await until(program.benchmark.pages.tab.setup.compare_button.isEnabled)
        view = program.benchmark.target.view()
        assert (view.path, view.backend, view.problem) == (str(demo_model), Backend.CPU, "")

    person.run(PacedEngine(), scenario)


def test_model_without_drafter_cannot_be_compared(person: Person, plain_model: Path) -> None:
    async def scenario(program: Program) -> None:
        program.benchmark.measure(str(plain_model), Backend.CPU)
        setup = program.benchmark.pages.tab.setup
        await until(lambda: "no MTP drafter" in setup.compare_button.toolTip())
        assert not setup.compare_button.isEnabled()

    person.run(PacedEngine(), scenario)


def test_nothing_appears_in_a_chat_and_the_model_comes_back(person: Person) -> None:
    engine = PacedEngine(speed=faster)

    async def scenario(program: Program) -> None:
        chat = program.services.chats.current()
        await compare(program)
        await until(lambda: program.benchmark.library.entries)
        await until(lambda: program.services.state.loaded is not None)
        assert chat.conversation.nodes == {}
        assert all(r.chat_key.startswith("bench-") for r in sends(engine))

    person.run(engine, scenario)


def sends(engine: PacedEngine) -> list[GenerateRequest]:
    return [entry[1] for entry in engine.log if entry[0] == "send"]  # type: ignore[misc]


class Held(PacedEngine):
    """Lets send number `hold` wait until it is let go or cancelled."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.hold = 6
        self.go = threading.Event()

    def generate(self, request: GenerateRequest, sink: object) -> Outcome:
        if self.sends == self.hold:
            self.go.wait(20)
        return super().generate(request, sink)  # type: ignore[arg-type]

    def cancel(self, run_id: int) -> None:
        super().cancel(run_id)
        self.go.set()


def test_cancel_keeps_partial_results(person: Person) -> None:
    engine = Held(speed=faster)

    async def scenario(program: Program) -> None:
        await compare(program)
        tab = program.benchmark.pages.tab
        await until(lambda: engine.sends == engine.hold)
        assert tab.progress.isVisible()
        tab.progress.cancel.click()
        assert not tab.progress.cancel.isEnabled()
        await until(lambda: program.benchmark.library.entries)
        await until(lambda: words.PARTIAL in tab.result.partial.text())
        assert not program.benchmark.choice(
            program.benchmark.library.entries[0].model, Backend.CPU
        ).on

    person.run(engine, scenario)


def test_cancel_while_it_waits_for_the_engine_is_immediate(person: Person) -> None:
    engine = Held(speed=faster)
    engine.hold = 0

    async def scenario(program: Program) -> None:
        service = program.services.engine
        held = asyncio.ensure_future(
            service.run_exclusive(lambda _engine: engine.go.wait(60), keeps_model=True)
        )
        await until(lambda: program.services.state.engine.exclusive)
        await compare(program)
        tab = program.benchmark.pages.tab
        assert tab.progress.text.text() == words.WAITING
        tab.progress.cancel.click()
        await until(lambda: not program.benchmark.run.running)
        assert not held.done()
        await until(lambda: tab.message.text() == words.CANCELLED_EMPTY)
        engine.go.set()
        await held
        assert engine.sends == 0

    person.run(engine, scenario)


def test_an_engine_that_dies_while_measuring_is_not_the_one_of_the_chats(person: Person) -> None:
    """The comparison tells it; the model in use comes back and is not taken for the culprit."""
    engine = PacedEngine(speed=faster, fail_at=0)

    async def scenario(program: Program) -> None:
        await compare(program)
        tab = program.benchmark.pages.tab
        await until(lambda: "signal 6 (abort)" in tab.message.text())
        assert "Your conversation" not in tab.message.text()
        await until(lambda: program.services.state.loaded is not None)
        notice = program.services.notices.current
        assert notice is None or notice.key != "crashed"

    person.run(engine, scenario)


def test_chats_queue_behind_it_and_it_refuses_while_one_streams(person: Person) -> None:
    engine = Held(speed=faster)
    engine.hold = 0

    async def scenario(program: Program) -> None:
        chat = program.services.chats.current()
        program.services.chats.send(chat.key, "Hello")
        await until(lambda: program.services.chats.busy())
        program.window.select_tab("benchmark")
        tab = program.benchmark.pages.tab
        await until(tab.setup.compare_button.isEnabled)
        tab.setup.compare_button.click()
        assert tab.message.text() == words.BUSY
        assert not program.benchmark.run.running
        engine.go.set()
        await until(lambda: not program.services.chats.busy())
        engine.hold = engine.sends + 3
        engine.go.clear()
        await compare(program)
        await until(lambda: engine.sends == engine.hold)
        program.services.chats.send(chat.key, "And now?")
        await asyncio.sleep(0.1)
        assert all(r.message.text != "And now?" for r in sends(engine))
        engine.go.set()
        await until(lambda: any(r.message.text == "And now?" for r in sends(engine)))
        assert sends(engine)[-1].message.text == "And now?", "after the whole comparison"
        await until(lambda: program.benchmark.library.entries)
        assert program.benchmark.library.entries[0].complete
        await until(lambda: not program.services.chats.busy())

    person.run(engine, scenario)


def test_quit_in_the_middle_is_quick(person: Person) -> None:
    engine = Held(speed=faster)
    ended: list[float] = []

    async def scenario(program: Program) -> None:
        await compare(program)
        await until(lambda: engine.sends == engine.hold)
        ended.append(time.monotonic())

    person.run(engine, scenario)
    assert time.monotonic() - ended[0] < 10


def test_baseline_notes_delete_and_undo(person: Person) -> None:
    async def scenario(program: Program) -> None:
        await compare(program)
        library = program.benchmark.library
        await until(lambda: library.entries)
        tab = program.benchmark.pages.tab
        await until(tab.result.isVisible)
        record_id = library.entries[0].id
        tab.result.baseline.click()
        await until(lambda: library.entries[0].baseline)
        tab.notes_changed.emit(record_id, "on battery")
        await until(lambda: library.entries[0].notes == "on battery")
        tab.delete_requested.emit(record_id)
        await until(lambda: not library.entries)
        await until(tab.empty.isVisible)
        notice = program.services.notices.current
        assert notice is not None
        notice.actions[0].run()
        await until(lambda: library.entries)
        assert library.entries[0].notes == "on battery"
        assert library.entries[0].baseline

    person.run(PacedEngine(speed=faster), scenario)


def test_copy_and_save(person: Person, tmp_path: Path) -> None:
    async def scenario(program: Program) -> None:
        await compare(program)
        await until(lambda: program.benchmark.library.entries)
        pages = program.benchmark.pages
        await until(pages.tab.result.isVisible)
        pages.tab.result.copy_row.click()
        assert QApplication.clipboard().text().startswith("| backend |")
        for kind in ("csv", "json", "png", "svg"):
            target = tmp_path / f"out.{kind}"
            await pages.save(kind, str(target))
            assert target.stat().st_size > 100
        await pages.save("csv", str(tmp_path / "none" / "out.csv"))
        assert "could not be saved" in pages.tab.message.text()

    person.run(PacedEngine(speed=faster), scenario)


def test_real_use_is_told_under_the_chat(person: Person) -> None:
    async def scenario(program: Program) -> None:
        chats = program.services.chats
        chat = chats.current()
        assert chat is not None
        page = chats.page(chat.key)
        assert page is not None
        for mode in (SpecMode.OFF, SpecMode.ON):
            chats.set_spec(chat.key, mode)
            for _ in range(3):
                assert not page.hint.isVisible(), "too few answers to say anything"
                assert chats.send(chat.key, "How are you?")
                await chat.wait()
        await until(page.hint.isVisible)
        assert "off 50.0 tok/s (3 answers), on 80.0 tok/s (3 answers)" in page.hint.text()
        assert "not a measurement" in page.hint.text()
        program.window.select_tab("benchmark")
        tab = program.benchmark.pages.tab
        await until(tab.hint.isVisible)
        assert tab.hint.text() == page.hint.text()

    person.run(PacedEngine(speed=lambda r, _n: 80.0 if r.speculative else 50.0), scenario)
