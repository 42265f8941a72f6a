"""Faults on the real engine: damaged files, damaged caches, small memory, signals, sleep."""

from __future__ import annotations

import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine import model_file
from engine.client import HostedEngine
from engine.errors import CODES, EngineCrashed
from engine.litert import LiteRtEngine
from engine.types import (
    FinishReason,
    GenerateRequest,
    LoadOptions,
    Message,
    Sampling,
    TextPart,
)
from tests.faults import kill_rounds, model_fuzz


def ask(run_id: int, text: str = "Say hello.", tokens: int = 8) -> GenerateRequest:
    return GenerateRequest(
        run_id=run_id,
        chat_key="faults",
        message=Message(role="user", parts=(TextPart(text=text),)),
        sampling=Sampling(top_k=1, max_output_tokens=tokens),
    )


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[HostedEngine]:
    made = HostedEngine(log_path=tmp_path / "engine.log")
    yield made
    made.close()


def options(model: Path, tmp_path: Path) -> LoadOptions:
    return LoadOptions(model_path=str(model), cache_dir=str(tmp_path / "cache"))


def test_damaged_headers_are_only_ever_model_file_errors(demo_model: Path, tmp_path: Path) -> None:
    info = model_file.inspect(demo_model)
    head = demo_model.read_bytes()[: min(s.end for s in info.sections)]
    rng = random.Random(3)
    seen = set()
    for _ in range(400):
        data = bytearray(head)
        for _ in range(rng.choice([1, 1, 2, 8])):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        broken = tmp_path / "broken.litertlm"
        broken.write_bytes(bytes(data))
        os.truncate(broken, info.file_bytes)
        seen.add(model_fuzz.read_header(broken))
    assert seen <= CODES | {"ok"}
    assert len(seen) > 2, seen


def test_damaged_models_end_in_an_answer_or_one_error(
    demo_model: Path, tmp_path: Path, engine: HostedEngine
) -> None:
    info = model_file.inspect(demo_model)
    for damage in model_fuzz.corpus(info, random.Random(7), 10):
        broken = damage.apply(demo_model, tmp_path / "broken.litertlm")
        word = model_fuzz.load_and_ask(engine, broken, tmp_path / "cache")
        assert word == "answered" or word in CODES, (damage, word)
    assert model_fuzz.load_and_ask(engine, demo_model, tmp_path / "cache") == "answered"


@pytest.mark.parametrize("fill", [b"", b"\0" * 4096, b"garbage" * 999])
def test_corrupt_caches_do_not_stop_a_load(
    demo_model: Path, tmp_path: Path, engine: HostedEngine, fill: bytes
) -> None:
    wanted = options(demo_model, tmp_path)
    engine.load(wanted)
    engine.generate(ask(1), lambda _b: None)
    engine.unload()
    files = [f for f in (tmp_path / "cache").rglob("*") if f.is_file()]
    assert files
    for file in files:
        file.write_bytes(fill)
    engine.load(wanted)
    assert engine.generate(ask(2), lambda _b: None).text


def test_a_cache_folder_that_cannot_be_made_means_no_cache(
    demo_model: Path, tmp_path: Path, engine: HostedEngine
) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be")
    loaded = engine.load(options(demo_model, tmp_path))
    assert "cache_off" in loaded.notes
    assert engine.generate(ask(1), lambda _b: None).text


def test_cache_folder_removed_while_running(
    demo_model: Path, tmp_path: Path, engine: HostedEngine
) -> None:
    wanted = options(demo_model, tmp_path)
    engine.load(wanted)
    shutil.rmtree(tmp_path / "cache")
    assert engine.generate(ask(1), lambda _b: None).text
    engine.unload()
    engine.load(wanted)
    assert engine.generate(ask(2), lambda _b: None).text


def test_loading_twice_unchanged_writes_no_new_cache(
    demo_model: Path, tmp_path: Path, engine: HostedEngine
) -> None:
    wanted = options(demo_model, tmp_path)

    def state() -> dict[str, int]:
        return {str(f): f.stat().st_mtime_ns for f in (tmp_path / "cache").rglob("*")}

    beside = sorted(demo_model.parent.iterdir())
    engine.load(wanted)
    engine.generate(ask(1), lambda _b: None)
    engine.unload()
    first = state()
    engine.load(wanted)
    engine.generate(ask(2), lambda _b: None)
    engine.unload()
    assert state() == first
    assert sorted(demo_model.parent.iterdir()) == beside


def test_the_model_file_removed_while_loaded(
    demo_model: Path, tmp_path: Path, engine: HostedEngine
) -> None:
    model = Path(shutil.copyfile(demo_model, tmp_path / "mine.litertlm"))
    engine.load(options(model, tmp_path))
    model.unlink()
    assert engine.generate(ask(1), lambda _b: None).text


@pytest.mark.parametrize("folder", ["模型 ß é", "with spaces", "x" * 120])
def test_odd_paths(demo_model: Path, tmp_path: Path, engine: HostedEngine, folder: str) -> None:
    place = tmp_path / folder / folder
    place.mkdir(parents=True)
    model = Path(shutil.copyfile(demo_model, place / "modèle 模型.litertlm"))
    loaded = engine.load(LoadOptions(model_path=str(model), cache_dir=str(place / "cache é")))
    assert engine.generate(ask(1), lambda _b: None).text
    assert loaded.notes == ()
    assert list((place / "cache é").rglob("*"))


