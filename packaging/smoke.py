"""Starts the frozen program and checks that it does what it is for; used by `build.py` and in CI.

    .venv/bin/python packaging/smoke.py dist/tandem/tandem

Everywhere: the commands. On Linux also the window, driven from outside on a virtual screen: one
window and one engine process, an answer, a killed engine that comes back, a second start, a clean
end with nothing left. The program runs as an unprivileged user when the caller is root, from a copy
whose path has spaces and non-ASCII letters and which it cannot write to, without Python on PATH,
with stdout and stderr closed. Exits 1 at the first thing that is wrong, with the logs.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
import x11_driver

LINUX = sys.platform.startswith("linux")
NOBODY = 65534
ODD_NAME = "Tändem 模型 with spaces"
START_S = 60.0
ANSWER_S = 90.0
QUIT_S = 10.0


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


# -- commands --------------------------------------------------------------------------------------


def check_commands(at: Place, demo: Path) -> None:
    """The command line: versions, capabilities, the engine's round trip, one answer each way."""
    short = ("--max-tokens", "16")
    measured = ("--runs", "1", "--class", "code", "--prompts", "1", "--no-first-load", "--no-save")
    for arguments, needs in (
        (("--version",), "LiteRT-LM"),
        (("self-test",), ""),
        (("chat", str(demo), "Say hello.", *short), "tok/s"),
        (("chat", str(demo), "Say hello.", "--spec", *short), "tok/s"),
        (("bench", str(demo), *measured, *short), "tok/s"),
    ):
        begin = time.monotonic()
        done = at.run(*arguments)
        output = done.stdout + done.stderr
        expect(done.returncode == 0, f"{arguments[0]} ended with {done.returncode}: {output}")
        expect(needs in output, f"{arguments[0]} printed no {needs!r}: {output}")
        report(f"{' '.join(a for a in arguments if a != str(demo))}", time.monotonic() - begin)
    facts = json.loads(at.run("info", str(demo), "--json").stdout)
    expect(facts, "info --json printed nothing")
    wrong = at.run("info", str(at.home / "missing.litertlm"))
    expect(wrong.returncode == 1, f"info on a missing file ended with {wrong.returncode}")
    expect(len(wrong.stderr.strip().splitlines()) == 1, f"not one line: {wrong.stderr}")
    expect(not at.processes(), "a command left a process behind")


# -- the window ------------------------------------------------------------------------------------


def check_window(at: Place) -> None:
    """The window on a virtual X screen, from start to end."""
    with x11_driver.virtual_screen() as name, x11_driver.Display(name) as screen:
        session = Session(at, screen, at.environ(DISPLAY=name, QT_QPA_PLATFORM="xcb"))
        try:
            session.start("cold")
            session.ask("Say hello to me", answers=1)
            session.lose_engine()
            session.ask("And hello again", answers=2)
            session.start_twice()
            session.quit()
            session.start("warm")
            session.die()
        finally:
            session.sweep()


