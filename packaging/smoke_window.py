"""The window part of the smoke test: one user at a virtual X screen, from start to end."""

from __future__ import annotations

import sqlite3
import subprocess
import time
from collections.abc import Mapping
from contextlib import closing

import psutil
import x11_driver
from smoke_place import Place, expect, report, wait_for

START_S = 60.0
ANSWER_S = 90.0
QUIT_S = 10.0


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
