"""The real window with an engine library that misbehaves on purpose.

`python -m tests.e2e.drive_misbehaving NAME...`; TANDEM_ENGINE_LIBRARY names the stand-in of
`tests.fakes.native`, which does what "scenario:X" in a message says. After each one there is
exactly one outcome with one sentence, and the window can be used. A failed `assert` ends the
process with code 1.
"""

from __future__ import annotations

import os
import sys

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from app import chat_offers
from app.chat_state import ChatState
from app.conversation import Node, TurnStatus
from app.engine_state import Phase
from engine.types import Backend
from tests.e2e.scenarios import Person, Scenario, play

SMILE = "\N{SMILING FACE WITH SMILING EYES}"
WHOLE = {
    "bad_utf8": None,
    "not_json": "plain words",
    "null_text": "after null",
    "split_units": f"{SMILE} ok",
    "split_bytes": SMILE,
    "split_points": "\N{WOMAN}\u200d\N{WOMAN}e\u0301\N{ARABIC LETTER MEEM}",
    "half_end": "end \ufffd",
    "two_finals": "once",
    "stop_loop": "The answer.",
    "marker_in_code": "Use `<|im_end|>` to end a turn.",
    "slow_prefill": "slow but fine",
}
BROKEN = ("error", "error_and_final", "error_not_final", "inside", "refuse", "empty")
DEADLY = ("abort", "segv", "exit", "oom")


def usable(me: Person) -> None:
    """Nothing runs, and Send works again as soon as there is text."""
    assert not me.chat.busy, me.where()
    assert me.chat.state in (ChatState.IDLE, ChatState.FAILED), me.where()
    assert not me.page.composer.view().busy
    assert me.page.turns()[-1].status != "streaming"


async def scenario(me: Person, name: str) -> Node:
    answer = await me.ask(f"scenario:{name}")
    usable(me)
    assert answer.status is not TurnStatus.STREAMING
    shown = me.page.turns()[-1]
    assert shown.text == answer.text
    if answer.status is TurnStatus.FAILED:
        assert answer.error.strip(), name
        assert "\n" not in answer.error, answer.error
        assert answer.error.count("INTERNAL:") <= 1
    stored = await stored_text(me, answer.id)
    assert stored == answer.text, (name, stored)
    return answer


async def stored_text(me: Person, node_id: str) -> str:
    await me.services.history.flush()
    kept = await me.services.history.load(me.chat.key)
    assert kept is not None
    return kept.nodes[node_id].text


async def works_again(me: Person) -> None:
    answer = await me.ask("scenario:ok")
    assert answer.status is TurnStatus.DONE, (answer, me.where())
    assert answer.text == "Hello world."


async def restart(me: Person, mode: str = "ok") -> None:
    os.environ["FAKE_LOAD"] = mode
    me.services.models.restart()
    await me.until(lambda: me.services.state.phase is Phase.LOADING)
    await me.until(lambda: me.services.state.phase is not Phase.LOADING)


async def odd_chunks(me: Person) -> None:
    """Chunks no engine should send: the text arrives, nothing is lost, nothing hangs."""
    await me.ready()
    for name, text in WHOLE.items():
        answer = await scenario(me, name)
        assert answer.status is TurnStatus.DONE, (name, answer)
        assert text is None or answer.text == text, (name, answer.text)
        me.window.action("copy_last").trigger()
        assert QApplication.clipboard().text() == answer.text, name
    thoughts = await scenario(me, "only_thoughts")
    assert (thoughts.text, thoughts.thought) == ("", "hmm hmm hmm ")
    assert thoughts.error
    assert me.page.turns()[-1].thought == thoughts.thought
    await works_again(me)


async def flood(me: Person) -> None:
    """20 000 chunks: all there, in order."""
    await me.ready()
    assert (await scenario(me, "flood")).text == "w " * 20_000
    await works_again(me)


async def big(me: Person) -> None:
    """Five megabytes in one word: all there, and the window keeps answering."""
    await me.ready()
    assert len((await scenario(me, "big")).text) == 5 * 1024 * 1024
    me.window.action("new_chat").trigger()
    await works_again(me)


async def errors(me: Person) -> None:
    """Every kind of failed send is one failed turn, and the next message works."""
    await me.ready()
    for name in BROKEN:
        answer = await scenario(me, name)
        assert answer.status is TurnStatus.FAILED, (name, answer)
        await works_again(me)


async def deaths(me: Person) -> None:
    """The engine falls over while writing: text kept, one notice, next message loads it anew."""
    await me.ready()
    for name in DEADLY:
        answer = await scenario(me, name)
        assert (answer.status, answer.text) == (TurnStatus.FAILED, "last words"), (name, answer)
        await me.until(lambda: me.notice() == "crashed")
        notice = me.services.notices.current
        assert notice is not None
        labels = [a.label for a in notice.actions]
        assert "Restart engine" in labels, labels
        assert "Save report…" in labels
        if name == "oom":
            assert "not enough memory" in notice.text, notice.text
        await works_again(me)
        assert me.notice() != "crashed"


