"""Starts Tandem from a checkout; needs nothing but Python 3.11 or newer.

    python3 run.py                  the window
    python3 run.py chat "Hello"     everything else is handed to the program: chat, bench, info, …
    python3 run.py test [ARGS]      all checks of the project; ARGS go to pytest
    python3 run.py test --only CHECK    one of ruff, format, types, imports, tests

The first start makes `.venv` beside this file from `requirements.lock` (hashes checked, wheels
only) with the pip of the Python that runs it; later starts do so only when the lock file or the
Python changed. A file lock keeps two starts from working on it at once, and the stamp is written
last: a start that was interrupted half-way is made anew. Standard library only, and no syntax that
an older Python could not read, so that it can say in a sentence what is missing.
"""

import sys

if sys.version_info < (3, 11):  # noqa: UP036 (older ones do start this file)
    sys.exit(
        f"Tandem needs Python 3.11 or newer; this is Python {sys.version_info[0]}."
        f"{sys.version_info[1]}. Start run.py with a newer one, for example: python3.12 run.py"
    )

import contextlib
import hashlib
import importlib.util
import json
import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
STAMP = VENV / "tandem-stamp.json"
LOCK_FILE = ROOT / ".venv.lock"
REQUIREMENTS = {"run": ROOT / "requirements.lock", "test": ROOT / "requirements-dev.lock"}
WINDOWS = os.name == "nt"
VENV_PYTHON = VENV / ("Scripts/python.exe" if WINDOWS else "bin/python")
NEWEST = (3, 14)
"""The newest Python that all wheels in the lock exist for (PySide6 6.11: below 3.15)."""

CHECKS: "dict[str, tuple[str, ...]]" = {
    "ruff": ("-m", "ruff", "check", "."),
    "format": ("-m", "ruff", "format", "--check", "."),
    "types": ("-m", "mypy"),
    "imports": ("-c", "from importlinter.cli import lint_imports_command as check; check()"),
    # Quicker, in two processes: ARGS `-n 2 --dist loadfile --no-loadscope-reorder
    # --max-worker-restart 0` (a process that crashes then ends the run).
    "tests": ("-m", "pytest"),
}


class SetupError(Exception):
    """What keeps Tandem from starting, as one sentence for the user."""


