"""Where the smoke test runs the program: an awkward folder, a bare environment, a plain user."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

LINUX = sys.platform.startswith("linux")
NOBODY = 65534
ODD_NAME = "Tändem 模型 with spaces"


class SmokeError(Exception):
    """What the frozen program did wrong, in a sentence."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where the program under test lies, where it may write and who runs it."""

    program: Path
    home: Path
    user: int | None

    def environ(self, **more: str) -> dict[str, str]:
        """An environment as bare as a desktop's: no Python anywhere, data below `home`."""
        keep = (
            "LANG",
            "LC_ALL",
            "SYSTEMROOT",
            "TEMP",
            "TMP",
            "USERPROFILE",
            "WINDIR",
            "NUMBER_OF_PROCESSORS",
        )
        found = {name: os.environ[name] for name in keep if name in os.environ}
        found["PATH"] = os.environ["PATH"] if sys.platform == "win32" else str(self.home / "bin")
        return {**found, "HOME": str(self.home), "TANDEM_HOME": str(self.home / "data"), **more}

    def run(self, *arguments: str, timeout: float = 180.0) -> subprocess.CompletedProcess[str]:
        """Runs a command of the program to its end."""
        return subprocess.run(
            [str(self.program), *arguments],
            env=self.environ(),
            cwd=self.home,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=timeout,
            check=False,
            stdin=subprocess.DEVNULL,
            user=self.user,
            group=self.user,
        )

    def processes(self) -> list[psutil.Process]:
        """Everything that runs from the bundle's folder now."""
        folder = str(self.program.parent)
        found = []
        for pid in psutil.pids():
            try:
                process = psutil.Process(pid)  # a kept one would remember what it was before exec
                if process.exe().startswith(folder) and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
            except psutil.Error:
                continue
        return found


@contextmanager
def place(program: Path) -> Iterator[Place]:
    """A copy of the bundle in an awkward folder (Linux), and a fresh home."""
    base = Path(tempfile.mkdtemp(prefix="tandem-smoke-"))
    base.chmod(0o755)
    home = base / "home ö"
    (home / "bin").mkdir(parents=True)
    user = None
    if LINUX:
        target = base / ODD_NAME
        shutil.copytree(program.parent, target, symlinks=True)
        for path in [*target.rglob("*"), target]:
            if not path.is_symlink():
                path.chmod(path.stat().st_mode & ~0o222)
        program = target / program.name
        if os.geteuid() == 0:
            user = NOBODY
            for path in (home, home / "bin"):
                os.chown(path, NOBODY, NOBODY)
    try:
        yield Place(program, home, user)
    finally:
        for path in base.rglob("*"):
            if path.is_dir() and not path.is_symlink():
                path.chmod(0o700)
        shutil.rmtree(base, ignore_errors=True)


def expect(truth: object, sentence: str) -> None:
    """Raises the sentence unless the truth is true."""
    if not truth:
        raise SmokeError(sentence)


def wait_for(what: str, seconds: float, probe: Callable[[], object]) -> float:
    """Waits until the probe is true and returns how long it took."""
    begin = time.monotonic()
    while not probe():
        if time.monotonic() - begin > seconds:
            raise SmokeError(f"{what}: not within {seconds:.0f} s")
        time.sleep(0.02)
    return time.monotonic() - begin


def report(what: str, seconds: float) -> None:
    print(f"  ok  {what}  ({seconds:.2f} s)", flush=True)


def logs(at: Place) -> str:
    """The ends of the program's own logs, for the one who has to find out."""
    found = []
    for file in sorted((at.home / "data").rglob("*.log")):
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()[-25:]
        found.append("\n".join([f"--- {file.name}", *lines]))
    return "\n".join(found)
