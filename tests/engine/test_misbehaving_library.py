"""The engine process against a library that misbehaves on purpose (cases 8, 11, 27-30, 43, 44, 48).

The C stand-in lives in tests/fakes/native; every path must end in exactly one outcome, one
error of our tree, and an engine that can be used or restarted.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engine import errors
from engine.client import HostedEngine
from engine.types import (
    Backend,
    FinishReason,
    GenerateRequest,
    LoadOptions,
    Message,
    Outcome,
    TextBatch,
    TextPart,
)
from tests.fakes.native import build

pytestmark = pytest.mark.skipif(build.compiler() is None, reason="no C compiler here")


@pytest.fixture(scope="session")
def fake_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build.build(tmp_path_factory.mktemp("fake-library"))


MakeEngine = Callable[..., HostedEngine]


@pytest.fixture
def make_engine(
    fake_library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[MakeEngine]:
    made: list[HostedEngine] = []

    def make(mode: str = "ok") -> HostedEngine:
        monkeypatch.setenv("TANDEM_ENGINE_LIBRARY", str(fake_library))
        monkeypatch.setenv("FAKE_LOAD", mode)
        engine = HostedEngine(log_path=tmp_path / "engine.log")
        made.append(engine)
        return engine

    yield make
    for engine in made:
        engine.close()


@pytest.fixture
def options(demo_model: Path, tmp_path: Path) -> LoadOptions:
    return LoadOptions(model_path=str(demo_model), cache_dir=str(tmp_path / "cache"))


class Run:
    """One send with everything its sink got."""

    def __init__(self, engine: HostedEngine, scenario: str, run_id: int = 1) -> None:
        self.batches: list[TextBatch] = []
        self.engine = engine
        self.request = GenerateRequest(
            run_id=run_id,
            chat_key=f"chat-{scenario}",
            message=Message(role="user", parts=(TextPart(text=f"scenario:{scenario}"),)),
        )

    def go(self) -> Outcome:
        return self.engine.generate(self.request, self.batches.append)

    @property
    def text(self) -> str:
        return "".join(batch.text for batch in self.batches)


def works_again(engine: HostedEngine, run_id: int = 99) -> None:
    run = Run(engine, "ok", run_id)
    assert run.go().text == "Hello world."


@pytest.mark.parametrize(
    ("scenario", "text"),
    [
        ("null_text", "after null"),
        ("split_units", "😊 ok"),
        ("split_bytes", "😊"),
        ("split_points", "👩\u200d👩e\u0301م"),
        ("two_finals", "once"),
        ("marker_in_code", "Use `<|im_end|>` to end a turn."),
    ],
)
def test_odd_chunks_still_give_the_whole_text(
    make_engine: MakeEngine, options: LoadOptions, scenario: str, text: str
) -> None:
    engine = make_engine()
    engine.load(options)
    run = Run(engine, scenario)
    outcome = run.go()
    assert outcome.reason is FinishReason.END
    assert outcome.text == text
    assert run.text == text
    works_again(engine)


def test_a_half_character_at_the_end_becomes_one_replacement(
    make_engine: MakeEngine, options: LoadOptions
) -> None:
    engine = make_engine()
    engine.load(options)
    assert Run(engine, "half_end").go().text == "end \ufffd"


def test_bad_utf8_loses_no_other_chunk(make_engine: MakeEngine, options: LoadOptions) -> None:
    engine = make_engine()
    engine.load(options)
    outcome = Run(engine, "bad_utf8").go()
    assert outcome.text.startswith("caf")
    assert outcome.text.endswith("good")
    works_again(engine)


def test_text_that_is_not_json_is_shown_as_it_came(
    make_engine: MakeEngine, options: LoadOptions
) -> None:
    engine = make_engine()
    engine.load(options)
    assert Run(engine, "not_json").go().text == "plain words"


def test_a_chunk_of_five_megabytes_arrives(make_engine: MakeEngine, options: LoadOptions) -> None:
    engine = make_engine()
    engine.load(options)
    run = Run(engine, "big")
    assert run.go().text == "x" * (5 * 1024 * 1024)
    assert len(run.text) == 5 * 1024 * 1024


def test_twenty_thousand_chunks_arrive_in_order(
    make_engine: MakeEngine, options: LoadOptions
) -> None:
    engine = make_engine()
    engine.load(options)
    run = Run(engine, "flood")
    assert run.go().text == "w " * 20000
    assert run.text == "w " * 20000


@pytest.mark.parametrize(
    "scenario", ["error", "error_and_final", "error_not_final", "inside", "refuse"]
)
def test_an_error_is_one_outcome_and_the_next_send_works(
    make_engine: MakeEngine, options: LoadOptions, scenario: str
) -> None:
    engine = make_engine()
    engine.load(options)
    outcome = Run(engine, scenario).go()
    assert outcome.reason is FinishReason.ERROR
    assert outcome.error is not None
    assert outcome.error.code in errors.CODES
    assert outcome.error.detail
    works_again(engine)


def test_the_text_before_an_error_is_kept(make_engine: MakeEngine, options: LoadOptions) -> None:
    engine = make_engine()
    engine.load(options)
    assert Run(engine, "error").go().text == "some "


def test_an_empty_answer_is_a_failure_with_a_reason(
    make_engine: MakeEngine, options: LoadOptions
) -> None:
    engine = make_engine()
    engine.load(options)
    outcome = Run(engine, "empty").go()
    assert outcome.error is not None
    assert outcome.error.code == "empty_answer"


def test_only_thoughts_keeps_them_apart(make_engine: MakeEngine, options: LoadOptions) -> None:
    engine = make_engine()
    engine.load(options)
    outcome = Run(engine, "only_thoughts").go()
    assert outcome.text == ""
    assert outcome.thought == "hmm hmm hmm "
    assert outcome.error is not None


def test_a_stop_marker_loop_ends_the_run(make_engine: MakeEngine, options: LoadOptions) -> None:
    engine = make_engine()
    engine.load(options)
    outcome = Run(engine, "stop_loop").go()
    assert outcome.text.rstrip() == "The answer."
    assert outcome.reason is FinishReason.END
    works_again(engine)


def test_tool_call_values_are_exact(make_engine: MakeEngine, options: LoadOptions) -> None:
    engine = make_engine()
    engine.load(options)
    outcome = Run(engine, "odd_tool").go()
    assert outcome.reason is FinishReason.TOOL_CALLS
    (call,) = outcome.tool_calls
    assert call.name == "get"
    assert "9007199254740993" in call.arguments_json
    assert "<|" not in call.arguments_json
    assert '"Paris"' in call.arguments_json


def test_arguments_that_are_no_json_come_as_text(
    make_engine: MakeEngine, options: LoadOptions
) -> None:
    engine = make_engine()
    engine.load(options)
    outcome = Run(engine, "bad_tool").go()
    (call,) = outcome.tool_calls
    assert call.arguments_json == "{not json"


def cancel_soon(run: Run, after: float = 0.2) -> threading.Timer:
    timer = threading.Timer(after, run.engine.cancel, [run.request.run_id])
    timer.start()
    return timer


def test_late_chunks_after_stop_are_dropped(make_engine: MakeEngine, options: LoadOptions) -> None:
    engine = make_engine()
    engine.load(options)
    run = Run(engine, "late")
    timer = cancel_soon(run)
    outcome = run.go()
    timer.join()
    assert outcome.reason is FinishReason.STOPPED
    assert outcome.error is None
    assert outcome.text == run.text == "early"
    works_again(engine)


@pytest.mark.parametrize("scenario", ["no_final", "silent", "hang_cancel"])
def test_an_engine_that_never_ends_is_killed_on_stop(
    make_engine: MakeEngine, options: LoadOptions, scenario: str
) -> None:
    engine = make_engine()
    engine.load(options)
    run = Run(engine, scenario)
    timer = cancel_soon(run)
    started = time.monotonic()
    with pytest.raises(errors.EngineCrashed) as caught:
        run.go()
    assert caught.value.code in ("unresponsive", "crashed")
    timer.join()
    assert time.monotonic() - started < 40
    engine.load(options)
    works_again(engine)


def test_a_slow_prefill_is_not_taken_for_dead(
    make_engine: MakeEngine, options: LoadOptions
) -> None:
    engine = make_engine()
    engine.load(options)
    assert Run(engine, "slow_prefill").go().text == "slow but fine"


@pytest.mark.parametrize("scenario", ["abort", "segv", "exit", "oom"])
def test_a_death_mid_answer_is_one_error_and_a_new_start(
    make_engine: MakeEngine, options: LoadOptions, scenario: str
) -> None:
    engine = make_engine()
    engine.load(options)
    run = Run(engine, scenario)
    with pytest.raises(errors.EngineCrashed) as caught:
        run.go()
    assert caught.value.params["exit"]
    assert run.text == "last words"
    engine.load(options)
    works_again(engine)


def test_hanging_delete_does_not_hang_the_caller(
    make_engine: MakeEngine, options: LoadOptions
) -> None:
    engine = make_engine()
    engine.load(options)
    assert Run(engine, "hang_delete").go().text == "bye"
    started = time.monotonic()
    engine.close()
    assert time.monotonic() - started < 30


def test_hanging_engine_delete_does_not_hang_close(
    make_engine: MakeEngine, options: LoadOptions
) -> None:
    engine = make_engine("hang_delete")
    engine.load(options)
    started = time.monotonic()
    engine.close()
    assert time.monotonic() - started < 30


def test_a_stale_error_is_not_believed(make_engine: MakeEngine, options: LoadOptions) -> None:
    engine = make_engine("stale")
    engine.load(options)
    works_again(engine)


def test_a_broken_engine_can_be_restarted(make_engine: MakeEngine, options: LoadOptions) -> None:
    engine = make_engine()
    engine.load(options)
    assert Run(engine, "broken_engine", 1).go().reason is FinishReason.ERROR
    assert Run(engine, "ok", 2).go().reason is FinishReason.ERROR
    engine.unload()
    engine.load(options)
    works_again(engine)


@pytest.mark.parametrize(
    ("mode", "kind", "code"),
    [
        ("null", errors.LoadError, "load_failed"),
        ("null_no_reason", errors.LoadError, "load_failed"),
        ("missing_drafter", errors.LoadError, "no_drafter"),
        ("abort", errors.EngineCrashed, "crashed"),
        ("segv", errors.EngineCrashed, "crashed"),
        ("oom", errors.EngineError, ""),
    ],
)
def test_a_failed_load_is_one_error_of_our_tree(
    make_engine: MakeEngine,
    options: LoadOptions,
    monkeypatch: pytest.MonkeyPatch,
    mode: str,
    kind: type[errors.EngineError],
    code: str,
) -> None:
    engine = make_engine(mode)
    with pytest.raises(kind) as caught:
        engine.load(options)
    if code:
        assert caught.value.code == code
    monkeypatch.setenv("FAKE_LOAD", "ok")
    engine.load(options)
    works_again(engine)


def test_a_hanging_load_can_be_cancelled(
    make_engine: MakeEngine, options: LoadOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = make_engine("hang")
    timer = threading.Timer(1.0, engine.kill)
    timer.start()
    with pytest.raises(errors.LoadError) as caught:
        engine.load(options)
    timer.join()
    assert caught.value.code == "load_cancelled"
    monkeypatch.setenv("FAKE_LOAD", "ok")
    engine.load(options)
    works_again(engine)


def test_a_cache_failure_falls_back_once_and_says_so(
    make_engine: MakeEngine, options: LoadOptions
) -> None:
    engine = make_engine("cache_error")
    loaded = engine.load(options)
    assert "cache_off" in loaded.notes
    works_again(engine)


def test_gpu_only_trouble_leaves_cpu_usable(make_engine: MakeEngine, options: LoadOptions) -> None:
    gpu = LoadOptions(
        model_path=options.model_path, cache_dir=options.cache_dir, backend=Backend.GPU
    )
    engine = make_engine("gpu_abort")
    with pytest.raises(errors.EngineCrashed):
        engine.load(gpu)
    engine.load(options)
    works_again(engine)


def test_no_gpu_adapter_is_named(make_engine: MakeEngine, options: LoadOptions) -> None:
    gpu = LoadOptions(
        model_path=options.model_path, cache_dir=options.cache_dir, backend=Backend.GPU
    )
    engine = make_engine("no_adapter")
    with pytest.raises(errors.BackendError) as caught:
        engine.load(gpu)
    assert caught.value.code == "no_gpu_adapter"


def test_a_library_without_a_needed_symbol_is_refused_by_name(
    tmp_path: Path, options: LoadOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = build.build(tmp_path, without=("litert_lm_conversation_send_message_stream",))
    monkeypatch.setenv("TANDEM_ENGINE_LIBRARY", str(broken))
    engine = HostedEngine(log_path=tmp_path / "engine.log")
    with pytest.raises(errors.LibraryError) as caught:
        engine.load(options)
    engine.close()
    assert "litert_lm_conversation_send_message_stream" in caught.value.detail


def test_a_missing_optional_symbol_only_costs_that_feature(
    tmp_path: Path, options: LoadOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    older = build.build(tmp_path, without=("litert_lm_conversation_clone",))
    monkeypatch.setenv("TANDEM_ENGINE_LIBRARY", str(older))
    monkeypatch.setenv("FAKE_LOAD", "ok")
    engine = HostedEngine(log_path=tmp_path / "engine.log")
    engine.load(options)
    works_again(engine)
    engine.close()
