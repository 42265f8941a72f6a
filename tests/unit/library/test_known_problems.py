"""Files known to be faulty are found by size and content, whatever their name."""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import threading
from pathlib import Path

import pytest

from app.library import known_problems
from app.library.known_problems import KnownFile, KnownProblems, load
from app.library.local import LocalModel, Source
from ui import model_strings as words

DATA = b"a faulty model" * 100


def known(data: bytes = DATA) -> KnownProblems:
    digest = hashlib.sha256(data).hexdigest()
    entry = KnownFile(name="x", bytes=len(data), sha256=digest, problem="byte_pieces", source="y")
    return KnownProblems([entry])


def look(problems: KnownProblems, path: Path) -> str:
    return asyncio.run(problems.look(str(path), threading.Event()))


def model(path: Path) -> LocalModel:
    status = path.stat()
    return LocalModel(path=str(path), name=path.stem, source=Source.OWN,
                      bytes=status.st_size, mtime_ns=status.st_mtime_ns)  # fmt: skip


def test_the_list_we_ship_is_whole() -> None:
    files = load()
    assert files
    for entry in files:
        assert re.fullmatch("[0-9a-f]{64}", entry.sha256)
        assert entry.bytes > 1_000_000
        assert entry.source.startswith("https://")
        assert words.KNOWN_PROBLEMS[entry.problem].endswith(".")


def test_found_by_content_under_any_name(tmp_path: Path) -> None:
    problems, file = known(), tmp_path / "renamed.litertlm"
    file.write_bytes(DATA)
    assert problems.to_look_at([model(file)]) == [str(file)]
    assert look(problems, file) == "byte_pieces"
    assert problems.found == {str(file): "byte_pieces"}
    assert problems.to_look_at([model(file)]) == [], "read once"


def test_another_file_of_that_size_is_innocent(tmp_path: Path) -> None:
    problems, file = known(), tmp_path / "same-size.litertlm"
    file.write_bytes(bytes(len(DATA)))
    assert look(problems, file) == ""
    assert problems.found == {}


def test_files_of_other_sizes_are_never_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no(*_args: object) -> str:
        raise AssertionError("gigabytes read for nothing")

    monkeypatch.setattr(known_problems, "hash_blocking", no)
    problems, file = known(), tmp_path / "other.litertlm"
    file.write_bytes(DATA + b"x")
    assert problems.to_look_at([model(file)]) == []
    assert look(problems, file) == ""
    assert look(problems, tmp_path / "gone.litertlm") == ""


def test_a_replaced_file_is_looked_at_again(tmp_path: Path) -> None:
    problems, file = known(), tmp_path / "m.litertlm"
    file.write_bytes(DATA)
    assert look(problems, file)
    file.write_bytes(bytes(len(DATA)))
    os.utime(file, (1, 1))
    assert problems.to_look_at([model(file)]) == [str(file)]
    assert look(problems, file) == ""
    assert problems.found == {}
