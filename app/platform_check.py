"""Says in one sentence why Tandem cannot run on this machine, before something fails worse.

Used by `run.py` before pip runs and by the program at its start (also frozen). Standard library
only, no state, any thread. The limits come from the wheels of the engine (litert-lm-api 0.18.1:
Linux x86-64 and aarch64, macOS arm64 that needs 14.0 although its tag says 12.0, Windows x64) and
of Qt (PySide6 6.11: glibc 2.34, on aarch64 2.39).
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
import sys
from dataclasses import dataclass

_GLIBC = {"x86_64": (2, 34), "aarch64": (2, 39)}
_MACOS = (14, 0)
_WINDOWS_BUILD = 10240
"""The first Windows 10."""

_IMAGE_FILE_MACHINE_ARM64 = 0xAA64


@dataclass(frozen=True, slots=True)
class Machine:
    """What the check looks at; tests make their own."""

    system: str
    """`linux`, `darwin`, `win32`: as `sys.platform`."""
    architecture: str
    """Lower case, as `platform.machine()`; of the machine, not of an emulated process."""
    bits: int
    implementation: str
    os_version: tuple[int, ...]
    """macOS: product version. Windows: major, minor, build. Linux: glibc version, empty on musl."""


def this_machine() -> Machine:
    """The machine that runs this process."""
    architecture = platform.machine().lower()
    version: tuple[int, ...] = ()
    if sys.platform == "darwin":
        version = _numbers(platform.mac_ver()[0])
        if architecture == "x86_64" and _rosetta():
            architecture = "x86_64 under rosetta"
    elif sys.platform == "win32":
        found = sys.getwindowsversion()
        version = (found.major, found.minor, found.build)
        architecture = _windows_architecture(architecture)
    else:
        version = _glibc()
    return Machine(
        system=sys.platform,
        architecture=architecture,
        bits=struct.calcsize("P") * 8,
        implementation=platform.python_implementation(),
        os_version=version,
    )


def unsupported(machine: Machine | None = None) -> str | None:
    """One sentence that says why Tandem cannot run here, or None when it can."""
    machine = machine or this_machine()
    if machine.implementation != "CPython":
        return f"Tandem needs CPython; this is {machine.implementation}."
    if machine.bits != 64:
        return "Tandem needs a 64-bit Python; this one is 32-bit."
    if machine.system == "darwin":
        return _mac(machine)
    if machine.system == "win32":
        return _windows(machine)
    if machine.system == "linux":
        return _linux(machine)
    return (
        f"Tandem runs on Linux, macOS and Windows; the engine does not exist for {machine.system}."
    )


def _mac(machine: Machine) -> str | None:
    if machine.architecture == "x86_64 under rosetta":
        return "This Python is built for Intel Macs; start Tandem with a Python for Apple silicon."
    if machine.architecture != "arm64":
        return "Tandem needs a Mac with Apple silicon; the engine does not exist for Intel Macs."
    if machine.os_version < _MACOS:
        return "Tandem needs macOS 14 or newer; this is macOS {}.".format(
            ".".join(map(str, machine.os_version)) or "of an unknown version"
        )
    return None


def _windows(machine: Machine) -> str | None:
    if machine.architecture in ("arm64", "aarch64"):
        return "Tandem needs Windows on an x64 processor; the engine does not exist for ARM."
    if machine.architecture not in ("amd64", "x86_64"):
        return f"Tandem needs Windows on an x64 processor; this one is {machine.architecture}."
    if machine.os_version < (10, 0, _WINDOWS_BUILD):
        return "Tandem needs Windows 10 or newer."
    return None


def _linux(machine: Machine) -> str | None:
    needed = _GLIBC.get(machine.architecture)
    if needed is None:
        return (
            "Tandem needs an x86-64 or 64-bit ARM processor; the engine does not exist for "
            f"{machine.architecture}."
        )
    if not machine.os_version:
        return "Tandem needs a Linux with glibc; the engine does not exist for musl (Alpine)."
    if machine.os_version < needed:
        have, want = (".".join(map(str, v)) for v in (machine.os_version, needed))
        return (
            f"Tandem needs glibc {want} or newer on this processor, as in Debian 12 or Ubuntu "
            f"22.04 (ARM: Debian 13, Ubuntu 24.04); this system has {have}."
        )
    return None


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".") if part.isdigit())


def _glibc() -> tuple[int, ...]:
    """The system's glibc; asked from the C library itself, so it is right in a frozen program."""
    try:
        name, _, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").partition(" ")
    except (AttributeError, ValueError, OSError):
        return ()
    return _numbers(version) if name == "glibc" else ()


def _rosetta() -> bool:
    """Whether this Intel process runs translated on Apple silicon."""
    return "ARM64" in os.uname().version.upper() if hasattr(os, "uname") else False


def _windows_architecture(process: str) -> str:
    """The machine's own architecture: an x64 process on Windows ARM is told `amd64` by Python."""
    own, native = ctypes.c_ushort(), ctypes.c_ushort()
    try:
        kernel = getattr(ctypes, "windll").kernel32  # noqa: B009 (exists on Windows only)
        kernel.GetCurrentProcess.restype = ctypes.c_void_p
        kernel.IsWow64Process2.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
        known = kernel.IsWow64Process2(
            kernel.GetCurrentProcess(), ctypes.byref(own), ctypes.byref(native)
        )
    except (OSError, AttributeError):  # before Windows 10 1709, where ARM did not exist
        return process
    if known and native.value == _IMAGE_FILE_MACHINE_ARM64:
        return "arm64"
    return process
