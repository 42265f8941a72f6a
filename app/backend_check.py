"""Which backends can work on this machine, and why one cannot, before anything is loaded.

Only cheap and certain findings count: a missing Vulkan loader or driver on Linux, and what
a load in this run of the program has shown. `reasons` may be called on any thread; it only
looks at files.
"""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

from engine.types import Backend
from ui import strings_core as words

_DRIVER_FOLDERS = (
    "/usr/share/vulkan/icd.d",
    "/etc/vulkan/icd.d",
    "/usr/local/share/vulkan/icd.d",
    "~/.local/share/vulkan/icd.d",
)


class BackendCheck:
    """Main thread, but for `look`."""

    def __init__(self) -> None:
        self._found: dict[Backend, str] = {}
        self._seen: dict[Backend, str] = {}

    def look(self) -> None:
        """Looks at this machine; slow the first time (a few ms)."""
        reason = gpu_problem()
        self._found = {Backend.GPU: reason} if reason else {}

    def failed(self, backend: Backend, reason: str) -> None:
        """A load has shown that this backend does not work here."""
        self._seen[backend] = reason

    def worked(self, backend: Backend) -> None:
        self._seen.pop(backend, None)

    def reason(self, backend: Backend) -> str:
        """Why this backend cannot work here, "" if it may."""
        return self._seen.get(backend) or self._found.get(backend, "")


def gpu_problem(environ: dict[str, str] | None = None) -> str:
    """Why no GPU can be used on Linux; "" elsewhere and when there is a driver to try."""
    if not sys.platform.startswith("linux"):
        return ""
    env = dict(os.environ) if environ is None else environ
    try:
        ctypes.CDLL("libvulkan.so.1")
    except OSError:
        return words.NO_VULKAN
    if env.get("VK_DRIVER_FILES") or env.get("VK_ICD_FILENAMES"):
        return ""
    folders = (Path(folder).expanduser() for folder in _DRIVER_FOLDERS)
    return "" if any(any(folder.glob("*.json")) for folder in folders) else words.NO_VULKAN_DRIVER
