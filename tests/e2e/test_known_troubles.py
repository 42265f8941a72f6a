"""What the window says of troubles that have a name: crashes with a cause, faulty files, a drafter
that loads late. The whole program around a scripted engine."""

from __future__ import annotations

import hashlib
from functools import partial
from pathlib import Path

import msgspec
import pytest
from PySide6.QtWidgets import QApplication

import resources
from app.library import service
from app.library.known_problems import KnownFile
from engine.errors import EngineCrashed
from engine.types import SpecMode
from tests.e2e.scenarios import Person
from tests.fakes.scripted_engine import Say, ScriptedEngine, Wait
from tests.fakes.window_run import Run, run_window
from ui import model_strings, strings_report
from ui import strings_core as words

PIECES = "Hello!\u0120\u00f0\u0141\u013a\u012c"
"""How a smiley comes out of a file with a wrongly converted tokenizer."""


@pytest.fixture
def run(qapp: QApplication, tandem_home: Path) -> Run:
    return partial(run_window, qapp)


@pytest.mark.parametrize(
    ("exit_words", "log", "cause", "cacheless"),
    [
        ("signal 6 (abort)", "memory allocation of 128 bytes failed", "memory", False),
        ("signal 6 (abort)", "weight cache: cannot append buffer to cache file", "disk_full", True),
        ("signal 4 (illegal instruction)", "", "processor", False),
    ],
)
def test_a_crash_names_its_likely_cause_and_a_way_on(
    run: Run, exit_words: str, log: str, cause: str, cacheless: bool
) -> None:
    engine = ScriptedEngine(load_results=[EngineCrashed("crashed", log, exit=exit_words)])

    async def body(me: Person) -> None:
        await me.until(lambda: me.notice() == "crashed")
        notice = me.services.notices.current
        assert notice is not None
        assert notice.text.endswith(strings_report.CAUSES[cause])
        offered = [a.label for a in notice.actions]
        assert (words.CACHE_OFF in offered) is cacheless
        if cacheless:
            await me.press(words.CACHE_OFF)
            await me.ready()
            assert engine.loads[-1].cache == "no"

    run(engine, body)


def test_a_file_known_to_be_faulty_is_told_and_its_text_stays(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = resources.DEMO_MODEL.read_bytes()
    entry = KnownFile(name="", bytes=len(data), sha256=hashlib.sha256(data).hexdigest(),
                      problem="byte_pieces", source="https://example.org")  # fmt: skip
    monkeypatch.setattr(service, "load", lambda: (entry,))
    engine = ScriptedEngine(default=PIECES)

    async def body(me: Person) -> None:
        await me.ready()
        await me.until(lambda: any(n.key == "known_problem" for n in me.services.notices.open))
        notice = next(n for n in me.services.notices.open if n.key == "known_problem")
        assert notice.text == model_strings.KNOWN_PROBLEMS["byte_pieces"]
        me.services.notices.dismiss("known_problem")
        answer = await me.ask("Smile!")
        assert answer.text == PIECES
        assert me.page.turns()[-1].text == PIECES, "nothing is guessed"
        me.window.select_tab("models")
        library = me.program.library
        await me.until(lambda: library.library.found)
        card = library.tab.card(str(resources.DEMO_MODEL))
        await me.until(lambda: model_strings.KNOWN_PROBLEM in card.view().line)
        me.services.models.restart()
        await me.until(lambda: len(engine.loads) == 2)
        await me.ready()
        await me.until(lambda: not library._tasks)
        assert all(n.key != "known_problem" for n in me.services.notices.open), "said once"

    run(engine, body)


def waiting(me: Person) -> str:
    turns = me.page.turns()
    return turns[-1].waiting if turns else ""


def test_the_first_drafting_answer_says_that_the_drafter_loads(run: Run) -> None:
    """Also after each load; an engine that was loaded with it has it already."""
    engine = ScriptedEngine([[Wait(0.3), Say("a")] for _ in range(5)])

    async def waits(me: Person) -> str:
        await me.send("Hello")
        await me.until(lambda: waiting(me) in ("prefill", "drafter"))
        said = waiting(me)
        await me.until(lambda: not me.chat.busy)
        return said

    async def body(me: Person) -> None:
        await me.ready()
        assert await waits(me) == "prefill"
        me.services.chats.set_spec(me.chat.key, SpecMode.ON)
        assert await waits(me) == "drafter"
        assert await waits(me) == "prefill", "it is there now"
        models = me.services.models
        models.restart()
        await me.until(lambda: len(engine.loads) == 2)
        await me.ready()
        assert await waits(me) == "drafter", "a new engine has none"
        assert models.picked is not None
        await models.load(msgspec.structs.replace(models.picked, speculative=True, threads=1))
        assert await waits(me) == "prefill"

    run(engine, body)
