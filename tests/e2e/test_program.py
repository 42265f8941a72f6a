"""The whole program around a scripted engine: what the window offers when things go wrong."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

import msgspec
import pytest
from PySide6.QtWidgets import QApplication, QLabel

import resources
from app import attachments, chat_offers, engine_run, paths
from app.chat_state import ChatState
from app.conversation import Attachment, TurnStatus
from app.engine_state import Phase
from app.settings import SettingsStore
from engine.errors import BackendError, EngineCrashed, LoadError
from engine.types import Backend
from tests.e2e.scenarios import Person
from tests.fakes.scripted_engine import Crash, Fail, Say, ScriptedEngine, Wait
from tests.fakes.window_run import Run, run_window
from ui.load_dialog import LoadDialog

DEMO = str(resources.DEMO_MODEL)


@pytest.fixture
def run(qapp: QApplication, tandem_home: Path) -> Run:
    return partial(run_window, qapp)


def labels(me: Person) -> list[str]:
    notice = me.services.notices.current
    return [a.label for a in notice.actions] if notice is not None else []


def test_a_message_that_does_not_fit_comes_back_with_ways_on(run: Run) -> None:
    engine = ScriptedEngine([[Say("a")], [Say("b")], [Fail("message_too_long")]])

    async def body(me: Person) -> None:
        await me.ready()
        await me.ask("one")
        await me.ask("two")
        await me.send("much too long")
        await me.until(lambda: me.notice() == "too_long")
        assert me.page.draft() == "much too long"
        assert len(me.page.turns()) == 4
        assert labels(me) == ["Send in a new chat", "Larger context…", "Drop oldest turns"]
        await me.press("Drop oldest turns")
        await me.until(lambda: len(me.page.turns()) == 6 and not me.chat.busy)
        assert [m.text for m in engine.requests[-1].history] == ["two", "b"]
        assert me.page.turns()[0].dropped
        assert me.page.draft() == ""

    run(engine, body)


def test_a_message_that_does_not_fit_can_go_to_a_new_chat(run: Run) -> None:
    engine = ScriptedEngine([[Say("a")], [Fail("message_too_long")], [Say("c")]])

    async def body(me: Person) -> None:
        await me.ready()
        old, page = me.chat, me.page
        old.change_settings(msgspec.structs.replace(old.settings, system="Be brief."))
        await me.ask("one")
        await me.send("much too long")
        await me.until(lambda: me.notice() == "too_long")
        file = Attachment(kind="image", file="ab" * 16 + ".png", name="cat.png", bytes=1)
        old.set_draft_files((file,))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(attachments, "refusal", lambda _kind, _loaded: "")
            await me.press("Send in a new chat")
            await me.until(lambda: me.chat is not old and len(me.page.turns()) == 2)
        await me.until(lambda: not me.chat.busy)
        assert me.page.turns()[0].text == "much too long"
        assert me.chat.conversation.path()[0].attachments == (file,)
        assert (engine.requests[-1].history, engine.requests[-1].system) == ((), "Be brief.")
        assert len(page.turns()) == 2
        assert (page.draft(), old.conversation.draft, old.conversation.draft_files) == ("", "", ())

    run(engine, body)


def test_an_answer_that_does_not_move_on_is_said(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_offers, "STALLED_S", 0.2)
    engine = ScriptedEngine([[Say("a"), Wait(60)]])

    async def body(me: Person) -> None:
        await me.ready()
        await me.send("hello")
        await me.until(lambda: me.notice() == "stalled")
        assert labels(me) == ["Stop", "Restart engine"]
        me.chat.stop()
        await me.until(lambda: not me.chat.busy)
        assert me.notice() != "stalled"
        assert me.last().status is TurnStatus.STOPPED

    run(engine, body)


def test_a_chat_closed_while_it_writes_is_not_called_stalled(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chat_offers, "STALLED_S", 0.2)
    engine = ScriptedEngine([[Say("a"), Wait(60)]])

    async def body(me: Person) -> None:
        await me.ready()
        await me.send("hello")
        await me.until(lambda: me.notice() == "stalled")
        offers = me.program.services.chats.offers
        me.program.services.chats.close(me.chat.key)
        assert me.notice() != "stalled"
        assert not offers._watching
        for _ in range(8):
            await asyncio.sleep(0.2)
            assert me.notice() != "stalled"

    run(engine, body)


def test_the_engine_hears_of_a_message_that_is_being_written(run: Run) -> None:
    engine = ScriptedEngine([[Say("a"), Wait(60)], [Say("b")]])

    async def body(me: Person) -> None:
        await me.ready()
        await me.send("one")
        await me.until(lambda: me.chat.state is ChatState.DECODING)
        engine.expected.clear()
        me.type("and")
        assert engine.expected == [me.chat.key], "once a second"
        await me.until(lambda: me.chat.conversation.draft == "and")
        me.chat.stop()
        assert engine.expected == [me.chat.key] * 2, "written before the Stop"
        await me.until(lambda: not me.chat.busy)
        me.type(" then?")
        assert engine.expected == [me.chat.key] * 3, "and after it"
        me.page.clear_draft()
        await me.ask("two")

    run(engine, body)


def test_an_engine_deaf_to_stop_is_ended_and_the_chat_goes_on(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_run, "STOP_DEADLINE_S", 0.3)
    engine = ScriptedEngine([[Say("part"), Wait(60, deaf=True)]])

    async def body(me: Person) -> None:
        await me.ready()
        await me.send("hello")
        await me.until(lambda: me.last().text)
        me.chat.stop()
        assert me.page.composer.view().state == "stopping"
        await me.until(lambda: me.notice() == "unresponsive")
        assert (me.last().text, me.last().status) == ("part", TurnStatus.STOPPED)
        assert (await me.ask("again")).status is TurnStatus.DONE
        assert me.services.settings.value.crashed == ()

    run(engine, body)


def test_two_failures_in_a_row_offer_a_restart(run: Run) -> None:
    engine = ScriptedEngine([[Fail()], [Fail()]])

    async def body(me: Person) -> None:
        await me.ready()
        await me.ask("one")
        assert me.notice() != "failing"
        await me.ask("two")
        await me.until(lambda: me.notice() == "failing")
        await me.press("Restart engine")
        await me.until(lambda: len(engine.loads) == 2)
        await me.ready()
        assert (await me.ask("three")).status is TurnStatus.DONE
        assert len([t for t in me.page.turns() if t.role == "user"]) == 3

    run(engine, body)


def test_a_gpu_that_cannot_be_used_offers_the_cpu(run: Run) -> None:
    engine = ScriptedEngine(load_results=[0.0, BackendError("no_gpu_adapter", "No adapters")])

    async def body(me: Person) -> None:
        await me.ready()
        await me.services.models.load(me.services.models.options_for(DEMO, Backend.GPU))
        assert me.notice() == "load_failed"
        assert "Use CPU" in labels(me)
        assert me.services.models.flow.check.reason(Backend.GPU)
        notice = me.services.notices.current
        assert notice is not None
        assert notice.detail == "No adapters"
        await me.press("Use CPU")
        await me.ready()
        assert engine.loads[-1].backend is Backend.CPU
        assert me.notice() != "load_failed"

    run(engine, body)


def test_a_load_that_fails_can_be_tried_without_a_cache(run: Run) -> None:
    engine = ScriptedEngine(load_results=[LoadError("cache_failed", "could not map")])

    async def body(me: Person) -> None:
        await me.until(lambda: me.notice() == "load_failed")
        assert me.services.state.phase is Phase.NONE
        await me.press("Load without cache")
        await me.ready()
        assert engine.loads[-1].cache == "no"

    run(engine, body)


def test_a_combination_that_crashed_is_not_loaded_by_itself(run: Run) -> None:
    store = SettingsStore(paths.resolve().settings_file)
    store.remember_model(DEMO, Backend.CPU)
    store.remember_crash(DEMO, Backend.CPU, "signal 6 (abort)")
    store.change(chat=store.value.chat)
    store.save_now()
    engine = ScriptedEngine()

    async def body(me: Person) -> None:
        await me.until(lambda: me.notice() == "not_auto_loaded")
        assert engine.loads == []
        assert "signal 6" in str(me.services.notices.current)
        me.window.action("load_settings").trigger()
        await me.until(lambda: me.dialog(LoadDialog))
        told = [x.text() for x in me.dialog(LoadDialog).findChildren(QLabel)]
        assert any("signal 6" in text for text in told), told
        me.dialog(LoadDialog).reject()
        await me.press("Load anyway")
        await me.ready()
        assert (await me.ask("hello")).status is TurnStatus.DONE
        assert me.services.settings.value.crashed == ()

    run(engine, body)


def test_a_crash_while_loading_is_told_and_remembered(run: Run) -> None:
    engine = ScriptedEngine(load_results=[EngineCrashed(exit="signal 11 (segmentation fault)")])

    async def body(me: Person) -> None:
        await me.until(lambda: me.notice() == "crashed")
        assert "signal 11" in str(me.services.notices.current)
        found = me.services.settings.crashed_with(DEMO, Backend.CPU)
        assert found is not None
        assert len(engine.loads) == 1
        await asyncio.sleep(0.3)
        assert len(engine.loads) == 1

    run(engine, body)


def test_crashes_name_model_and_backend_in_the_turn(run: Run) -> None:
    async def body(me: Person) -> None:
        await me.ready()
        node = await me.ask("hello")
        assert node.status is TurnStatus.FAILED
        assert "on CPU ended with signal 6" in node.error
        assert not me.chat.gauge.live
        assert me.chat.state is ChatState.FAILED
        assert me.page.composer.view().busy is False

    run(ScriptedEngine([[Say("half"), Crash()]]), body)


def test_the_numbers_under_an_answer_can_be_hidden(run: Run) -> None:
    async def body(me: Person) -> None:
        await me.ready()
        await me.ask("hello")
        assert me.page.turns()[-1].footer is not None
        me.services.settings.change(show_footer=False)
        assert me.page.turns()[-1].footer is None
        me.services.settings.change(show_footer=True)
        assert me.page.turns()[-1].footer is not None

    run(ScriptedEngine(), body)


def test_a_model_that_is_gone_is_replaced_by_the_demo(run: Run, tmp_path: Path) -> None:
    store = SettingsStore(paths.resolve().settings_file)
    store.remember_model(str(tmp_path / "gone.litertlm"), Backend.GPU)
    store.save_now()
    engine = ScriptedEngine()

    async def body(me: Person) -> None:
        await me.ready()
        assert engine.loads[0].model_path == DEMO
        assert engine.loads[0].backend is Backend.CPU

    run(engine, body)


def test_closing_a_busy_tab_forgets_it_and_keeps_the_text(run: Run) -> None:
    engine = ScriptedEngine([[Say("part"), Wait(30)]])

    async def body(me: Person) -> None:
        await me.ready()
        await me.send("hello")
        await me.until(lambda: me.last().text)
        chat = me.chat
        me.window.action("close_tab").trigger()
        assert me.services.chats.chat(chat.key) is None
        await me.until(lambda: chat.key in engine.forgotten)
        kept = await me.services.history.load(chat.key)
        assert kept is not None
        assert kept.path()[-1].text == "part"
        assert kept.path()[-1].status is TurnStatus.STOPPED

    run(engine, body)
