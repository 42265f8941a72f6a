"""What a person set, kept in settings.json.

`Settings` is an immutable value; `SettingsStore` owns the file. Keys the program does not
know are kept for a newer one. A file that cannot be read is set aside under another name
and reported, never overwritten. A value out of range falls back to its default with a note.

Threads: a store belongs to one thread (the main one); writing happens on the executor
given to `bind`, or in `save_now`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

import msgspec

from app.kept_tasks import tell_failure
from app.settings_values import (
    CONTEXT_MAX,
    CONTEXT_MIN,
    THREADS_MAX,
    CrashedCombination,
    McpServer,
    Preset,
    Settings,
    SettingsNote,
    clean_spec,
    in_range,
    parse,
    sampling_ok,
)
from engine.types import Backend, LoadOptions

__all__ = [
    "CONTEXT_MAX",
    "CONTEXT_MIN",
    "THREADS_MAX",
    "CrashedCombination",
    "McpServer",
    "Preset",
    "Settings",
    "SettingsNote",
    "SettingsStore",
    "clean_spec",
    "in_range",
    "parse",
    "sampling_ok",
]

log = logging.getLogger(__name__)

SAVE_DELAY_S = 0.4


class SettingsStore:
    """The settings of this run and their file. `value` is replaced, never changed."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._unknown: dict[str, Any] = {}
        self._listeners: list[Callable[[Settings], None]] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._executor: Executor | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._dirty = False
        self._unsaved = False
        """The last try to write failed, and it was said: tried again with the next change and
        at the end, without another word."""
        self._writing: asyncio.Task[None] | None = None
        self.notes: list[SettingsNote] = []
        self.on_note: Callable[[SettingsNote], None] | None = None
        self.value = self._read()

    def bind(self, loop: asyncio.AbstractEventLoop, executor: Executor) -> None:
        """From now on changes are written by themselves, debounced, on `executor`."""
        self._loop, self._executor = loop, executor
        if self._dirty:
            self._schedule()

    def subscribe(self, listener: Callable[[Settings], None]) -> Callable[[], None]:
        """Calls `listener` after each change; the result unsubscribes."""
        self._listeners.append(listener)

        def unsubscribe() -> None:
            with contextlib.suppress(ValueError):
                self._listeners.remove(listener)

        return unsubscribe

    def change(self, **fields: Any) -> Settings:
        """Replaces fields. Raises ValueError for one that is out of range."""
        for key, value in fields.items():
            if not in_range(key, value):
                raise ValueError(f"{key} out of range: {value!r}")
        new = msgspec.structs.replace(self.value, **fields)
        if new == self.value:
            return new
        self.value = new
        self._dirty = True
        for listener in list(self._listeners):
            listener(new)
        self._schedule()
        return new

    def load_options(self, cache_dir: str = "") -> LoadOptions:
        """What to load next according to the settings; `speculative` is up to the chat."""
        v = self.value
        return LoadOptions(
            model_path=v.model_path,
            backend=v.backend,
            context_tokens=v.context_tokens,
            threads=v.threads,
            cache=v.cache,
            cache_dir=cache_dir,
            gpu_float16=v.gpu_float16,
        )

    def crashed_with(self, model_path: str, backend: Backend) -> CrashedCombination | None:
        for item in self.value.crashed:
            if item.model_path == model_path and item.backend == backend:
                return item
        return None

    def remember_crash(self, model_path: str, backend: Backend, exit_words: str) -> None:
        kept = [c for c in self.value.crashed if (c.model_path, c.backend) != (model_path, backend)]
        new = CrashedCombination(model_path, backend, time.time(), exit_words)
        self.change(crashed=(*kept, new)[-20:])

    def forget_crash(self, model_path: str, backend: Backend) -> None:
        kept = tuple(
            c for c in self.value.crashed if (c.model_path, c.backend) != (model_path, backend)
        )
        self.change(crashed=kept)

    def remember_model(self, model_path: str, backend: Backend) -> None:
        """Puts a loaded model first in the recent list and makes it the next start's."""
        others = [p for p in self.value.recent_models if p != model_path]
        self.change(
            model_path=model_path, backend=backend, recent_models=(model_path, *others)[:12]
        )

    def save_now(self) -> None:
        """Writes on the calling thread if anything changed (command line, quit)."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._dirty or self._unsaved:
            self._dirty = False
            self._report(self._write(self._encode()))

    async def flush(self) -> None:
        """Waits until everything changed so far is on disk (or has been reported)."""
        if self._writing is not None:
            await self._writing
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._dirty or self._unsaved:
            await self._save()

    def _schedule(self) -> None:
        if self._loop is None or self._timer is not None or not self._dirty:
            return
        self._timer = self._loop.call_later(SAVE_DELAY_S, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        if self._loop is not None and self._writing is None:
            self._writing = self._loop.create_task(self._save())
            self._writing.add_done_callback(self._on_written)

    def _on_written(self, task: asyncio.Task[None]) -> None:
        self._writing = None
        tell_failure(task)
        self._schedule()

    async def _save(self) -> None:
        self._dirty = False
        data = self._encode()
        loop = asyncio.get_running_loop()
        self._report(await loop.run_in_executor(self._executor, self._write, data))

    def _report(self, problem: OSError | None) -> None:
        told, self._unsaved = self._unsaved, problem is not None
        if problem is None or told:
            return
        log.warning("settings not saved: %s", problem)
        note = SettingsNote("settings_not_saved", {"reason": problem.strerror or str(problem)})
        self.notes.append(note)
        if self.on_note is not None:
            self.on_note(note)

    def _encode(self) -> bytes:
        known = msgspec.to_builtins(self.value)
        return msgspec.json.format(msgspec.json.encode({**self._unknown, **known}), indent=2)

    def _read(self) -> Settings:
        try:
            data = self._file.read_bytes()
        except FileNotFoundError:
            return Settings()
        except OSError as problem:
            self._set_aside(str(problem))
            return Settings()
        try:
            raw = msgspec.json.decode(data)
            if not isinstance(raw, dict):
                raise msgspec.DecodeError("not an object")
        except msgspec.DecodeError as problem:
            self._set_aside(str(problem))
            return Settings()
        value, self._unknown, notes = parse(raw)
        self.notes += notes
        return value

    def _set_aside(self, reason: str) -> None:
        target = self._file.with_name(f"settings.damaged-{time.strftime('%Y%m%d-%H%M%S')}.json")
        try:
            os.replace(self._file, target)
        except OSError:
            # It can neither be read nor moved: never write over it in this run.
            self._file = Path(tempfile.mkdtemp(prefix="tandem-settings-")) / "settings.json"
        log.warning("settings file set aside as %s: %s", target.name, reason)
        self.notes.append(SettingsNote("settings_set_aside", {"file": str(target)}))

    def _write(self, data: bytes) -> OSError | None:
        """Temporary file, fsync, atomic rename; user-only. Any thread."""
        temporary = self._file.with_name(f".{self._file.name}.{os.getpid()}.tmp")
        try:
            fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with open(fd, "wb") as out:
                out.write(data)
                out.flush()
                os.fsync(out.fileno())
            os.replace(temporary, self._file)
        except OSError as problem:
            with contextlib.suppress(OSError):
                temporary.unlink()
            return problem
        return None