SMALL = """
import resource, sys
from pathlib import Path
from tests.faults import model_fuzz
from engine.client import HostedEngine
if __name__ == "__main__":
    limit = int(sys.argv[3]) * 1024 * 1024
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    engine = HostedEngine(log_path=Path(sys.argv[2]) / "engine.log")
    try:
        print(model_fuzz.load_and_ask(engine, Path(sys.argv[1]), Path(sys.argv[2]) / "cache"))
    finally:
        engine.close()
"""


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_AS"), reason="no address space limit here")
@pytest.mark.parametrize("megabytes", [300, 450, 700])
def test_a_small_address_space_is_an_error_or_an_answer(
    demo_model: Path, tmp_path: Path, megabytes: int
) -> None:
    script = tmp_path / "small.py"
    script.write_text(SMALL)
    done = subprocess.run(
        [sys.executable, str(script), str(demo_model), str(tmp_path), str(megabytes)],
        capture_output=True,
        text=True,
        timeout=240,
        env={**os.environ, "PYTHONPATH": os.getcwd()},
    )
    word = done.stdout.strip()
    assert word == "answered" or word in CODES, (word, done.stderr[-2000:])


FULL = """
import resource, sys
from pathlib import Path
from app import crash_report
from engine.client import HostedEngine
from engine.errors import EngineCrashed
from engine.types import LoadOptions
if __name__ == "__main__":
    kind = getattr(resource, sys.argv[3])
    limit = int(sys.argv[4])
    resource.setrlimit(kind, (limit, limit))
    folder = Path(sys.argv[2])
    engine = HostedEngine(log_path=folder / "engine.log")
    wanted = LoadOptions(model_path=sys.argv[1], cache_dir=str(folder / "cache"))
    try:
        engine.load(wanted)
        print("loaded")
    except EngineCrashed as error:
        print(crash_report.cause(error.params["exit"], error.detail))
    finally:
        engine.close()
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of a process on Linux")
@pytest.mark.parametrize(
    ("limit", "size", "likely"),
    [("RLIMIT_AS", 400 << 20, "memory"), ("RLIMIT_FSIZE", 300_000, "disk_full")],
)
def test_a_crash_for_want_of_room_has_its_cause(
    demo_model: Path, tmp_path: Path, limit: str, size: int, likely: str
) -> None:
    """No memory, or no room for the cache: the engine aborts, and its log tells why."""
    script = tmp_path / "full.py"
    script.write_text(FULL)
    done = subprocess.run(
        [sys.executable, str(script), str(demo_model), str(tmp_path), limit, str(size)],
        capture_output=True,
        text=True,
        timeout=240,
        env={**os.environ, "PYTHONPATH": os.getcwd()},
    )
    assert done.stdout.strip() == likely, (done.stdout, done.stderr[-2000:])


def test_no_room_for_a_cache_means_none(
    demo_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine would abort in the middle of writing it. One that is there is used."""
    engine, wanted = LiteRtEngine(), options(demo_model, tmp_path)
    free = shutil.disk_usage(tmp_path)._replace(free=1_000_000)
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "disk_usage", lambda _folder: free)
        assert engine.load(wanted).notes == ("cache_no_room",)
        assert list((tmp_path / "cache").iterdir()) == []
        engine.unload()
    assert engine.load(wanted).notes == ()
    engine.unload()
    monkeypatch.setattr(shutil, "disk_usage", lambda _folder: free)
    assert engine.load(wanted).notes == ()
    assert engine.generate(ask(1), lambda _b: None).text
    engine.close()


def test_signals_at_random_moments(demo_model: Path, tmp_path: Path) -> None:
    tally = kill_rounds.rounds(12, demo_model, tmp_path, seed=5)
    assert tally.wrong == []
    assert sum(tally.ends.values()) == 12
    assert any(end.startswith("crashed") for end in tally.ends), tally.ends


def test_suspended_and_continued_goes_on(
    demo_model: Path, tmp_path: Path, engine: HostedEngine
) -> None:
    engine.load(options(demo_model, tmp_path))
    assert engine.pid is not None
    pid = engine.pid
    os.kill(pid, signal.SIGSTOP)
    timer = threading.Timer(3.0, os.kill, [pid, signal.SIGCONT])
    timer.start()
    outcome = engine.generate(ask(1), lambda _b: None)
    timer.join()
    assert outcome.text
    assert outcome.reason in (FinishReason.LIMIT, FinishReason.END)


def test_a_suspended_engine_can_be_stopped(
    demo_model: Path, tmp_path: Path, engine: HostedEngine
) -> None:
    engine.load(options(demo_model, tmp_path))
    assert engine.pid is not None
    pid = engine.pid
    timers = [
        threading.Timer(0.1, os.kill, [pid, signal.SIGSTOP]),
        threading.Timer(0.5, engine.cancel, [1]),
    ]
    for timer in timers:
        timer.start()
    started = time.monotonic()
    try:
        outcome = engine.generate(ask(1, "Tell me a long story.", 900), lambda _b: None)
    except EngineCrashed as error:
        assert error.params["exit"]  # noqa: PT017 - either way of ending is right
    else:
        assert outcome.reason in (FinishReason.END, FinishReason.LIMIT, FinishReason.CONTEXT_FULL)
    for timer in timers:
        timer.join()
    assert time.monotonic() - started < 60
    engine.kill()
    engine.load(options(demo_model, tmp_path))
    assert engine.generate(ask(3), lambda _b: None).text
