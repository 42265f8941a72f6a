"""Loading, unloading and what goes wrong with files, caches and options; both engines."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from engine import errors, loading, threads
from engine._ffi import Owned
from engine.handles import live_handles
from engine.litert import LiteRtEngine
from engine.native_values import NativeError
from engine.sending import Sending
from engine.stream import runs_in_flight
from engine.types import (
    Backend,
    Constraint,
    ConstraintKind,
    FinishReason,
    LoadOptions,
    Message,
    ToolResultPart,
    ToolSpec,
)
from tests.engine.conftest import FINE, AnyEngine, Chat, Variants
from tests.fakes.variants import THINK_REGEX, TOOL_REGEX


@pytest.fixture
def options(demo_model: Path, cache: Path) -> LoadOptions:
    return LoadOptions(model_path=str(demo_model), cache_dir=str(cache))


def changed(options: LoadOptions, **values: object) -> LoadOptions:
    import msgspec

    return msgspec.structs.replace(options, **values)


def test_a_load_tells_what_it_made(fresh: AnyEngine, options: LoadOptions, kind: str) -> None:
    loaded = fresh.load(changed(options, context_tokens=512, threads=2))
    assert loaded.context_tokens == 512
    assert loaded.options.threads == 2
    assert loaded.threads == 2
    assert loaded.info.supports_mtp is True
    assert loaded.info.prefill_sizes == (16, 64, 256)
    assert loaded.library_version == "0.18.1"
    assert loaded.load_seconds > 0
    assert loaded.notes == ()
    assert (loaded.pid != os.getpid()) == (kind == "hosted")


def test_threads_that_nobody_chose_are_not_more_than_cores(
    fresh: AnyEngine, options: LoadOptions
) -> None:
    loaded = fresh.load(options)
    assert loaded.options.threads == 0
    assert loaded.threads == threads.automatic() <= threads.usable_cores()


@pytest.mark.parametrize(
    ("asked", "got", "note"),
    [
        (0, 1024, None),
        (-1, 1024, "context_raised"),
        (7, 64, "context_raised"),
        (100, 100, None),
        (999_999_999, 1024, "context_clamped"),
    ],
)
def test_impossible_context_sizes_are_brought_into_range(
    demo_model: Path, cache: Path, asked: int, got: int, note: str | None
) -> None:
    from engine.litert import LiteRtEngine

    engine = LiteRtEngine()
    loaded = engine.load(
        LoadOptions(model_path=str(demo_model), cache_dir=str(cache), context_tokens=asked)
    )
    assert loaded.context_tokens == got
    assert loaded.notes == ((note,) if note else ())
    assert Chat(engine).send("Hi", limit=4).reason in (FinishReason.LIMIT, FinishReason.END)
    engine.close()


def test_a_model_without_a_drafter_never_fails_because_of_it(
    fresh: AnyEngine, options: LoadOptions, plain_model: Path
) -> None:
    loaded = fresh.load(changed(options, model_path=str(plain_model), speculative=True))
    assert loaded.info.supports_mtp is False
    assert loaded.options.speculative is False
    assert "no_drafter" in loaded.notes
    outcome = Chat(fresh, speculative=True).send("Hello")
    assert outcome.reason in FINE
    assert outcome.speculative is False


def test_errors_name_the_file_and_leave_a_usable_engine(
    fresh: AnyEngine, options: LoadOptions, tmp_path: Path, demo_model: Path
) -> None:
    cut = tmp_path / "cut.litertlm"
    cut.write_bytes(demo_model.read_bytes()[:5_000_000])
    for path, code in (
        (tmp_path / "gone.litertlm", "not_found"),
        (tmp_path, "is_folder"),
        (cut, "incomplete"),
    ):
        with pytest.raises(errors.ModelFileError) as caught:
            fresh.load(changed(options, model_path=str(path)))
        assert caught.value.code == code
        with pytest.raises(errors.GenerationError) as unloaded:
            Chat(fresh).send("Hi")
        assert unloaded.value.code == "not_loaded"
    with pytest.raises(errors.BackendError):
        fresh.load(changed(options, backend=Backend.NPU))
    fresh.load(options)
    assert Chat(fresh).send("Hello").reason in FINE


def test_a_newer_runtime_is_noted_and_tried(
    fresh: AnyEngine, options: LoadOptions, variant: Variants
) -> None:
    loaded = fresh.load(changed(options, model_path=str(variant("min_runtime"))))
    assert "needs_runtime" in loaded.notes
    assert Chat(fresh).send("Hello").reason in FINE


def test_unload_and_close_are_idempotent_and_leave_nothing(
    fresh: AnyEngine, options: LoadOptions
) -> None:
    fresh.load(options)
    chat = Chat(fresh)
    chat.send("Hello")
    chat.send_and_stop("Tell me a very long story about a cat and a dog.")
    report = fresh.unload()
    assert report.peak_memory is not None
    assert report.peak_memory > 20_000_000
    assert fresh.unload().peak_memory is None
    with pytest.raises(errors.GenerationError):
        chat.send("Hi")
    fresh.close()
    fresh.close()
    assert live_handles() == ()
    assert runs_in_flight() == 0


def test_a_stop_that_comes_just_before_the_send_leaves_nothing(
    options: LoadOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = LiteRtEngine()
    engine.load(options)
    chat = Chat(engine)
    make = Sending._arguments

    def stopped_meanwhile(turn: Sending) -> Owned:
        made = make(turn)
        engine.cancel(chat.run_id)
        return made

    with monkeypatch.context() as patch:
        patch.setattr(Sending, "_arguments", stopped_meanwhile)
        before = live_handles().count("conversation_optional_args_create")
        assert chat.send("Hello").reason is FinishReason.STOPPED
    assert live_handles().count("conversation_optional_args_create") == before
    assert chat.send("Hello").reason in FINE
    engine.close()


def test_switching_models_rebuilds_the_chat(
    fresh: AnyEngine, options: LoadOptions, plain_model: Path
) -> None:
    fresh.load(options)
    chat = Chat(fresh)
    chat.send("Hello")
    fresh.load(changed(options, model_path=str(plain_model)))
    second = chat.send("Tell me about cats.")
    assert second.resumed == "rebuilt"
    assert second.reason in FINE
    assert second.benchmark is not None
    assert (second.benchmark.prefill_tokens or 0) > 25


def test_the_cache_folder_is_made_and_used(
    fresh: AnyEngine, options: LoadOptions, tmp_path: Path, demo_model: Path
) -> None:
    folder = tmp_path / "模型 ß é" / "deep"
    fresh.load(changed(options, cache_dir=str(folder)))
    first = {p.name: p.stat().st_mtime_ns for p in folder.iterdir()}
    assert first
    assert all(name.startswith(demo_model.name) for name in first)
    fresh.load(changed(options, cache_dir=str(folder)))
    assert {p.name: p.stat().st_mtime_ns for p in folder.iterdir()} == first


def test_no_cache_folder_is_a_note_not_a_failure(
    fresh: AnyEngine, options: LoadOptions, tmp_path: Path
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    loaded = fresh.load(changed(options, cache_dir=str(blocked / "cache")))
    assert loaded.notes == ("cache_off",)
    assert Chat(fresh).send("Hello").reason in FINE


@pytest.mark.parametrize("mode", ["memory", "no"])
def test_other_cache_modes_write_nothing(
    fresh: AnyEngine, options: LoadOptions, tmp_path: Path, mode: str
) -> None:
    folder = tmp_path / "unused"
    fresh.load(changed(options, cache=mode, cache_dir=str(folder)))
    assert Chat(fresh).send("Hello").reason in FINE
    assert not folder.exists()


def test_a_damaged_cache_file_does_not_stop_the_load(
    fresh: AnyEngine, options: LoadOptions, tmp_path: Path
) -> None:
    folder = tmp_path / "cache"
    fresh.load(changed(options, cache_dir=str(folder)))
    fresh.unload()
    for path in folder.iterdir():
        path.write_bytes(b"\0" * 1000)
    fresh.load(changed(options, cache_dir=str(folder)))
    assert Chat(fresh).send("Hello").reason in FINE


def test_model_in_a_folder_with_other_letters(
    fresh: AnyEngine, options: LoadOptions, tmp_path: Path, demo_model: Path
) -> None:
    folder = tmp_path / "模型 ß é"
    folder.mkdir()
    link = folder / "mein modell.litertlm"
    link.symlink_to(demo_model)
    fresh.load(changed(options, model_path=str(link)))
    assert Chat(fresh).send("Hello").reason in FINE


def test_thoughts_come_apart_from_the_answer(
    fresh: AnyEngine, options: LoadOptions, variant: Variants
) -> None:
    loaded = fresh.load(changed(options, model_path=str(variant("thinking"))))
    assert loaded.info.supports_thinking
    chat = Chat(fresh)
    force = Constraint(ConstraintKind.REGEX, THINK_REGEX)
    outcome = chat.send("Hello", constraint=force, thinking=True)
    assert outcome.thought
    assert outcome.text.endswith(".")
    for marker in ("<think>", "</think>"):
        assert marker not in outcome.text + outcome.thought
    assert any(b.thought for b in chat.batches)
    cut = Chat(fresh).run(Chat(fresh).request("Hello", constraint=force, limit=6))
    assert cut.reason is FinishReason.LIMIT
    assert cut.text == ""
    assert cut.error is not None
    assert cut.error.code == "only_thoughts"
    assert chat.send("And without?", thinking=True).reason is not FinishReason.ERROR


def test_a_tool_call_and_its_result(
    fresh: AnyEngine, options: LoadOptions, variant: Variants
) -> None:
    loaded = fresh.load(changed(options, model_path=str(variant("tools"))))
    assert loaded.info.supports_tools
    tool = ToolSpec("get_time", "Time in a city", '{"type": "object", "properties": {}}')
    chat = Chat(fresh)
    force = Constraint(ConstraintKind.REGEX, TOOL_REGEX)
    request = chat.request("What time is it?", tools=(tool,), constraint=force)
    assert "get_time" in fresh.render(request)
    outcome = chat.run(request)
    assert outcome.reason is FinishReason.TOOL_CALLS
    assert outcome.text == ""
    (call,) = outcome.tool_calls
    assert call.name == "get_time"
    assert call.arguments_json in ('{"city":"Paris"}', '{"city":"London"}')
    chat.history = (request.message, Message("assistant", (), outcome.tool_calls))
    result = Message("tool", (ToolResultPart("get_time", '{"time": "12:00"}'),))
    answer = chat.run(
        chat.request(
            result, tools=(tool,), constraint=Constraint(ConstraintKind.REGEX, "(Noon|Night)[.]")
        )
    )
    assert answer.resumed == "resident"
    assert answer.text in ("Noon.", "Night.")


def test_a_synthetic_engine_decodes_what_was_asked(fresh: AnyEngine, options: LoadOptions) -> None:
    fresh.load(changed(options, prefill_tokens=64, decode_tokens=32))
    outcome = Chat(fresh).send("Hello", limit=None)
    assert outcome.benchmark is not None
    assert outcome.benchmark.prefill_tokens == 64
    assert outcome.benchmark.decode_tokens == 32
    assert outcome.benchmark.steps is None, "nobody read a stream"
    assert (outcome.reason, outcome.text) == (FinishReason.LIMIT, "")


@pytest.mark.parametrize("speculative", [False, True])
def test_a_synthetic_send_can_be_stopped(
    fresh: AnyEngine, options: LoadOptions, speculative: bool
) -> None:
    """It is one native call, and with speculation one that may never end by itself."""
    wanted = changed(options, prefill_tokens=64, decode_tokens=900, speculative=speculative)
    fresh.load(wanted)
    request = Chat(fresh).request("Hello", speculative=speculative, limit=900)
    timer = threading.Timer(0.1, fresh.cancel, (request.run_id,))
    timer.start()
    outcome = fresh.generate(request, lambda _batch: None)
    timer.join()
    assert outcome.reason is FinishReason.STOPPED
    assert outcome.error is None
    again = Chat(fresh).send("Hello", limit=16, speculative=False)
    assert again.benchmark is not None


def test_ten_loads_do_not_grow(kind: str, options: LoadOptions) -> None:
    if kind == "hosted":
        pytest.skip("a child gives everything back by ending")
    from engine import memory
    from engine.litert import LiteRtEngine

    engine = LiteRtEngine()
    sizes = []
    for _ in range(6):
        engine.load(options)
        Chat(engine).send("Hello", limit=4)
        engine.unload()
        sizes.append(memory.resident_bytes() or 0)
        time.sleep(0.01)
    assert sizes[-1] <= sizes[2] * 1.1


def test_a_file_that_goes_away_while_it_loads_is_said_to_be_gone(tmp_path: Path) -> None:
    """The engine gives no reason then; the header was still there to read."""
    gone = LoadOptions(model_path=str(tmp_path / "gone.litertlm"))
    error = loading.load_error(NativeError("engine_create", 13, "INTERNAL"), gone)
    assert (error.code, error.params["path"]) == ("not_found", gone.model_path)
