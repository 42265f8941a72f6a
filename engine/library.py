"""Finds and opens the native LiteRT-LM library, once per process.

Search order: the path in the environment variable `TANDEM_ENGINE_LIBRARY` (tests and
experts; not checked for its version, only for its symbols), the folder of a frozen
bundle, the installed package `litert-lm-api`. The version is taken from the package's
metadata because the library has no version function; anything but `LIBRARY_VERSION` is
refused, since another version means other signatures and silent memory corruption.

Threads: `open_library` is locked. Errors: `LibraryError`.
"""

from __future__ import annotations

import ctypes
import importlib.metadata
import importlib.util
import os
import sys
import threading
from pathlib import Path
from typing import Any

import cffi

from engine._cdef import CDEF, OPTIONAL, REQUIRED
from engine.errors import LibraryError
from engine.types import LIBRARY_VERSION

OVERRIDE = "TANDEM_ENGINE_LIBRARY"
PACKAGE = "litert-lm-api"

_lock = threading.Lock()
_opened: OpenLibrary | None = None
_dll_folder: Any = None


class OpenLibrary:
    """The loaded library: `ffi`, `lib`, where it came from and which features it has."""

    def __init__(self, ffi: Any, lib: Any, path: Path) -> None:
        self.ffi, self.lib, self.path = ffi, lib, path
        missing = sorted(name for name in REQUIRED if not _has(lib, name))
        if missing:
            raise LibraryError(
                "library_version",
                f"missing symbols: {', '.join(missing)}",
                found="unknown",
                needs=LIBRARY_VERSION,
            )
        self.features = frozenset(
            feature for feature, names in OPTIONAL.items() if all(_has(lib, n) for n in names)
        )


def library_name(platform: str = sys.platform) -> str:
    """File name of the library on one platform."""
    if platform == "win32":
        return "litert-lm.dll"
    return "liblitert-lm.dylib" if platform == "darwin" else "liblitert-lm.so"


def find_library() -> Path:
    """Path of the library file. Raises `LibraryError("library_missing"|"library_version")`."""
    override = os.environ.get(OVERRIDE)
    if override:
        path = Path(override)
        if not path.is_file():
            raise LibraryError("library_missing", f"{OVERRIDE}={override}")
        return path
    check_version()
    tried: list[str] = []
    for folder in _folders():
        path = folder / library_name()
        if path.is_file():
            return path
        tried.append(str(path))
    raise LibraryError("library_missing", "looked for " + ", ".join(tried or [library_name()]))


def check_version() -> None:
    """Refuses any version but the pinned one. A bundle without metadata passes: it was
    built from the pinned lock file and its symbols are checked at opening."""
    try:
        found = importlib.metadata.version(PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        if getattr(sys, "frozen", False):
            return
        raise LibraryError("library_missing", f"package {PACKAGE} is not installed") from None
    if found != LIBRARY_VERSION:
        raise LibraryError(
            "library_version", f"{PACKAGE} {found}", found=found, needs=LIBRARY_VERSION
        )


def _folders() -> list[Path]:
    folders: list[Path] = []
    bundle = getattr(sys, "_MEIPASS", None)
    if bundle:
        folders += [Path(bundle) / "litert_lm", Path(bundle)]
    spec = importlib.util.find_spec("litert_lm")
    for place in (spec.submodule_search_locations or []) if spec else []:
        folders.append(Path(place))
    return folders


def open_library() -> OpenLibrary:
    """Opens the library on the first call and returns the same object afterwards."""
    global _opened
    with _lock:
        if _opened is None:
            path = find_library()
            ffi = cffi.FFI()
            ffi.cdef(CDEF)
            _opened = OpenLibrary(ffi, _dlopen(ffi, path), path)
        return _opened


def _dlopen(ffi: Any, path: Path) -> Any:
    _prepare_windows(path.parent)
    try:
        return ffi.dlopen(str(path))
    except OSError as error:
        code = "library_unloadable"
        if sys.platform == "darwin" and "macOS" in str(error):
            code = "platform_unsupported"
        raise LibraryError(code, str(error)) from error


def _prepare_windows(folder: Path) -> None:
    """Windows looks for the shader compilers beside the program, not beside the library:
    add the folder and load both by absolute path. Their absence only costs the GPU."""
    global _dll_folder
    if sys.platform == "win32":
        _dll_folder = os.add_dll_directory(str(folder))
        for name in ("dxil.dll", "dxcompiler.dll"):
            if (folder / name).is_file():
                try:
                    ctypes.WinDLL(str(folder / name))
                except OSError:
                    continue


def _has(lib: Any, name: str) -> bool:
    try:
        getattr(lib, name)
    except AttributeError:
        return False
    return True
