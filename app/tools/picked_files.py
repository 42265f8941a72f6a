"""The text files a model may read: only those the person picked, one by one.

Main thread keeps the list; `read` runs on the tools thread. A file is found by the name
shown, never by a path from the model.
"""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

from app.tools.registry import ToolFailure

MAX_FILE_BYTES = 1_000_000
MAX_TEXT_CHARS = 8_000
"""What goes to the model of one file; a context holds little more."""


class PickedFiles:
    """Names and paths of the picked files, in order. Not stored: a new start has none."""

    def __init__(self) -> None:
        self._files: dict[str, Path] = {}
        self._lock = threading.Lock()

    def names(self) -> tuple[str, ...]:
        with self._lock:
            return tuple(self._files)

    def add(self, path: str) -> str:
        """Allows one file; returns the name it is known by. ToolFailure if it is no file."""
        real = Path(os.path.realpath(path))
        if not real.is_file():
            raise ToolFailure(f"{real.name or path} is not a file.")
        with self._lock:
            for name, known in self._files.items():
                if known == real:
                    return name
            name, number = real.name, 2
            while name in self._files:
                name, number = f"{real.stem} ({number}){real.suffix}", number + 1
            self._files[name] = real
            return name

    def remove(self, name: str) -> None:
        with self._lock:
            self._files.pop(name, None)

    def read(self, name: str) -> dict[str, object]:
        """Text of a picked file, cut at `MAX_TEXT_CHARS`. Any thread. ToolFailure."""
        with self._lock:
            path = self._files.get(name)
            known = ", ".join(self._files) or "none"
        if path is None:
            raise ToolFailure(f"The user did not pick a file called “{name}”. Picked: {known}.")
        text = _text_of(_bytes_of(path, name), name)
        out: dict[str, object] = {"name": name, "text": text[:MAX_TEXT_CHARS]}
        if len(text) > MAX_TEXT_CHARS:
            out["note"] = f"Only the first {MAX_TEXT_CHARS} of {len(text)} characters."
        return out


def _bytes_of(path: Path, name: str) -> bytes:
    # The path was resolved when it was picked: a link put in its place since is not followed.
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    flags |= getattr(os, "O_BINARY", 0)
    try:
        with open(os.open(path, flags), "rb") as file:
            facts = os.fstat(file.fileno())
            if not stat.S_ISREG(facts.st_mode):
                raise ToolFailure(f"{name} is not a file any more.")
            if facts.st_size > MAX_FILE_BYTES:
                raise ToolFailure(f"{name} is larger than {MAX_FILE_BYTES // 1000} kB.")
            return file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise ToolFailure(f"{name} cannot be read: {error.strerror}.") from None


def _text_of(data: bytes, name: str) -> str:
    try:
        if data.startswith((b"\xff\xfe", b"\xfe\xff")):
            return data.decode("utf-16")
        if b"\0" not in data:
            return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        pass
    raise ToolFailure(f"{name} is not a text file.")
