"""What only the engine process can show: deaths, deadlines, the log, memory."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from engine import child_calls, client, errors, host
from engine.client import HostedEngine
from engine.types import FinishReason, LoadOptions
from tests.engine.conftest import FINE, Chat, assistant, user

STORY = "Tell me a very long story about a cat and a dog in the garden."


@pytest.fixture
def options(demo_model: Path, cache: Path) -> LoadOptions:
    return LoadOptions(model_path=str(demo_model), cache_dir=str(cache))


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[HostedEngine]:
    made = HostedEngine(log_path=tmp_path / "logs" / "engine.log")
    yield made
    made.close()


def test_acceptance_and_peak_come_with_the_unload(
    engine: HostedEngine, options: LoadOptions
) -> None:
    engine.load(options)
    Chat(engine, speculative=True).send(STORY)
    report = engine.unload()
    assert report.acceptance_rate is not None
    assert 0 < report.acceptance_rate <= 1
    assert report.peak_memory is not None
    engine.load(options)
    Chat(engine).send("Hello")
    assert engine.unload().acceptance_rate is None


def test_signs_of_life(
    engine: HostedEngine, options: LoadOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child_calls, "POLL_S", 0.005)  # also a quick load is looked at
    seen: list[tuple[float, int | None]] = []
    engine.on_progress = lambda seconds, rss: seen.append((seconds, rss))
    assert engine.pid is None
    assert engine.last_heartbeat is None
    loaded = engine.load(options)
    assert engine.pid == loaded.pid
    assert seen
    deadline = time.monotonic() + 60
    while engine.rss is None and time.monotonic() < deadline:
        time.sleep(0.02)
    assert engine.rss is not None
    assert engine.rss > 20_000_000
    assert engine.last_heartbeat is not None
    engine.unload()
    assert engine.pid is None
    assert not psutil.pid_exists(loaded.pid)


def test_the_log_is_private_and_holds_no_words_of_the_chat(
    engine: HostedEngine, options: LoadOptions
) -> None:
    engine.load(options)
    answer = Chat(engine, system="Be a zebra.").send("Tell me about xylophones, please.")
    engine.unload()
    path = engine.log_path
    assert path is not None
    text = path.read_text()
    assert "XNNPACK" in text
    assert "zebra" not in text
    assert "xylophone" not in text
    assert answer.text[:20] not in text
    if os.name == "posix":
        assert path.stat().st_mode & 0o077 == 0


@pytest.mark.skipif(not Path("/proc").exists(), reason="looks into /proc")
def test_the_child_holds_no_qt_and_no_numpy(engine: HostedEngine, options: LoadOptions) -> None:
    loaded = engine.load(options)
    maps = Path(f"/proc/{loaded.pid}/maps").read_text()
    assert "liblitert" in maps
    for name in ("Qt6", "PySide6", "numpy"):
        assert name not in maps


def test_a_stopped_turn_is_settled_while_nobody_waits(
    engine: HostedEngine, options: LoadOptions
) -> None:
    engine.load(options)
    how = []
    for _ in range(3):
        chat = Chat(engine, system="You speak about the sea.")
        for _ in range(2):
            assert chat.send_and_stop(STORY, after_steps=4).reason is FinishReason.STOPPED
            time.sleep(0.6)
            after = chat.send("Hi")
            assert after.reason in FINE
            how.append(after.resumed)
    assert set(how) <= {"resident", "checkpoint"}
    assert "resident" in how[::2], "in the first turn of a chat"
    assert "resident" in how[1::2]


def test_a_long_chat_opened_again_is_settled_once_somebody_writes(
    engine: HostedEngine, options: LoadOptions
) -> None:
    engine.load(options)
    old = (user("Tell me about the sea."), assistant("The sea is wide. " * 40))
    how: dict[bool, list[str]] = {False: [], True: []}
    for writes in (False, True) * 4:
        chat = Chat(engine)
        chat.history = old
        chat.send_and_stop(STORY, after_steps=4)
        if writes:
            engine.expect(chat.key)
        time.sleep(0.5)
        how[writes].append(chat.send("Hi").resumed)
    assert "resident" not in how[False]
    assert "resident" in how[True]


def test_every_command_is_heard_while_a_stopped_turn_is_settled(
    engine: HostedEngine, options: LoadOptions
) -> None:
    engine.load(options)
    for after in (0.0, 0.09, 0.1, 0.105, 0.11, 0.12, 0.15):
        chat = Chat(engine)
        chat.send_and_stop(STORY, after_steps=4)
        engine.expect(chat.key)
        time.sleep(after)
        assert engine.count_tokens("Hello") > 0
        chat.send_and_stop(STORY, after_steps=4)
        time.sleep(after)
        request = chat.request(STORY)
        engine.cancel(request.run_id)
        assert chat.run(request).reason is FinishReason.STOPPED
        assert chat.send("Hi").reason in FINE
        chat.send_and_stop(STORY, after_steps=4)
        time.sleep(after)
        engine.forget(chat.key)
        assert chat.send("Hi").resumed == "rebuilt"
    chat.send_and_stop(STORY)
    time.sleep(host.SETTLE_AFTER_S)
    engine.unload()
    engine.expect(chat.key)
    engine.load(options)
    engine.expect(chat.key)
    assert chat.send("Hi").reason in FINE


def test_killed_from_outside_while_answering(engine: HostedEngine, options: LoadOptions) -> None:
    loaded = engine.load(options)
    chat = Chat(engine)
    chat.on_batch = lambda _b: os.kill(loaded.pid, signal.SIGKILL)
    with pytest.raises(errors.EngineCrashed) as caught:
        chat.send_long(STORY)
    assert caught.value.code == "crashed"
    assert "9" in caught.value.params["exit"]
    assert chat.batches, "the text so far was delivered"
    with pytest.raises(errors.GenerationError):
        chat.send("Hello")
    chat.on_batch = lambda _b: None
    engine.load(options)
    assert chat.send("Hello").reason in FINE


def test_killed_from_outside_while_idle(engine: HostedEngine, options: LoadOptions) -> None:
    loaded = engine.load(options)
    os.kill(loaded.pid, signal.SIGKILL)
    with pytest.raises(errors.EngineCrashed):
        Chat(engine).send("Hello")
    engine.load(options)
    assert engine.count_tokens("Hello") > 0


@pytest.mark.parametrize("rubbish", [b"\xc1", b"\x81\xa4type\xa4load", b""])
def test_a_fault_of_the_command_thread_ends_the_process(
    engine: HostedEngine, options: LoadOptions, rubbish: bytes
) -> None:
    """It must not live on with a heartbeat and without ears."""
    loaded = engine.load(options)
    child = engine._child
    assert child is not None
    child._out.put(rubbish)
    assert child.wait(10), "the process went on without listening"
    with pytest.raises(errors.EngineCrashed) as caught:
        Chat(engine).send("Hello")
    assert caught.value.params["exit"] == "exit code 70 (a fault in the engine process)"
    assert "Traceback" in caught.value.detail
    assert not psutil.pid_exists(loaded.pid)
    engine.load(options)
    assert Chat(engine).send("Hello").reason in FINE


def test_kill_ends_a_load_and_a_generation(
    engine: HostedEngine, options: LoadOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child_calls, "POLL_S", 0.005)  # also a quick load is looked at
    engine.on_progress = lambda _s, _r: engine.kill()
    with pytest.raises(errors.LoadError) as cancelled:
        engine.load(options)
    assert cancelled.value.code == "load_cancelled"
    engine.on_progress = None
    engine.load(options)
    chat = Chat(engine)
    chat.on_batch = lambda _b: engine.kill()
    with pytest.raises(errors.EngineCrashed):
        chat.send_long(STORY)
    engine.kill()
    engine.load(options)


@pytest.mark.skipif(os.name != "posix", reason="needs SIGSTOP")
def test_a_frozen_child_is_found_out_and_killed(
    engine: HostedEngine, options: LoadOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child_calls, "SILENT_S", 2.5)
    loaded = engine.load(options)
    chat = Chat(engine)
    chat.on_batch = lambda _b: os.kill(loaded.pid, signal.SIGSTOP)
    began = time.monotonic()
    with pytest.raises(errors.EngineCrashed) as caught:
        chat.send_long(STORY)
    assert caught.value.code == "unresponsive"
    assert time.monotonic() - began < 30
    assert not psutil.pid_exists(loaded.pid)


@pytest.mark.skipif(os.name != "posix", reason="needs SIGSTOP")
def test_closing_over_a_frozen_child_takes_about_a_second(
    engine: HostedEngine, options: LoadOptions
) -> None:
    loaded = engine.load(options)
    os.kill(loaded.pid, signal.SIGSTOP)
    began = time.monotonic()
    engine.close()
    assert time.monotonic() - began < 20
    assert not psutil.pid_exists(loaded.pid)


def test_cancel_never_blocks_even_when_the_child_is_frozen(
    engine: HostedEngine, options: LoadOptions
) -> None:
    if os.name != "posix":
        pytest.skip("needs SIGSTOP")
    loaded = engine.load(options)
    chat = Chat(engine)
    chat.on_batch = lambda _b: os.kill(loaded.pid, signal.SIGSTOP)
    slowest: list[float] = []

    def stop() -> None:
        began = time.monotonic()
        engine.cancel(chat.run_id)
        slowest.append(time.monotonic() - began)

    timer = threading.Timer(0.5, stop)
    timer.start()
    with pytest.raises(errors.EngineCrashed) as caught:
        chat.send_long(STORY)
    timer.join()
    assert slowest[0] < 0.3
    assert caught.value.code == "unresponsive"


def test_a_damaged_graph_is_an_error_not_the_end(
    engine: HostedEngine, options: LoadOptions, demo_model: Path, tmp_path: Path
) -> None:
    from engine.model_file import inspect

    data = bytearray(demo_model.read_bytes())
    main = next(s for s in inspect(demo_model).sections if s.model_type.endswith("prefill_decode"))
    for at in range(main.begin + 64, main.begin + 200_000, 7):
        data[at] ^= 0x5A
    broken = tmp_path / "broken.litertlm"
    broken.write_bytes(data)
    import msgspec

    with pytest.raises(errors.EngineError) as caught:
        engine.load(msgspec.structs.replace(options, model_path=str(broken), cache="no"))
    assert caught.value.code in errors.CODES
    engine.load(options)
    assert Chat(engine).send("Hello").reason in FINE


def test_a_second_call_meanwhile_is_refused(engine: HostedEngine, options: LoadOptions) -> None:
    engine.load(options)
    chat = Chat(engine)
    refused: list[str] = []

    def again(_batch: object) -> None:
        if not refused:
            with pytest.raises(errors.GenerationError) as caught:
                engine.count_tokens("x")
            refused.append(caught.value.code)

    chat.on_batch = again
    chat.send("Hello")
    assert refused == ["busy"]


PARENT = """
import os, sys
from engine.client import HostedEngine
from engine.types import FinishReason, LoadOptions

