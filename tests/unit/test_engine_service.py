"""The slot, its queue and what happens to runs when the engine stops, hangs or dies."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from app.engine_service import EngineService
from app.engine_state import Phase
from engine.errors import EngineCrashed, EngineError, LoadError
from engine.protocol import Engine
from engine.types import (
    FinishReason,
    GenerateRequest,
    LoadOptions,
    Message,
    Outcome,
    TextBatch,
    TextPart,
)
from tests.fakes.scripted_engine import Crash, Fail, Late, Say, ScriptedEngine, Wait

A = LoadOptions(model_path="/models/a.litertlm")
B = LoadOptions(model_path="/models/b.litertlm")


def request(run_id: int, text: str = "hi", chat: str = "c") -> GenerateRequest:
    message = Message(role="user", parts=(TextPart(text=text),))
    return GenerateRequest(run_id=run_id, chat_key=chat, message=message)


def run(engine: ScriptedEngine, body: Callable[[EngineService], Awaitable[None]]) -> EngineService:
    async def main() -> EngineService:
        service = EngineService(lambda: engine, asyncio.get_running_loop())
        try:
            await asyncio.wait_for(body(service), 60)
        finally:
            await service.close()
        return service

    return asyncio.run(main())


def ignore(_batch: TextBatch) -> None: ...


async def until(condition: Callable[[], bool]) -> None:
    for _ in range(2000):
        if condition():
            return
        await asyncio.sleep(0.005)
    raise AssertionError("never happened")


def test_loads_once_for_equal_options_and_again_for_others() -> None:
    engine = ScriptedEngine()
    phases: list[Phase] = []

    async def body(service: EngineService) -> None:
        service.on_state = lambda state: phases.append(state.phase)
        await service.generate(request(1), A, ignore)
        await service.generate(request(2), A, ignore)
        await service.load(A)
        await service.generate(request(3), B, ignore)

    run(engine, body)
    assert engine.loads == [A, B]
    assert phases[0] is Phase.LOADING
    assert engine.closed


def test_speculation_is_no_reason_to_load_again() -> None:
    engine = ScriptedEngine()

    async def body(service: EngineService) -> None:
        await service.load(A)
        await service.load(LoadOptions(model_path=A.model_path, speculative=True))

    run(engine, body)
    assert engine.loads == [A]


def test_generations_run_in_the_order_asked() -> None:
    engine = ScriptedEngine([[Say("1"), Wait(0.05)], [Say("2"), Wait(0.02)], [Say("3")]])

    async def body(service: EngineService) -> None:
        outcomes = await asyncio.gather(
            *(service.generate(request(i, str(i), f"c{i}"), A, ignore) for i in (1, 2, 3))
        )
        assert [o.text for o in outcomes] == ["1", "2", "3"]

    run(engine, body)
    assert [r.run_id for r in engine.requests] == [1, 2, 3]


def test_the_engine_has_a_send_before_anybody_is_told() -> None:
    """What is shown then takes milliseconds the first word would wait for."""
    order: list[str] = []

    async def body(service: EngineService) -> None:
        await service.load(A)
        submit = service._worker.submit

        def watched(work: Callable[[Engine], object]) -> asyncio.Future[object]:
            order.append("engine")
            return submit(work)

        service._worker.submit = watched  # type: ignore[assignment,method-assign]
        service.on_state = lambda _state: order.append("state")
        await service.generate(request(1), A, ignore, order.append)

    run(ScriptedEngine(), body)
    assert order[:3] == ["engine", "prefill", "state"]


def test_stop_while_queued_never_reaches_the_engine() -> None:
    engine = ScriptedEngine([[Say("x"), Wait(60)]])

    async def body(service: EngineService) -> None:
        first = asyncio.create_task(service.generate(request(1), A, ignore))
        second = asyncio.create_task(service.generate(request(2), A, ignore))
        await until(lambda: bool(engine.requests))
        service.cancel(2)
        assert (await second).reason is FinishReason.STOPPED
        assert not first.done()
        service.cancel(1)
        assert (await first).reason is FinishReason.STOPPED
        assert (await service.generate(request(3), A, ignore)).reason is FinishReason.END

    run(engine, body)
    assert [r.run_id for r in engine.requests] == [1, 3]


def test_stop_while_loading_answers_at_once_and_the_load_goes_on() -> None:
    engine = ScriptedEngine(load_seconds=1.0)

    async def body(service: EngineService) -> None:
        task = asyncio.create_task(service.generate(request(1), A, ignore))
        await until(lambda: service.state.phase is Phase.LOADING)
        service.cancel(1)
        assert (await task).reason is FinishReason.STOPPED
        assert service.state.phase is Phase.LOADING
        outcome = await service.generate(request(2), A, ignore)
        assert outcome.reason is FinishReason.END

    run(engine, body)
    assert engine.loads == [A]


def test_stop_while_decoding_keeps_the_text() -> None:
    engine = ScriptedEngine([[Say("part"), Wait(5), Say("never")]])
    got: list[str] = []

    async def body(service: EngineService) -> None:
        task = asyncio.create_task(
            service.generate(request(1), A, lambda batch: got.append(batch.text))
        )
        await until(lambda: bool(got))
        service.cancel(1)
        service.cancel(1)
        outcome = await task
        assert (outcome.reason, outcome.text) == (FinishReason.STOPPED, "part")

    run(engine, body)


def test_an_engine_deaf_to_stop_is_killed_and_the_run_counts_as_stopped() -> None:
    engine = ScriptedEngine([[Say("part"), Wait(60, deaf=True)]])
    crashes: list[EngineCrashed] = []
    got: list[str] = []

    async def body(service: EngineService) -> None:
        service.on_crash = lambda _options, error: crashes.append(error)
        task = asyncio.create_task(
            service.generate(request(1), A, lambda batch: got.append(batch.text))
        )
        await until(lambda: bool(got))
        service.cancel(1)
        outcome = await task
        assert (outcome.reason, outcome.text) == (FinishReason.STOPPED, "part")
        assert service.state.phase is Phase.STOPPED
        assert (await service.generate(request(2), A, ignore)).reason is FinishReason.END

    run(engine, body)
    assert [c.code for c in crashes] == ["no_final"]


def test_a_crash_fails_the_run_empties_the_slot_and_is_not_retried() -> None:
    engine = ScriptedEngine([[Say("half"), Crash("signal 11 (segmentation fault)")]])
    crashes: list[tuple[LoadOptions, str]] = []

    async def body(service: EngineService) -> None:
        service.on_crash = lambda o, e: crashes.append((o, e.params["exit"]))
        with pytest.raises(EngineCrashed):
            await service.generate(request(1), A, ignore)
        assert service.state.phase is Phase.STOPPED
        await asyncio.sleep(0.05)
        assert engine.loads == [A]
        assert (await service.generate(request(2), A, ignore)).reason is FinishReason.END

    run(engine, body)
    assert crashes == [(A, "signal 11 (segmentation fault)")]
    assert engine.loads == [A, A]


def test_a_failed_load_reaches_the_one_who_asked() -> None:
    engine = ScriptedEngine(load_results=[LoadError("load_failed", "INVALID_ARGUMENT")])

    async def body(service: EngineService) -> None:
        with pytest.raises(LoadError):
            await service.generate(request(1), A, ignore)
        assert service.state.phase is Phase.NONE
        assert service.state.error is not None
        assert (await service.generate(request(2), A, ignore)).reason is FinishReason.END

    run(engine, body)


def test_a_failed_send_is_an_outcome() -> None:
    engine = ScriptedEngine([[Fail("send_failed")]])

    async def body(service: EngineService) -> None:
        outcome = await service.generate(request(1), A, ignore)
        assert outcome.reason is FinishReason.ERROR
        assert outcome.error is not None

    run(engine, body)


def test_late_text_of_an_older_run_is_dropped() -> None:
    engine = ScriptedEngine([[Say("one")], [Late(1, "ghost"), Say("two")]])
    got: list[str] = []

    async def body(service: EngineService) -> None:
        await service.generate(request(1), A, lambda batch: got.append(batch.text))
        await service.generate(request(2), A, lambda batch: got.append(batch.text))

    run(engine, body)
    assert got == ["one", "two"]


def test_cancel_load_kills_a_running_load() -> None:
    engine = ScriptedEngine(load_seconds=60)

    async def body(service: EngineService) -> None:
        task = asyncio.create_task(service.load(A))
        await until(lambda: bool(engine.loads))
        service.cancel_load()
        with pytest.raises(LoadError) as caught:
            await task
        assert caught.value.code == "load_cancelled"
        assert service.state.phase is Phase.NONE

    run(engine, body)


def test_cancel_load_ends_one_that_still_waits() -> None:
    engine = ScriptedEngine([[Say("x"), Wait(0.3)]])

    async def body(service: EngineService) -> None:
        running = asyncio.create_task(service.generate(request(1), A, ignore))
        await until(lambda: bool(engine.requests))
        waiting = asyncio.create_task(service.load(B))
        await asyncio.sleep(0.01)
        service.cancel_load()
        with pytest.raises(LoadError):
            await waiting
        assert (await running).reason is FinishReason.END

    run(engine, body)
    assert engine.loads == [A]


def test_exclusive_work_holds_the_slot_and_the_model_comes_back() -> None:
    engine = ScriptedEngine()
    order: list[str] = []

    async def body(service: EngineService) -> None:
        await service.load(A)

        def work(held: object) -> str:
            assert held is engine
            engine.load(B)
            order.append("work")
            return "done"

        exclusive = asyncio.create_task(service.run_exclusive(work))
        await asyncio.sleep(0)
        outcome = await service.generate(request(1), A, lambda _batch: order.append("text"))
        assert await exclusive == "done"
        assert outcome.reason is FinishReason.END
        await until(lambda: service.state.phase is Phase.READY)

    run(engine, body)
    assert order == ["work", "text"]
    assert engine.loads == [A, B, A]


def test_exclusive_work_that_keeps_the_model_needs_no_reload() -> None:
    engine = ScriptedEngine()

    async def body(service: EngineService) -> None:
        await service.load(A)
        assert await service.run_exclusive(lambda e: e.count_tokens("a b c"), keeps_model=True) == 3
        assert service.state.phase is Phase.READY

    run(engine, body)
    assert engine.loads == [A]


def test_closing_ends_runs_loads_and_refuses_new_ones() -> None:
    engine = ScriptedEngine([[Say("part"), Wait(60)]])
    outcomes: list[Outcome | EngineError] = []

    async def main() -> float:
        loop = asyncio.get_running_loop()
        service = EngineService(lambda: engine, loop)

        async def ask(run_id: int) -> None:
            try:
                outcomes.append(await service.generate(request(run_id), A, ignore))
            except EngineError as problem:
                outcomes.append(problem)

        tasks = [asyncio.create_task(ask(i)) for i in (1, 2)]
        await until(lambda: bool(engine.requests))
        start = loop.time()
        await service.close()
        await service.close()
        spent = loop.time() - start
        await asyncio.gather(*tasks)
        with pytest.raises(EngineError):
            await service.load(A)
        return spent

    assert asyncio.run(main()) < 3
    assert [getattr(o, "reason", None) for o in outcomes] == [FinishReason.STOPPED] * 2
    assert engine.closed


def test_closing_kills_a_load_that_takes_for_ever() -> None:
    engine = ScriptedEngine(load_seconds=600)

    async def main() -> float:
        loop = asyncio.get_running_loop()
        service = EngineService(lambda: engine, loop)
        task = asyncio.create_task(service.load(A))
        await until(lambda: bool(engine.loads))
        start = loop.time()
        await service.close()
        with pytest.raises(LoadError):
            await task
        return loop.time() - start

    assert asyncio.run(main()) < 2
