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
from typing import Any, get_type_hints

import msgspec

from app.conversation import ChatSettings
from engine.types import Backend, LoadOptions, Sampling, SpecMode

log = logging.getLogger(__name__)

SAVE_DELAY_S = 0.4
CONTEXT_MIN, CONTEXT_MAX = 256, 1_048_576
THREADS_MAX = 256


class CrashedCombination(msgspec.Struct, frozen=True):
    """A model and backend that took the engine process down; not loaded by itself."""

    model_path: str
    backend: Backend
    when: float = 0.0
    exit: str = ""


class McpServer(msgspec.Struct, frozen=True, kw_only=True):
    """A local tool server started over stdio. `env` holds no secrets by convention."""

    name: str
    command: str
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    enabled: bool = True


class Preset(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    settings: ChatSettings


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """All settings, flat. Defaults are what a new user gets."""

    version: int = 1
    # Appearance
    theme: str = "system"
    text_size: int = 14
    density: str = "comfortable"
    reduced_motion: bool = False
    # Chat
    enter_sends: bool = True
    chat: ChatSettings = ChatSettings()
    presets: tuple[Preset, ...] = ()
    default_preset: str = ""
    show_footer: bool = True
    # Engine (load settings)
    model_path: str = ""
    backend: Backend = Backend.CPU
    context_tokens: int = 0
    threads: int = 0
    cache: str = "disk"
    cache_cap_bytes: int = 0
    gpu_float16: bool = False
    load_at_start: bool = True
    crashed: tuple[CrashedCombination, ...] = ()
    # Models
    recent_models: tuple[str, ...] = ()
    model_folders: tuple[str, ...] = ()
    # Tools
    tools_enabled: dict[str, bool] = {}
    tools_ask: dict[str, bool] = {}
    mcp_servers: tuple[McpServer, ...] = ()
    # Window
    window_geometry: str = ""
    window_state: str = ""
    splitters: dict[str, str] = {}
    sidebar_visible: bool = True
    open_chats: tuple[str, ...] = ()
    current_chat: str = ""
    current_tab: str = ""
    welcomed: bool = False


class SettingsNote(msgspec.Struct, frozen=True):
    """Something to tell about the file: code "settings_set_aside", "settings_value" or
    "settings_not_saved"; `params` fill the sentence."""

    code: str
    params: dict[str, str] = {}


def _one_of(*allowed: str) -> Callable[[Any], bool]:
    return lambda value: value in allowed


def _between(low: float, high: float) -> Callable[[Any], bool]:
    return lambda value: low <= value <= high


def sampling_ok(value: Sampling) -> bool:
    """Range check of a sampler: the native setters accept anything, so we do not."""
    return (
        0.0 <= value.temperature <= 5.0
        and 0.0 < value.top_p <= 1.0
        and 1 <= value.top_k <= 100_000
        and (value.seed is None or 0 <= value.seed < 2**31)
        and (value.max_output_tokens is None or 1 <= value.max_output_tokens <= CONTEXT_MAX)
        and (value.repetition_penalty is None or 0.0 < value.repetition_penalty <= 5.0)
    )


def _context_ok(value: Any) -> bool:
    return bool(value == 0 or CONTEXT_MIN <= value <= CONTEXT_MAX)


def _chat_ok(value: ChatSettings) -> bool:
    budget = value.thinking_budget
    return sampling_ok(value.sampling) and (budget is None or 1 <= budget <= CONTEXT_MAX)


_RANGES: dict[str, Callable[[Any], bool]] = {
    "theme": _one_of("system", "light", "dark"),
    "text_size": _between(10, 32),
    "density": _one_of("comfortable", "compact"),
    "context_tokens": _context_ok,
    "threads": _between(0, THREADS_MAX),
    "cache": lambda value: value in ("disk", "memory", "no") or os.path.isabs(value),
    "cache_cap_bytes": _between(0, 2**50),
    "chat": _chat_ok,
}


def in_range(field: str, value: Any) -> bool:
    """Whether `value` is acceptable for the setting `field`."""
    check = _RANGES.get(field)
    return check is None or bool(check(value))


def parse(raw: dict[str, Any]) -> tuple[Settings, dict[str, Any], list[SettingsNote]]:
    """(settings, unknown keys, notes) from the decoded JSON object. Never raises."""
    hints = get_type_hints(Settings)
    known: dict[str, Any] = {}
    unknown: dict[str, Any] = {}
    notes: list[SettingsNote] = []
    for key, value in raw.items():
        if key not in hints:
            unknown[key] = value
            continue
        try:
            converted = msgspec.convert(value, hints[key], strict=True)
            good = in_range(key, converted)
        except (msgspec.ValidationError, TypeError, ValueError):
            good = False
        if good:
            known[key] = converted
        else:
            notes.append(SettingsNote("settings_value", {"key": key, "value": repr(value)[:60]}))
    return Settings(**known), unknown, notes


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
        self._writing: asyncio.Future[None] | None = None
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
        if self._dirty:
            self._dirty = False
            self._report(self._write(self._encode()))

    async def flush(self) -> None:
        """Waits until everything changed so far is on disk (or has been reported)."""
        if self._writing is not None:
            await self._writing
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._dirty:
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

    def _on_written(self, _task: asyncio.Future[None]) -> None:
        self._writing = None
        self._schedule()

    async def _save(self) -> None:
        self._dirty = False
        data = self._encode()
        loop = asyncio.get_running_loop()
        self._report(await loop.run_in_executor(self._executor, self._write, data))

    def _report(self, problem: OSError | None) -> None:
        if problem is None:
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


def clean_spec(value: SpecMode, supports_mtp: bool | None) -> SpecMode:
    """A spec choice that this model can have: a file without a drafter always gets Off."""
    return value if supports_mtp else SpecMode.OFF