async def silence(me: Person) -> None:
    """No final chunk, or nothing at all: said after a while, Stop and Restart engine work."""
    await me.ready()
    chat_offers.STALLED_S = 0.6
    chat_offers.STALLED_PREFILL_S = 0.6
    for name, text in (
        ("no_final", "word " * 5),
        ("silent", ""),
        ("hang_cancel", "I will not stop"),
    ):
        await me.send(f"scenario:{name}")
        await me.until(lambda: me.notice() == "stalled")
        notice = me.services.notices.current
        assert notice is not None
        assert "nothing for" in notice.text
        assert [a.label for a in notice.actions] == ["Stop", "Restart engine"]
        me.type("a draft")
        if name == "silent":
            await me.press("Restart engine")
        else:
            QTest.keyClick(me.page.composer.edit, Qt.Key.Key_Escape)
        await me.until(lambda: not me.chat.busy)
        usable(me)
        assert me.last().text == text, me.last()
        assert me.last().status is TurnStatus.STOPPED, me.last()
        assert me.page.draft() == "a draft"
        me.page.clear_draft()
        assert me.notice() != "stalled"
        if name == "silent":
            await me.ready()
        await works_again(me)


async def late(me: Person) -> None:
    """Chunks and an error wording half a second after Stop change nothing any more."""
    await me.ready()
    await me.send("scenario:late")
    await me.until(lambda: me.last().text)
    QTest.keyClick(me.page.composer.edit, Qt.Key.Key_Escape)
    await me.until(lambda: not me.chat.busy)
    assert (me.last().status, me.last().text) == (TurnStatus.STOPPED, "early")
    await works_again(me)
    await me.send("scenario:late")
    await me.until(lambda: me.last().text)
    gone = me.chat
    me.window.action("delete_chat").trigger()  # deleted while the library still calls
    await me.until(lambda: me.chat is not gone)
    await me.until(lambda: not gone.busy)
    await works_again(me)


async def failing_row(me: Person) -> None:
    """Two failures in a row: Restart engine is offered, works and keeps the chat."""
    await me.ready()
    await works_again(me)
    await scenario(me, "broken_engine")
    assert me.notice() != "failing"
    await scenario(me, "ok")
    await me.until(lambda: me.notice() == "failing")
    turns = len(me.page.turns())
    await me.press("Restart engine")
    await me.until(lambda: me.services.state.phase is Phase.LOADING)
    await me.ready()
    await works_again(me)
    assert len(me.page.turns()) == turns + 2
    assert me.notice() != "failing"


async def loads(me: Person) -> None:
    """Loads that fail, die or hang: one notice each, and the window goes on."""
    await me.ready()
    await works_again(me)
    for mode in ("null", "null_no_reason", "abort", "oom"):
        await restart(me, mode)
        key = "crashed" if mode in ("abort", "oom") else "load_failed"
        await me.until(lambda key=key: me.notice() == key)
        notice = me.services.notices.current
        assert notice is not None
        assert "\n" not in notice.text, notice.text
        usable(me)
    os.environ["FAKE_LOAD"] = "hang"
    me.services.models.restart()
    await me.until(lambda: "Loading" in me.window.header("chat").text_shown())
    await me.until(lambda: me.services.state.phase is Phase.LOADING)
    me.window.cancel_load_requested.emit()
    await me.until(lambda: me.services.state.phase is not Phase.LOADING)
    os.environ["FAKE_LOAD"] = "cache_error"
    await works_again(me)  # loads by itself, without the cache
    assert me.notice() == "loaded_note"
    await restart(me, "hang_delete")
    await restart(me)
    await works_again(me)


async def gpu_crash(me: Person) -> None:
    """The GPU takes the engine down: CPU with one click, and it is remembered."""
    await me.ready()
    os.environ["FAKE_LOAD"] = "gpu_abort"
    me.services.models.use(backend=Backend.GPU)
    await me.until(lambda: me.notice() == "crashed")
    picked = me.services.models.picked
    assert picked is not None
    assert me.services.settings.crashed_with(picked.model_path, Backend.GPU) is not None
    await me.press("Use CPU")
    await me.ready()
    assert me.services.state.backend is Backend.CPU
    await works_again(me)
    me.services.models.use(backend=Backend.GPU)
    await me.until(lambda: me.notice() == "crashed")
    # As if the GPU had been the choice of the last run:
    me.services.settings.change(backend=Backend.GPU, model_path=picked.model_path)


async def gpu_next_start(me: Person) -> None:
    """The next start does not choose the GPU by itself."""
    await me.until(lambda: me.notice() == "not_auto_loaded")
    assert me.services.state.phase is Phase.NONE
    await me.press("Use CPU")
    await me.ready()
    await works_again(me)


SCENARIOS: dict[str, Scenario] = {
    f.__name__: f
    for f in (
        odd_chunks, flood, big, errors, deaths, silence, late, failing_row, loads,
        gpu_crash, gpu_next_start,
    )
}  # fmt: skip


if __name__ == "__main__":
    sys.exit(play(SCENARIOS, sys.argv[1:]))
