"""Header facts, and every way a file can be no model. No native library."""

from __future__ import annotations

import os
import random
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest

from engine import model_file
from engine.errors import ModelFileError
from engine.model_file import check_loadable, inspect, needs_newer_runtime
from engine.types import Backend, FileState, Modality
from tests.fakes.variants import make_variant


def test_facts_of_the_demo_model(demo_model: Path) -> None:
    info = inspect(demo_model)
    assert info.state is FileState.OK
    assert info.supports_mtp is True
    assert info.max_context == 1024
    assert info.prefill_sizes == (16, 64, 256)
    assert info.modalities == (Modality.TEXT,)
    assert info.backends == (Backend.CPU, Backend.GPU)
    assert info.file_bytes == info.expected_bytes == demo_model.stat().st_size
    assert info.stop_tokens == ("<|im_end|>", "<|endoftext|>")
    assert (info.sampler.top_k, info.sampler.top_p, info.sampler.temperature) == (40, 0.95, 0.7)
    assert info.metadata["License"] == "Apache-2.0"
    assert "<|im_start|>" in info.prompt_template
    assert info.model_type == "generic_model"
    check_loadable(info)


def test_the_plain_twin_has_no_drafter(plain_model: Path) -> None:
    assert inspect(plain_model).supports_mtp is False


def test_declared_abilities(demo_model: Path, tmp_path: Path) -> None:
    path = make_variant(
        demo_model, tmp_path / "v.litertlm", thinking=True, tools=True, max_tokens=512
    )
    info = inspect(path)
    assert info.supports_thinking
    assert info.supports_tools
    assert info.max_context == 512


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "empty"),
        (b"\n  <!DOCTYPE html><html><title>Sign in</title>", "login_page"),
        (b"\xef\xbb\xbf<html>", "login_page"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 9\n", "lfs_pointer"),
        (b"LITERTLM" + struct.pack("<III", 0, 0, 0) + bytes(100), "other_version"),
        (b"LITERTLM" + struct.pack("<III", 2, 0, 0) + bytes(100), "other_version"),
        (b"GGUF" + bytes(4096), "not_a_model"),
        (bytes(4096), "not_a_model"),
        (b"LITERTLM" + struct.pack("<IIIIQ", 1, 7, 0, 0, 2**63) + bytes(99), "not_a_model"),
        (b"LITERTLM" + struct.pack("<IIIIQ", 1, 7, 0, 0, 0) + bytes(99), "not_a_model"),
        (b"LITERTLM" + struct.pack("<IIIIQ", 1, 7, 0, 0, 4096) + b"\xff" * 8192, "not_a_model"),
    ],
)
def test_files_that_are_no_model(tmp_path: Path, content: bytes, code: str) -> None:
    path = tmp_path / "x.litertlm"
    path.write_bytes(content)
    with pytest.raises(ModelFileError) as caught:
        inspect(path)
    assert caught.value.code == code
    assert caught.value.params["path"] == str(path)


def test_places_that_are_no_file(tmp_path: Path) -> None:
    for path, code in ((tmp_path, "is_folder"), (tmp_path / "gone", "not_found")):
        with pytest.raises(ModelFileError) as caught:
            inspect(path)
        assert caught.value.code == code
    with pytest.raises(ModelFileError):
        inspect("bad\0name")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_named_pipe_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ModelFileError) as caught:
        inspect(tmp_path / "pipe")
    assert caught.value.code == "not_a_model"


@pytest.mark.parametrize("size", [5, 30, 300, 20_000, 3_000_000, 20_758_047])
def test_a_cut_file_is_incomplete_and_says_how_much(
    demo_model: Path, tmp_path: Path, size: int
) -> None:
    path = tmp_path / "cut.litertlm"
    path.write_bytes(demo_model.read_bytes()[:size])
    info = inspect(path)
    assert info.state is FileState.INCOMPLETE
    assert info.file_bytes == size < info.expected_bytes
    with pytest.raises(ModelFileError) as caught:
        check_loadable(info, try_anyway=True)
    assert caught.value.code == "incomplete"


@pytest.mark.parametrize(
    ("asked", "newer"),
    [
        ("9.9.9", True),
        ("0.18.2", True),
        ("0.19", True),
        ("0.18.1", False),
        ("v0.18.1-rc1", False),
        ("0.18", False),
        ("abc", False),
        ("", False),
        (None, False),
    ],
)
def test_runtime_versions(asked: str | None, newer: bool) -> None:
    assert needs_newer_runtime(asked) is newer


def test_a_newer_runtime_is_a_state(demo_model: Path, tmp_path: Path) -> None:
    info = inspect(make_variant(demo_model, tmp_path / "new.litertlm", min_runtime="9.9.9"))
    assert info.state is FileState.NEEDS_RUNTIME
    with pytest.raises(ModelFileError) as caught:
        check_loadable(info)
    assert caught.value.params["needs"] == "9.9.9"
    check_loadable(info, try_anyway=True)


def test_damaged_headers_end_in_our_error_and_in_time(demo_model: Path, tmp_path: Path) -> None:
    whole = demo_model.read_bytes()[:40_000]
    random_bits = random.Random(18)
    path = tmp_path / "damaged.litertlm"
    (header_end,) = struct.unpack_from("<Q", whole, 24)
    began = time.monotonic()
    outcomes = set()
    for round_ in range(400):
        data = bytearray(whole)
        for _ in range(random_bits.randrange(1, 12)):
            at = random_bits.randrange(32, header_end if round_ % 2 else 17_000)
            data[at] = random_bits.choice((0, 0xFF, 0x7F, random_bits.randrange(256)))
        path.write_bytes(data)
        try:
            outcomes.add(inspect(path).state.value)
        except ModelFileError as error:
            outcomes.add(error.code)
    assert "not_a_model" in outcomes
    assert time.monotonic() - began < 60


def test_reading_a_header_brings_in_none_of_the_tools_of_that_package() -> None:
    """NumPy, absl and the writer of the container are 22 MB of the window's process; whoever
    wants the writer afterwards still gets it."""
    code = (
        "import sys; from engine import model_file; import resources\n"
        "info = model_file.inspect(resources.DEMO_MODEL)\n"
        "heavy = ('numpy', 'absl', 'litert_lm_builder.litertlm_builder')\n"
        "print(info.supports_mtp, [m for m in heavy if m in sys.modules])\n"
        "from litert_lm_builder import litertlm_builder as writer\n"
        "print(writer.LitertLmFileBuilder.__name__, model_file.inspect(info.path) == info)\n"
    )
    root = Path(model_file.__file__).resolve().parents[1]
    env = {**os.environ, "PYTHONPATH": str(root)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env
    )
    assert done.stdout.split("\n")[:2] == ["True []", "LitertLmFileBuilder True"]
