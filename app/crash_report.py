"""What went wrong last time, in a file that a person may send: the problem report.

Three parts: the mark of a run (`begin`, `end`) that tells the next start whether the program
fell over, `cause` that knows some reasons by their traces in the logs, and the bundle itself
(`contents`, `write`). Nothing is ever sent anywhere. A bundle holds versions, the machine,
the ends of the logs and harmless settings; conversations only when asked for; never a
token, never the name of a folder outside the program. No Qt; any thread.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import re
import sys
import time
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from app import logs
from app.paths import Paths
from app.settings_values import Settings
from app.version import APP_NAME, VERSION
from engine.types import LIBRARY_VERSION, LoadedModel, LoadOptions

LINES = 300
MAX_CRASH_BYTES = 256_000
_FATAL = "Fatal Python error"
_WINDOWS_FATAL = "Windows fatal exception"

_CAUSES: tuple[tuple[str, str], ...] = (
    ("processor", r"is not available on this processor|illegal instruction"),
    ("gpu_adapter", r"No adapters found|no_gpu_adapter"),
    ("gpu_operations", r"Following operations are not supported by GPU|gpu_unsupported_ops"),
    (
        "disk_full",
        r"No space left on device|cannot append buffer to cache file|[Dd]isk quota exceeded"
        r"|not enough space on the disk|database or disk is full|\[Errno (?:28|122)\]",
    ),
    (
        "memory",
        r"bad_alloc|[Oo]ut of (?:host |device )?memory|Cannot allocate memory|RESOURCE_EXHAUSTED"
        r"|memory allocation of \d+ bytes failed|failed to map segment from shared object"
        r"|OUT_OF_(?:HOST|DEVICE)_MEMORY|out_of_memory|MemoryError|0xC000012D",
    ),
    ("cache", r"Could not map file[^\n]*cache|cache_failed|sharing violation"),
    ("drafter", r"tf_lite_mtp_drafter not found|drafter[^\n]*not found|no_drafter"),
    ("killed", r"signal 9"),
    ("gpu_driver", r"Selected adapter:|vk[A-Z]\w+|DXGI_|D3D12|device lost"),
    (
        "damaged",
        r"signal 6|signal 11|bus error|access violation|heap corruption|stack buffer overrun"
        r"|\(abort\)",
    ),
)
"""Cause and its trace, the surest first. Phrases of 0.18.1 and of its drivers."""


@dataclass(frozen=True, slots=True)
class AppCrash:
    """The program ended with a fatal error last time. `trace` is what the handler wrote."""

    trace: str


def begin(paths: Paths) -> AppCrash | None:
    """Marks this run as going on; tells of a crash of the one before. Never raises.

    Call it once, after `logs.setup` and only in the process that owns the window.
    """
    found = None
    with contextlib.suppress(OSError, ValueError, TypeError):
        before = json.loads(_mark(paths).read_text(encoding="utf-8"))
        trace = _since(paths.crash_log, int(before.get("crash_bytes", 0)))
        if _FATAL in trace or _WINDOWS_FATAL in trace:
            found = AppCrash(logs.redact(trace))
    with contextlib.suppress(OSError):
        if _size(paths.crash_log) > MAX_CRASH_BYTES:
            os.truncate(paths.crash_log, 0)
    with contextlib.suppress(OSError):
        mark = {"pid": os.getpid(), "crash_bytes": _size(paths.crash_log), "version": VERSION}
        descriptor = os.open(_mark(paths), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(descriptor, "w", encoding="utf-8") as out:
            json.dump(mark, out)
    return found


def end(paths: Paths) -> None:
    """The run ended as it should. Never raises."""
    with contextlib.suppress(OSError):
        _mark(paths).unlink()


def cause(*texts: str) -> str:
    """Name of the likely cause (a key of `ui.strings_report.CAUSES`), "" when unknown.

    The GPU driver counts only as an explanation of a process that fell over."""
    whole = "\n".join(texts)
    fell = re.search(r"signal \d|exit code 0x|Fatal Python error", whole) is not None
    for name, pattern in _CAUSES:
        if name in ("gpu_driver", "damaged") and not fell:
            continue
        if re.search(pattern, whole):
            return name
    return ""


def facts(
    picked: LoadOptions | None = None,
    loaded: LoadedModel | None = None,
    *,
    qt: str = "",
    exit_words: str = "",
    likely: str = "",
) -> dict[str, object]:
    """What is known about the program and the machine, as it goes into `report.json`."""
    from app.bench.environment import cpu_name, total_memory

    options = loaded.options if loaded is not None else picked
    known: dict[str, object] = {
        "program": f"{APP_NAME} {VERSION}",
        "engine": loaded.library_version if loaded is not None else LIBRARY_VERSION,
        "python": platform.python_version(),
        "qt": qt,
        "frozen": bool(getattr(sys, "frozen", False)),
        "system": platform.platform(),
        "processor": cpu_name(),
        "cores": os.cpu_count(),
        "memory_bytes": total_memory(),
        "written": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "exit": exit_words,
        "likely_cause": likely,
    }
    if options is not None:
        known |= {
            "model": Path(options.model_path).name,
            "model_bytes": _size(Path(options.model_path)),
            "backend": str(options.backend),
            "context_tokens": loaded.context_tokens if loaded else options.context_tokens,
            "threads": options.threads,
            "cache": "folder" if os.path.isabs(options.cache) else options.cache,
        }
    if loaded is not None:
        known |= {"adapter": loaded.adapter, "adapter_type": loaded.adapter_type}
    return known


_HARMLESS = (
    "theme", "text_size", "density", "reduced_motion", "enter_sends", "backend",
    "context_tokens", "threads", "cache_cap_bytes", "gpu_float16", "load_at_start",
    "tools_enabled", "sidebar_visible",
)  # fmt: skip


def harmless(settings: Settings) -> dict[str, object]:
    """The settings that tell nothing about the person: no prompts, paths, commands, names."""
    plain: dict[str, object] = {name: getattr(settings, name) for name in _HARMLESS}
    plain["cache"] = "folder" if os.path.isabs(settings.cache) else settings.cache
    plain["sampling"] = msgspec.to_builtins(settings.chat.sampling)
    plain["speculative"] = str(settings.chat.spec)
    plain["tool_servers"] = len(settings.mcp_servers)
    plain["crashed"] = [
        {"model": Path(c.model_path).name, "backend": str(c.backend), "exit": c.exit}
        for c in settings.crashed
    ]
    return plain


def contents(
    paths: Paths,
    known: Mapping[str, object],
    settings: Settings,
    *,
    crash: str = "",
    conversations: Iterable[tuple[str, str]] = (),
) -> dict[str, str]:
    """Names and texts of the bundle. Reads the ends of the log files. Never raises.

    `crash` is the trace or the engine's last words; `conversations` are (title, Markdown)
    and belong in only when the person said so."""
    files = {
        "report.json": json.dumps(known, indent=1, ensure_ascii=False),
        "settings.json": json.dumps(
            msgspec.to_builtins(harmless(settings)), indent=1, ensure_ascii=False
        ),
        "app.log": logs.last_lines(paths.app_log, LINES),
        "engine.log": logs.last_lines(paths.engine_log, LINES),
        "crash.txt": crash,
    }
    for number, (_title, text) in enumerate(conversations, 1):
        files[f"conversation-{number}.md"] = text
    return {name: _clean(text, paths) for name, text in files.items() if text}


def write(target: Path, files: Mapping[str, str]) -> None:
    """Writes the bundle as a zip file for this user only. Raises OSError."""
    part = target.with_name(target.name + ".part")
    try:
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with (
            open(descriptor, "wb") as out,
            zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as zipped,
        ):
            for name, text in files.items():
                zipped.writestr(name, text)
        os.replace(part, target)
    except OSError:
        with contextlib.suppress(OSError):
            part.unlink()
        raise


def _clean(text: str, paths: Paths) -> str:
    """Without tokens, and with the program's and the person's folders by short names."""
    text = logs.redact(text)
    short = [(str(p), f"<{name}>") for name, p in _folders(paths)]
    with contextlib.suppress(RuntimeError):
        short.append((str(Path.home()), "~"))
    for folder, name in sorted(short, key=lambda pair: -len(pair[0])):
        if len(folder) > 2:
            text = text.replace(folder, name)
    return text


def _folders(paths: Paths) -> tuple[tuple[str, Path], ...]:
    return (
        ("config", paths.config),
        ("data", paths.data),
        ("cache", paths.cache),
        ("logs", paths.logs),
    )


def _mark(paths: Paths) -> Path:
    return paths.logs / "running.json"


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0


def _since(file: Path, offset: int) -> str:
    with file.open("rb") as source:
        source.seek(offset if offset <= _size(file) else 0)
        return source.read(MAX_CRASH_BYTES).decode("utf-8", "replace")
