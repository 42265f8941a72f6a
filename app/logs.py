"""The app log and the crash file.

`setup` is called once, before anything else logs. Records never hold prompts or answers
(callers log facts about them) and anything that looks like an access token is blanked.
Works with `sys.stdout`/`sys.stderr` None, as in a windowed bundle.
"""

from __future__ import annotations

import contextlib
import faulthandler
import logging
import logging.handlers
import os
import re
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import IO

from app.paths import Paths

MAX_BYTES = 1_000_000
BACKUPS = 3
_TOKEN = re.compile(r"(hf_[A-Za-z0-9]{6,}|(?i:bearer)\s+[^\s\"']+|(?i:token=)[^&\s\"']+)")

_crash_file: IO[str] | None = None

on_uncaught: Callable[[BaseException], None] | None = None
"""Set by the window: called with an exception of the main thread that nobody caught."""


def redact(text: str) -> str:
    """`text` without anything that looks like a credential."""
    return _TOKEN.sub("[removed]", text)


class _RedactingFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return redact(super().format(record))


class _PrivateRotatingHandler(logging.handlers.RotatingFileHandler):
    """A rotating file readable by this user only.

    Where the file cannot be written (folder gone, a file in its place, disk full, read-only) the
    record is dropped in silence and the next one tries again: nobody reads a trace on stderr.
    """

    def emit(self, record: logging.LogRecord) -> None:
        try:
            # A deleted file goes on to exist for who has it open: write where people look.
            if self.stream is not None and not os.path.exists(self.baseFilename):
                self._close_stream()
            super().emit(record)
        except OSError:
            self._close_stream()

    def handleError(self, record: logging.LogRecord) -> None:
        if isinstance(sys.exc_info()[1], OSError):
            self._close_stream()
        else:
            super().handleError(record)

    def _close_stream(self) -> None:
        stream, self.stream = self.stream, None
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()

    def _open(self) -> IO[str]:  # type: ignore[override]
        Path(self.baseFilename).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        fd = os.open(self.baseFilename, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        return open(fd, "a", encoding="utf-8", errors="backslashreplace")


def setup(paths: Paths, *, verbose: bool = False) -> None:
    """Starts logging to files. Never raises: a program without a log still works."""
    ensure_streams()
    root = logging.getLogger()
    root.setLevel(logging.DEBUG if verbose else logging.INFO)
    try:
        handler = _PrivateRotatingHandler(
            paths.app_log, maxBytes=MAX_BYTES, backupCount=BACKUPS, encoding="utf-8", delay=True
        )
    except OSError:
        return
    form = "%(asctime)s %(levelname)s %(name)s [%(threadName)s] %(message)s"
    handler.setFormatter(_RedactingFormatter(form))
    root.addHandler(handler)
    logging.getLogger("httpx").setLevel(logging.WARNING)
    logging.getLogger("httpcore").setLevel(logging.WARNING)
    _setup_crash_file(paths.crash_log)
    sys.excepthook = _log_uncaught
    threading.excepthook = _log_thread


def shutdown() -> None:
    """Closes the files; used by tests and at the very end of a run."""
    global _crash_file
    root = logging.getLogger()
    for handler in list(root.handlers):
        if isinstance(handler, _PrivateRotatingHandler):
            root.removeHandler(handler)
            handler.close()
    sys.excepthook = sys.__excepthook__
    threading.excepthook = threading.__excepthook__
    if _crash_file is not None:
        faulthandler.disable()
        _crash_file.close()
        _crash_file = None


def ensure_streams() -> None:
    """Gives a windowed program, which has no streams, ones that swallow everything."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115


def last_lines(file: Path, count: int = 200) -> str:
    """The end of a log file, or "" when there is none. Reads at most 256 kB."""
    try:
        with file.open("rb") as source:
            source.seek(0, os.SEEK_END)
            source.seek(max(0, source.tell() - 262_144))
            text = source.read().decode("utf-8", "replace")
    except OSError:
        return ""
    return redact("\n".join(text.splitlines()[-count:]))


def _setup_crash_file(file: Path) -> None:
    global _crash_file
    try:
        fd = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        _crash_file = open(fd, "a", encoding="utf-8")  # noqa: SIM115
        faulthandler.enable(_crash_file, all_threads=True)
    except (OSError, ValueError):
        _crash_file = None


def _log_uncaught(
    kind: type[BaseException], problem: BaseException, trace: TracebackType | None
) -> None:
    if issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, problem, trace)
        return
    logging.getLogger("app").error("uncaught exception", exc_info=(kind, problem, trace))
    if on_uncaught is not None:
        on_uncaught(problem)


def _log_thread(args: threading.ExceptHookArgs) -> None:
    name = args.thread.name if args.thread else "?"
    problem = args.exc_value or args.exc_type()
    logging.getLogger("app").error(
        "uncaught exception in thread %s",
        name,
        exc_info=(args.exc_type, problem, args.exc_traceback),
    )
