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
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from smoke_place import LINUX, Place, SmokeError, expect, logs, place, report
from smoke_window import check_window


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