if __name__ == "__main__":
    engine = HostedEngine()
    loaded = engine.load(LoadOptions(model_path=sys.argv[1], cache="no"))
    print(loaded.pid, flush=True)
    {end}
"""


@pytest.mark.parametrize(
    "end", ["os._exit(3)", "os.kill(os.getpid(), 9)", "sys.exit(0)", "raise SystemError('x')"]
)
def test_the_child_ends_with_its_parent(demo_model: Path, tmp_path: Path, end: str) -> None:
    if os.name != "posix" and "kill" in end:
        pytest.skip("needs signals")
    script = tmp_path / "parent.py"
    script.write_text(textwrap.dedent(PARENT).replace("{end}", end))
    root = str(Path(client.__file__).resolve().parents[1])
    done = subprocess.run(
        [sys.executable, str(script), str(demo_model)],
        capture_output=True,
        text=True,
        timeout=240,
        env={**os.environ, "PYTHONPATH": root},
        check=False,
    )
    pid = int(done.stdout.split()[0])
    deadline = time.monotonic() + 60
    while psutil.pid_exists(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not psutil.pid_exists(pid)


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX priorities")
def test_the_engine_steps_back_behind_the_window(demo_model: Path, tmp_path: Path) -> None:
    engine = HostedEngine()
    try:
        engine.load(LoadOptions(model_path=str(demo_model), cache_dir=str(tmp_path)))
        assert engine.pid is not None
        wanted = min(19, psutil.Process().nice() + host.NICENESS)
        assert psutil.Process(engine.pid).nice() == wanted
    finally:
        engine.close()