def main(arguments: Sequence[str]) -> int:
    """Makes the environment ready, then becomes the program or runs the checks."""
    try:
        refuse_unsupported()
        testing = list(arguments[:1]) == ["test"]
        make_ready("test" if testing else "run")
        return run_checks(arguments[1:]) if testing else start(arguments)
    except SetupError as error:
        print(f"run.py: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("run.py: interrupted", file=sys.stderr)
        return 130


def refuse_unsupported() -> None:
    """Says what no wheel exists for, before pip says it in twenty lines."""
    sys.path.insert(0, str(ROOT))
    from app.platform_check import unsupported

    reason = unsupported()
    if reason is None and sys.version_info[:2] > NEWEST:
        reason = "Tandem's libraries do not exist for Python {}.{} yet; use {}.{}.".format(
            *sys.version_info[:2], *NEWEST
        )
    if reason:
        raise SetupError(reason)


# -- the environment -------------------------------------------------------------------------------


def make_ready(kind: str) -> None:
    """Brings `.venv` to what the lock file says; returns at once when it is there already."""
    wanted = fingerprint()
    if ready(read_stamp(), wanted, kind):
        return
    with only_one():
        stamp = read_stamp()  # another start may have done the work meanwhile
        if ready(stamp, wanted, kind):
            return
        if stamp is None or stamp.get("python") != wanted["python"] or not VENV_PYTHON.exists():
            create_environment()
            stamp = {}
        STAMP.unlink(missing_ok=True)
        # The development lock holds everything of the other one, at the same versions.
        testing = kind == "test" or "test" in stamp
        install(REQUIREMENTS["test" if testing else "run"])
        write_stamp({key: wanted[key] for key in ("python", "run", *(["test"] * testing))})


def fingerprint() -> dict[str, str]:
    """What `.venv` depends on: the Python that makes it and the two lock files."""
    found = {
        name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in REQUIREMENTS.items()
    }
    found["python"] = f"{base_python()} {sys.version} {ROOT}"
    return found


def ready(stamp: "dict[str, str] | None", wanted: "dict[str, str]", kind: str) -> bool:
    """Whether the stamp says that `.venv` serves `kind` with this Python and these locks."""
    if stamp is None or not VENV_PYTHON.exists():
        return False
    return all(stamp.get(key) == wanted[key] for key in ("python", "run", kind))


def read_stamp() -> "dict[str, str] | None":
    try:
        found = json.loads(STAMP.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def write_stamp(stamp: "dict[str, str]") -> None:
    draft = STAMP.with_suffix(".partial")
    draft.write_text(json.dumps(stamp, indent=1) + "\n", encoding="utf-8")
    os.replace(draft, STAMP)


def base_python() -> str:
    """The installed Python, also when this file is run by the one inside `.venv`."""
    return os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)


def create_environment() -> None:
    """An empty `.venv` (an unfinished or foreign one is cleared) that can import the checkout."""
    say("Setting up Tandem in .venv (once; about 250 MB are fetched) …")
    if importlib.util.find_spec("venv") is None:
        raise SetupError(no_pip())
    run_quietly([base_python(), "-m", "venv", "--clear", "--without-pip", str(VENV)])
    packages = subprocess.run(
        [VENV_PYTHON, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    # With this the program starts from any folder, without PYTHONPATH, which children inherit.
    Path(packages, "tandem-checkout.pth").write_text(f"{ROOT}\n", encoding="utf-8")


def install(requirements: Path) -> None:
    """Installs a lock file into `.venv`; raises SetupError with what to do."""
    say(f"Installing {requirements.name} …")
    command = [*pip(), "install", "--require-hashes", "--only-binary", ":all:"]
    command += ["--no-input", "--disable-pip-version-check", "-r", str(requirements)]
    if not sys.stdout.isatty():
        command.append("--quiet")
    # A user's own defaults for where pip installs would send the files elsewhere.
    environ = {k: v for k, v in os.environ.items() if k not in ("PIP_TARGET", "PIP_PREFIX")}
    environ.update(PIP_USER="0", PIP_REQUIRE_VIRTUALENV="0")
    code = subprocess.run(command, env=environ, check=False).returncode
    if code:
        raise SetupError(
            f"the packages of {requirements.name} could not be installed (pip ended with {code}); "
            "the reason stands above. Check the network or proxy and start again."
        )


def pip() -> "list[str]":
    """How pip is called on `.venv`: the pip of this Python, or one put there by ensurepip."""
    if importlib.util.find_spec("pip") is not None:
        probe = [base_python(), "-m", "pip", "--python", str(VENV_PYTHON), "--version"]
        if subprocess.run(probe, capture_output=True, check=False).returncode == 0:
            return probe[:-1]
    inside = [str(VENV_PYTHON), "-m", "pip"]
    if subprocess.run([*inside, "--version"], capture_output=True, check=False).returncode:
        run_quietly([str(VENV_PYTHON), "-m", "ensurepip", "--default-pip"])
    return inside


def run_quietly(command: "list[str]") -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip() or done.stdout.strip() or "no reason given").splitlines()[-1]
        raise SetupError(f"{no_pip()} ({last})")


def no_pip() -> str:
    hint = ""
    if sys.platform.startswith("linux"):
        hint = " On Debian or Ubuntu: sudo apt install python3-venv python3-pip"
    return f"this Python cannot make virtual environments or lacks pip.{hint}"


@contextlib.contextmanager
def only_one() -> Iterator[None]:
    """Holds the setup lock; waits while another start holds it. It goes with the process."""
    with LOCK_FILE.open("a+b") as file:
        told = False
        while not try_lock(file.fileno()):
            if not told:
                say("Another start is setting up .venv; waiting for it …")
                told = True
            time.sleep(0.2)
        yield  # closing the file gives the lock back


def try_lock(descriptor: int) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            os.lseek(descriptor, 0, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


# -- what runs in it -------------------------------------------------------------------------------


def start(arguments: Sequence[str]) -> int:
    """Hands over to the program. `-P` keeps a folder `app` where the user stands out of the way."""
    command = [str(VENV_PYTHON), "-P", "-m", "app", *arguments]
    sys.stdout.flush()
    if not WINDOWS:
        os.execv(command[0], command)
    child = subprocess.Popen(command)
    while True:
        try:
            return child.wait()
        except KeyboardInterrupt:
            continue  # the child got it too and decides


def run_checks(arguments: Sequence[str]) -> int:
    """Runs every check, even after one failed, and says which did; 0 only when all passed."""
    rest = list(arguments)
    chosen = list(CHECKS)
    if rest[:1] == ["--only"]:
        chosen, rest = rest[1:2], rest[2:]
        if not chosen or chosen[0] not in CHECKS:
            say(f"usage: run.py test [--only {'|'.join(CHECKS)}] [pytest arguments]")
            return 2
    environ = dict(os.environ, PYTHONDONTWRITEBYTECODE="1")
    environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    python = str(VENV_PYTHON)
    if "tests" in chosen:  # name missing Qt libraries before pytest stumbles over them
        subprocess.run([python, "-m", "app.qt_check"], cwd=ROOT, env=environ, check=False)
    results = []
    for name in chosen:
        say(f"== {name}: {' '.join(CHECKS[name])}")
        command = [python, *CHECKS[name], *(rest if name == "tests" else ())]
        begin = time.monotonic()
        code = subprocess.run(command, cwd=ROOT, env=environ, check=False).returncode
        results.append((name, code, time.monotonic() - begin))
    say("== summary")
    for name, code, seconds in results:
        say(f"{'ok    ' if code == 0 else 'FAILED'}  {name}  ({seconds:.0f} s)")
    return 1 if any(code for _, code, _ in results) else 0


def say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
