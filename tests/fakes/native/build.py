"""Compiles the misbehaving stand-in of the engine library with the system's C compiler."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent


def compiler() -> str | None:
    """Path of a C compiler, or None where there is none."""
    return shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")


def build(folder: Path, *, without: tuple[str, ...] = ()) -> Path:
    """Builds `liblitert-lm.so` in `folder` and returns its path.

    Every symbol of the real 0.18.1 library that `fake_litert.c` does not define becomes a
    weak stub returning 0. Names in `without` are left out, to play another version.
    """
    cc = compiler()
    if cc is None:
        raise RuntimeError("no C compiler")
    names = [n for n in (HERE / "symbols.txt").read_text().split() if n not in without]
    stubs = folder / "stubs.c"
    stubs.write_text(
        "".join(f"__attribute__((weak)) long {n}(void) {{ return 0; }}\n" for n in names)
    )
    target = folder / "liblitert-lm.so"
    hide = [f"-D{name}=hidden_{name}" for name in without]
    flags = ["-shared", "-fPIC", "-O1", "-pthread", "-fno-builtin", "-w"]
    command = [cc, *flags, *hide, "-o", str(target), str(HERE / "fake_litert.c"), str(stubs)]
    subprocess.run(command, check=True, capture_output=True)
    return target
