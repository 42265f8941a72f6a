"""The log of the engine process: rotation, and the few facts only it tells.

The library prints acceptance, the GPU adapter and some reasons of failure to its log and
nowhere else. A reader remembers where its child began to write and looks only at what
came after. All functions are for the parent process; any thread.

Source of the phrases: seen in the output of 0.18.1.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
from pathlib import Path
from typing import NamedTuple

from engine.errors import BackendError, EngineError, LoadError

MAX_BYTES = 1 << 20
KEPT = 2
MAX_READ = 4 << 20

_RATE = re.compile(r"MTP Drafter - Success rate:\s*([0-9.eE+-]+)")
_ADAPTER = re.compile(r"Selected adapter:\s*(.*)")
_UNSUPPORTED = "Following operations are not supported by GPU delegate"


class Adapter(NamedTuple):
    name: str
    kind: str


def rotate(path: Path) -> None:
    """Moves a full log aside and makes sure the folder exists. Never raises."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if path.stat().st_size > MAX_BYTES:
            for number in range(KEPT, 0, -1):
                source = path if number == 1 else path.with_name(f"{path.name}.{number - 1}")
                if source.exists():
                    os.replace(source, path.with_name(f"{path.name}.{number}"))


def size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def read_since(path: Path, offset: int) -> str:
    """The text written after `offset`, its last part if there is very much."""
    try:
        with path.open("rb") as file:
            end = file.seek(0, os.SEEK_END)
            file.seek(max(offset, end - MAX_READ))
            return file.read(MAX_READ).decode("utf-8", "replace")
    except OSError:
        return ""


def acceptance(text: str) -> float | None:
    """Accepted / drafted over one engine's life: the last rate in `text`, 0 to 1."""
    found = _RATE.findall(text)
    try:
        rate = float(found[-1]) if found else -1.0
    except ValueError:
        return None
    return rate if 0 <= rate <= 1 else None


def adapter(text: str) -> Adapter | None:
    """The GPU adapter the library chose, from a line of name and key=value parts."""
    found = _ADAPTER.findall(text)
    if not found:
        return None
    parts = [p.strip() for p in found[-1].split(",")]
    kind = next((p.split("=", 1)[1] for p in parts if p.startswith("adapterType=")), "")
    return Adapter(parts[0], kind)


def explain(error: EngineError, text: str) -> EngineError:
    """A better-named error for a failed load when the log knows the reason."""
    if not isinstance(error, LoadError) or error.code not in ("load_failed", "no_gpu_adapter"):
        return error
    reason = next((line for line in text.splitlines() if _UNSUPPORTED in line), "")
    if reason:
        detail = f"{reason.strip()}\n{error.detail}"
        return BackendError("gpu_unsupported_ops", detail, **error.params)
    if "No adapters found" in text:
        return BackendError("no_gpu_adapter", error.detail, **error.params)
    if "mldrift_weight_cache" in text and "Could not map file" in text:
        return LoadError("cache_failed", error.detail, **error.params)
    return error


def tail(text: str, lines: int = 40) -> str:
    """The last lines, for the details of an error."""
    return "\n".join(text.splitlines()[-lines:])


_SIGNALS = {
    "SIGABRT": "abort",
    "SIGSEGV": "segmentation fault",
    "SIGKILL": "killed",
    "SIGBUS": "bus error",
    "SIGILL": "illegal instruction",
    "SIGFPE": "arithmetic error",
    "SIGTERM": "terminated",
}
_OWN = {70: "a fault in the engine process"}
"""Exit codes of `engine.host`."""
_WINDOWS = {
    0xC0000005: "access violation",
    0xC0000374: "heap corruption",
    0xC0000409: "stack buffer overrun",
    0xC00000FD: "stack overflow",
    0xC000001D: "illegal instruction",
    0xC0000135: "a DLL was not found",
    0xC000012D: "out of memory",
    0x40000015: "abort",
}


def exit_words(code: int | None) -> str:
    """An exit code of `multiprocessing` in words, e.g. "signal 6 (abort)"."""
    if code is None:
        return "no exit code"
    if code < 0 and -code < 128:
        try:
            name = signal.Signals(-code).name
        except ValueError:
            return f"signal {-code}"
        return f"signal {-code} ({_SIGNALS.get(name, name)})"
    if code in _OWN:
        return f"exit code {code} ({_OWN[code]})"
    words = _WINDOWS.get(code & 0xFFFFFFFF)
    return f"exit code 0x{code & 0xFFFFFFFF:08X} ({words})" if words else f"exit code {code}"