class Session:
    """One user at the screen; every step raises SmokeError when it goes wrong."""

    def __init__(self, at: Place, screen: x11_driver.Display, environ: Mapping[str, str]) -> None:
        self._at, self._screen, self._environ = at, screen, dict(environ)
        self._program: subprocess.Popen[bytes] | None = None
        self._lost: int | None = None

    @property
    def program(self) -> subprocess.Popen[bytes]:
        """The running window's process; raises when it has ended, so that nobody waits in vain."""
        assert self._program is not None
        code = self._program.poll()
        expect(code is None, f"the program ended with {code}")
        return self._program

    def windows(self) -> list[int]:
        """Visible windows of any process of the bundle."""
        return self._screen.windows({process.pid for process in self._at.processes()})

    def start(self, how: str) -> None:
        """Starts with stdin, stdout and stderr closed, as some desktops do."""
        begin = time.monotonic()
        self._program = subprocess.Popen(
            ["/bin/sh", "-c", 'exec "$0" <&- >&- 2>&-', str(self._at.program)],
            env=self._environ,
            cwd=self._at.home,
            user=self._at.user,
            group=self._at.user,
        )
        wait_for("a window", START_S, lambda: self.program and self.windows())
        report(f"window visible after start ({how})", time.monotonic() - begin)
        time.sleep(2.0)
        self.expect_one_window("after the start")

    def expect_one_window(self, when: str) -> None:
        count = len(self.windows())
        expect(count == 1, f"{count} windows instead of one {when}")

    def ask(self, text: str, answers: int) -> None:
        """Types a message, waits for its answer in the history, looks at the processes."""
        window = self.windows()[0]
        self._screen.focus(window)
        self._screen.type(window, text + "\n")
        took = wait_for(
            f"answer {answers}", ANSWER_S, lambda: self.program and finished(self._at) >= answers
        )
        report(f"answer {answers} stored", took)
        running = engines(self._at, self.program.pid)
        expect(len(running) == 1, f"{len(running)} engine processes instead of one")
        expect(running[0].pid != self._lost, "the killed engine process is still there")
        self.expect_one_window("while the engine runs")

    def lose_engine(self) -> None:
        """Kills the engine process; the window must not care."""
        engine = engines(self._at, self.program.pid)[0]
        self._lost = engine.pid
        engine.kill()
        wait_for("the engine process to go", 10, lambda: not engine.is_running())
        time.sleep(1.5)
        expect(self.program, "")
        self.expect_one_window("after the engine was killed")

    def start_twice(self) -> None:
        """A second start hands over to the first and ends."""
        again = subprocess.Popen(
            [str(self._at.program)],
            env=self._environ,
            cwd=self._at.home,
            user=self._at.user,
            group=self._at.user,
        )
        code = again.wait(START_S)
        expect(code == 0, f"a second start ended with {code}")
        self.expect_one_window("after a second start")

    def quit(self) -> None:
        """Ctrl+Q: exit code 0 soon, and nothing left."""
        program, window = self.program, self.windows()[0]
        self._screen.focus(window)
        begin = time.monotonic()
        self._screen.control_key(window, "q")
        code = program.wait(QUIT_S)
        report("quit", time.monotonic() - begin)
        expect(code == 0, f"the program ended with {code} after Ctrl+Q")
        wait_for("every process to end", 5, lambda: not self._at.processes())

    def die(self) -> None:
        """The window is killed in the middle of things; its engine must follow."""
        window = self.windows()[0]
        self._screen.focus(window)
        self._screen.type(window, "One more\n")
        wait_for("an engine process", ANSWER_S, lambda: engines(self._at, self.program.pid))
        self.program.kill()
        wait_for("the engine to follow its killed window", 10, lambda: not self._at.processes())
        report("engine gone after its window was killed", 0)

    def sweep(self) -> None:
        """Leaves no process behind, whatever happened."""
        if self._program:
            self._program.kill()
            self._program.wait()
        for process in self._at.processes():
            process.kill()


def engines(at: Place, pid: int) -> list[psutil.Process]:
    """Engine processes below the window: those that hold the native library."""
    found = []
    for process in psutil.Process(pid).children(recursive=True):
        try:
            held = [m.path for m in process.memory_maps()] if process in at.processes() else []
        except psutil.Error:
            continue
        if any("litert-lm" in path for path in held):
            found.append(process)
    return found


def finished(at: Place) -> int:
    """How many answers the history holds in full."""
    files = list((at.home / "data").rglob("history.sqlite3"))
    if not files:
        return 0
    try:
        with closing(sqlite3.connect(f"file:{files[0]}?mode=ro", uri=True)) as database:
            rows = database.execute(
                "SELECT count(*) FROM node WHERE role = 'assistant' AND status = 'done'"
                " AND length(text) > 0"
            )
            return int(rows.fetchone()[0])
    except sqlite3.Error:
        return 0


# -- all of it -------------------------------------------------------------------------------------


def report(what: str, seconds: float) -> None:
    print(f"  ok  {what}  ({seconds:.2f} s)", flush=True)


def logs(at: Place) -> str:
    """The ends of the program's own logs, for the one who has to find out."""
    found = []
    for file in sorted((at.home / "data").rglob("*.log")):
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()[-25:]
        found.append("\n".join([f"--- {file.name}", *lines]))
    return "\n".join(found)


def main(arguments: Sequence[str] | None = None) -> int:
    """0 when everything was right."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", type=Path)
    parser.add_argument("--no-window", action="store_true", help="check the commands only")
    options = parser.parse_args(arguments)
    program: Path = options.program.resolve()
    demo = next(program.parents[1].rglob("tandem-demo.litertlm"), None)
    if demo is None:
        print(f"smoke: no demo model near {program}", file=sys.stderr)
        return 1
    with place(program) as at:
        inside = next(at.program.parent.rglob("tandem-demo.litertlm"), demo)
        try:
            check_commands(at, inside)
            if LINUX and not options.no_window:
                check_window(at)
        except (SmokeError, subprocess.TimeoutExpired) as error:
            print(f"{logs(at)}\nsmoke: FAILED: {error}", file=sys.stderr)
            return 1
    print("smoke: everything works")
    return 0


if __name__ == "__main__":
    sys.exit(main())
