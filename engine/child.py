"""The parent's end of one engine process: start, talk, watch, kill.

Threads: a writer thread sends commands, so that nobody blocks on a full pipe of a stopped
child; a reader thread receives events, so that the heartbeat is seen and the pipe drained
also while nobody calls. `next` belongs to the calling thread; everything else is safe
from any. A child is never used again once it is dead.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import tempfile
import threading
import time
from pathlib import Path
from queue import Empty, SimpleQueue

import msgspec

from engine import engine_log, host, messages

JOIN_S = 5.0


class Child:
    """One process. `rss` and `last_heartbeat` are None until the first heartbeat."""

    def __init__(self, log_path: Path | None) -> None:
        """Starts the process; returns at once (it needs a moment to come up)."""
        if log_path is not None:
            engine_log.rotate(log_path)
        self._temporary = log_path is None or not _can_append(log_path)
        self.log_path = _temporary_log() if self._temporary or log_path is None else log_path
        self._log_from = engine_log.size(self.log_path)
        self.rss: int | None = None
        self.last_heartbeat: float | None = None
        self.started = time.monotonic()
        self._exit = ""
        self._events: SimpleQueue[messages.Event | None] = SimpleQueue()
        self._out: SimpleQueue[bytes | None] = SimpleQueue()
        context = multiprocessing.get_context("spawn")
        child_reads, self._commands = context.Pipe(duplex=False)
        self._answers, child_writes = context.Pipe(duplex=False)
        self._process = context.Process(
            target=host.main,
            args=(child_reads, child_writes, str(self.log_path)),
            name="tandem-engine",
            daemon=True,
        )
        self._process.start()
        self.pid = self._process.pid or 0
        for connection in (child_reads, child_writes):
            connection.close()
        self._threads = [
            threading.Thread(target=self._read, name="engine-events", daemon=True),
            threading.Thread(target=self._send, name="engine-commands", daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def put(self, command: messages.Command) -> None:
        self._out.put(messages.encode(command))

    def next(self, timeout: float) -> messages.Event | None:
        """The next event but heartbeats; None after `timeout`. Raises `EOFError` at the end."""
        try:
            event = self._events.get(timeout=timeout)
        except Empty:
            return None
        if event is None:
            self._events.put(None)
            raise EOFError
        return event

    def silence(self) -> float:
        """Seconds since the last sign of life, or since the start."""
        return time.monotonic() - (self.last_heartbeat or self.started)

    def grace(self) -> None:
        """Forgets a silence that was not the child's fault."""
        if self.last_heartbeat is not None:
            self.last_heartbeat = time.monotonic()

    def log_text(self) -> str:
        """What this process wrote to the log so far."""
        return engine_log.read_since(self.log_path, self._log_from)

    def alive(self) -> bool:
        return not self._exit and self._process.is_alive()

    def kill(self) -> None:
        """Ends the process at once, also a stopped one. Any thread; idempotent."""
        with contextlib.suppress(ValueError, OSError):
            self._process.kill()

    def wait(self, seconds: float) -> bool:
        """Waits for the process to end by itself; True if it did."""
        self._process.join(seconds)
        return not self._process.is_alive()

    def end(self) -> str:
        """Kills what is left, frees everything, returns the exit in words. Idempotent."""
        if self._exit:
            return self._exit
        if self._process.is_alive():
            self.kill()
        self._process.join(JOIN_S)
        self._exit = engine_log.exit_words(self._process.exitcode)
        self._out.put(None)
        for thread in self._threads:
            thread.join(JOIN_S)
        for connection in (self._commands, self._answers):
            with contextlib.suppress(OSError):
                connection.close()
        with contextlib.suppress(ValueError):
            self._process.close()
        return self._exit

    def discard_log(self) -> None:
        """Removes a log nobody asked for. Only after `end`."""
        if self._temporary:
            with contextlib.suppress(OSError):
                self.log_path.unlink()

    def _read(self) -> None:
        while True:
            try:
                event = messages.decode_event(self._answers.recv_bytes())
            except (EOFError, OSError, msgspec.MsgspecError):
                self._events.put(None)
                return
            if isinstance(event, messages.Heartbeat):
                self.last_heartbeat = time.monotonic()
                self.rss = event.rss
            else:
                self._events.put(event)

    def _send(self) -> None:
        while True:
            data = self._out.get()
            if data is None:
                return
            try:
                self._commands.send_bytes(data)
            except OSError:
                return


def _can_append(path: Path) -> bool:
    """Whether a child can write its log there; without a log it could not even start."""
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
    except OSError:
        return False
    return True


def _temporary_log() -> Path:
    descriptor, path = tempfile.mkstemp(prefix="tandem-engine-", suffix=".log")
    os.close(descriptor)
    return Path(path)
