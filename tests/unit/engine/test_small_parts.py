"""Guard, wire, log phrases, library search, messages, errors, handles, runs."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine import (
    context_guard,
    engine_log,
    errors,
    header_schema,
    library,
    media,
    messages,
    stream,
    threads,
    wire,
)
from engine.errors import BackendError, GenerationError, LibraryError, LoadError, from_info
from engine.handles import Handle, live_handles
from engine.types import (
    ErrorInfo,
    FileState,
    GenerateRequest,
    Message,
    ModelInfo,
    Sampling,
    TextBatch,
    TextPart,
    ToolCall,
    ToolResultPart,
    ToolSpec,
)


def info(**more: object) -> ModelInfo:
    values: dict[str, object] = {
        "path": "m",
        "name": "m",
        "file_bytes": 1,
        "expected_bytes": 1,
        "mtime_ns": 0,
        "state": FileState.OK,
    }
    return ModelInfo(**(values | more))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("wanted", "facts", "expected"),
    [
        (0, {}, (4096, "")),
        (0, {"max_context": 1024}, (1024, "")),
        (0, {"max_context": 131072}, (4096, "")),
        (8192, {"max_context": 131072}, (8192, "")),
        (-3, {}, (4096, "context_raised")),
        (1, {}, (512, "context_raised")),
        (1, {"prefill_sizes": (16,)}, (64, "context_raised")),
        (2**31 - 1, {}, (1 << 20, "context_clamped")),
        (2048, {"max_context": 1024}, (1024, "context_clamped")),
    ],
)
def test_context_sizes(wanted: int, facts: dict[str, object], expected: tuple[int, str]) -> None:
    assert context_guard.usable_context(wanted, info(**facts)) == expected


def test_room() -> None:
    space = context_guard.room(1024, 100, 50, 16)
    assert space.fits
    assert not space.full
    assert space.cap == 1024 - 100 - 50 - context_guard.MARGIN
    assert not context_guard.room(1024, 100, 950, 16).fits
    assert context_guard.room(1024, 1000, 5, 16).full
    assert context_guard.room(4096, 4000, 5, 128).full
    assert context_guard.room(1024, 2000, 5, 16).left == 0
    for needs in range(1, 1200):
        got = context_guard.room(1024, 300, needs, 128)
        assert got.cap >= 1 or not got.fits


def test_messages_on_the_wire() -> None:
    call = ToolCall("f", '{"n": 9007199254740993}')
    sent = [
        Message("user", (TextPart("a\0b\ud800"),)),
        Message("assistant", (), (call,)),
        Message("tool", (ToolResultPart("f", "not json"),)),
    ]
    one = json.loads(wire.send_json(sent[:1]))
    assert one == {"role": "user", "content": [{"type": "text", "text": "a\ufffdb\ufffd"}]}
    several = json.loads(wire.send_json(sent))
    assert several[1]["tool_calls"][0]["function"]["arguments"] == {"n": 9007199254740993}
    assert several[2]["content"][0]["response"] == "not json"
    assert json.loads(wire.system_json("x") or "") == [{"type": "text", "text": "x"}]
    assert wire.system_json("") is None
    assert wire.messages_json([]) is None
    assert wire.tools_json([]) is None
    with pytest.raises(GenerationError):
        wire.tools_json([ToolSpec("f", "", "{bad")])


def test_sampling_in_range() -> None:
    greedy = wire.safe_sampling(Sampling(temperature=0.0))
    assert (greedy.temperature, greedy.top_k) == (1.0, 1)
    odd = Sampling(
        temperature=float("nan"),
        top_p=float("inf"),
        top_k=0,
        seed=-1,
        max_output_tokens=0,
        repetition_penalty=0.0,
    )
    safe = wire.safe_sampling(odd)
    assert (safe.temperature, safe.top_p, safe.top_k) == (0.8, 0.95, 40)
    assert (safe.seed, safe.max_output_tokens, safe.repetition_penalty) == (0x7FFFFFFF, None, None)


LOG = """INFO: something
I0000 1.2 3 llm_litert_mtp_drafter.cc:298] MTP Drafter - Success rate: 0.25
I0000 x.cc] Selected adapter: NVIDIA H200, arch=, backend=Vulkan, adapterType=Discrete GPU
I0000 1.2 3 llm_litert_mtp_drafter.cc:298] MTP Drafter - Success rate: 0.575
"""


def test_what_the_log_tells() -> None:
    assert engine_log.acceptance(LOG) == 0.575
    assert engine_log.acceptance("Success rate: 0.5") is None
    assert engine_log.acceptance("MTP Drafter - Success rate: nan") is None
    assert engine_log.adapter(LOG) == ("NVIDIA H200", "Discrete GPU")
    assert engine_log.adapter("") is None


@pytest.mark.parametrize(
    ("text", "kind", "code"),
    [
        ("E] No adapters found", BackendError, "no_gpu_adapter"),
        (
            "E] Following operations are not supported by GPU delegate: GATHER",
            BackendError,
            "gpu_unsupported_ops",
        ),
        ("Could not map file x_mldrift_weight_cache.bin", LoadError, "cache_failed"),
        ("nothing special", LoadError, "load_failed"),
    ],
)
def test_reasons_of_a_failed_load(text: str, kind: type[LoadError], code: str) -> None:
    better = engine_log.explain(LoadError("load_failed", "UNKNOWN: "), text)
    assert type(better) is kind
    assert better.code == code


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (-signal.SIGABRT, "signal 6 (abort)"),
        (-signal.SIGSEGV, "signal 11 (segmentation fault)"),
        (-9, "signal 9 (killed)"),
        (0, "exit code 0"),
        (3, "exit code 3"),
        (70, "exit code 70 (a fault in the engine process)"),
        (0xC0000005, "exit code 0xC0000005 (access violation)"),
        (-1073741819, "exit code 0xC0000005 (access violation)"),
        (None, "no exit code"),
    ],
)
@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signal numbers")
def test_exit_codes_in_words(code: int | None, words: str) -> None:
    assert engine_log.exit_words(code) == words


def test_a_full_log_is_moved_aside(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "engine.log"
    engine_log.rotate(log)
    assert log.parent.is_dir()
    for number in range(4):
        log.write_bytes(bytes([number]) * (engine_log.MAX_BYTES + 1))
        engine_log.rotate(log)
    names = sorted(p.name for p in log.parent.iterdir())
    assert names == ["engine.log.1", "engine.log.2"]
    assert (log.parent / "engine.log.1").read_bytes()[0] == 3
    assert engine_log.read_since(log, 0) == ""


def test_only_the_pinned_library_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(library.OVERRIDE, raising=False)
    assert library.find_library().name == library.library_name()
    monkeypatch.setattr(library.importlib.metadata, "version", lambda _name: "0.19.0")
    with pytest.raises(LibraryError) as caught:
        library.find_library()
    assert caught.value.code == "library_version"
    assert caught.value.params == {"found": "0.19.0", "needs": "0.18.1"}


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(library.OVERRIDE, str(tmp_path / "none.so"))
    with pytest.raises(LibraryError) as caught:
        library.find_library()
    assert caught.value.code == "library_missing"
    monkeypatch.delenv(library.OVERRIDE)
    monkeypatch.setattr(library, "_folders", lambda: [tmp_path])
    with pytest.raises(LibraryError):
        library.find_library()


def test_library_names() -> None:
    assert library.library_name("win32") == "litert-lm.dll"
    assert library.library_name("darwin") == "liblitert-lm.dylib"
    assert library.library_name("linux") == "liblitert-lm.so"


def test_messages_survive_the_pipe() -> None:
    request = GenerateRequest(run_id=1, chat_key="k", message=Message("user", (TextPart("hé"),)))
    command = messages.Generate(7, request)
    assert messages.decode_command(messages.encode(command)) == command
    event = messages.Text(TextBatch(run_id=1, text="x", first_s=0.5))
    assert messages.decode_event(messages.encode(event)) == event


def test_a_lone_surrogate_does_not_break_the_pipe() -> None:
    request = GenerateRequest(
        run_id=1, chat_key="k", message=Message("user", (TextPart("\ud83d"),))
    )
    got = messages.decode_command(messages.encode(messages.Generate(1, request)))
    assert isinstance(got, messages.Generate)
    assert got.request.message.text == "\ufffd"


@pytest.mark.parametrize("code", sorted(errors.CODES))
def test_errors_survive_the_pipe(code: str) -> None:
    error = from_info(ErrorInfo(code, "detail", {"a": "b"}))
    again = from_info(error.info())
    assert type(again) is type(error)
    assert type(again) is not errors.EngineError
    assert again.info() == error.info()


def test_a_handle_ends_once() -> None:
    ended: list[str] = []
    before = live_handles()
    with Handle("thing", "pointer", ended.append) as handle:
        assert live_handles() == tuple(sorted((*before, "thing")))
        assert handle.pointer == "pointer"
    handle.close()
    assert ended == ["pointer"]
    assert handle.closed
    assert live_handles() == before
    with pytest.raises(ValueError, match="closed"):
        _ = handle.pointer


def test_a_run_that_was_cancelled_first_is_never_sent() -> None:
    run = stream.Run(1)
    run.cancel()
    assert run.begin(lambda _token: pytest.fail("sent"), lambda: None) is False
    assert stream.runs_in_flight() == 0


def test_a_run_takes_chunks_until_its_end() -> None:
    run, aborts = stream.Run(1), []
    assert run.begin(
        lambda token: stream.on_chunk(token, b"x", None, False), lambda: aborts.append(1)
    )
    first = run.next(0)
    assert first is not None
    assert first.text == b"x"
    run.cancel()
    run.cancel()
    assert len(aborts) == 2
    run.end()
    run.cancel()
    stream.on_chunk(run.token, b"late", None, True)
    assert run.next(0) is None
    assert len(aborts) == 2
    assert stream.runs_in_flight() == 0


def test_a_failing_send_frees_its_run() -> None:
    run = stream.Run(1)

    def send(_token: int) -> None:
        raise OSError("no")

    with pytest.raises(OSError, match="no"):
        run.begin(send, lambda: None)
    assert stream.runs_in_flight() == 0


def test_importing_the_engine_package_pulls_in_nothing_heavy() -> None:
    import subprocess

    code = (
        "import sys, engine.client, engine.model_file; "
        "bad = [m for m in ('PySide6', 'numpy', 'cffi', 'litert_lm_builder', 'psutil') "
        "if m in sys.modules]; print(bad)"
    )
    root = Path(library.__file__).resolve().parents[1]
    env = {**os.environ, "PYTHONPATH": str(root)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env
    )
    assert done.stdout.strip() == "[]"


def test_words_that_stand_for_pictures_by_model_type() -> None:
    from litert_lm_builder.runtime.proto import llm_metadata_pb2

    def markers(change: Callable[[Any], None]) -> tuple[str, ...]:
        meta = llm_metadata_pb2.LlmMetadata()
        change(meta.llm_model_type)
        return header_schema.parse_llm_metadata(meta.SerializeToString()).media_markers

    def generic(pattern: str, *, image: bool = True) -> tuple[str, ...]:
        def change(kind: Any) -> None:
            kind.generic_model.image_enabled = image
            kind.generic_model.delimiter_regex = pattern

        return markers(change)

    assert "<|image|>" in markers(lambda kind: kind.gemma4.SetInParent())
    assert "<start_of_image>" in markers(lambda kind: kind.gemma3.SetInParent())
    assert markers(lambda kind: kind.qwen3.SetInParent()) == ()
    assert generic(r"(<\|img\|>|<snd>)") == ("<|img|>", "<snd>")
    assert generic("<[a-z]+>|<snd>") == ("<snd>",)
    assert generic("(<snd>)", image=False) == ()
    assert generic("") == ()


def test_a_marker_in_a_text_is_broken_once() -> None:
    words = ("<image>", "<|image|>")
    assert media.broken("an <image>, <|image|>", words) == "an <\u200bimage>, <\u200b|image|>"
    assert media.broken("<image", words) == "<image"
    assert media.broken(media.broken("<image>", words), words) == "<\u200bimage>"


@pytest.mark.parametrize(("cores", "count"), [(1, 1), (2, 2), (4, 4), (64, 4)])
def test_the_engine_gets_no_more_threads_than_cores(
    monkeypatch: pytest.MonkeyPatch, cores: int, count: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: set(range(cores)), raising=False)
    assert threads.automatic() == count


def test_cores_where_a_process_cannot_ask_which_it_may_use(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    assert threads.automatic() == 3
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert threads.automatic() == 4
