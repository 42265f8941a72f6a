"""The engine process: entry point of the child that `HostedEngine` starts.

Threads: *main* runs commands one after another and owns the engine; *commands* reads the
pipe, so that `Cancel` never queues behind a running call; *heartbeat* tells every second
that the process lives and how much memory it holds. Native threads run the model.

The process ends when it is told to, or at once when the pipe closes because the parent is
gone. A fault in one of its own threads ends it too, with `FAULT`: a heartbeat must never go
on for a process that no longer listens. It imports no Qt. Its stderr goes to the engine log,
since the library writes there.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import TextIO

from engine import memory, messages
from engine.errors import EngineError

HEARTBEAT_S = 1.0
SETTLE_AFTER_S = 0.1
"""So long after a Stop without a command nobody is about to send: see `engine.settling`."""
NICENESS = 5
"""The engine computes on every core: what the window gets of one decides how soon words show."""
FAULT = 70
"""Exit code after an unexpected exception (EX_SOFTWARE); `engine_log.exit_words` names it."""


def main(commands: Connection, events: Connection, log_path: str) -> None:
    """Runs the child until `Close` or the end of the pipe. Never returns an error."""
    with contextlib.suppress(ValueError, OSError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's business
    step_back()
    log = redirect_output(log_path)
    host = _Host(commands, events)
    for target, name in ((host.read_commands, "commands"), (host.beat, "heartbeat")):
        threading.Thread(target=_or_end, args=(target,), name=name, daemon=True).start()
    _or_end(host.run)
    log.flush()
    # Not through the interpreter's exit: native threads of a wedged engine could hang it.
    os._exit(0)


def _or_end(work: Callable[[], None]) -> None:
    """Runs the work of one thread; an exception nobody expected ends the whole process."""
    try:
        work()
    except BaseException:
        with contextlib.suppress(BaseException):
            traceback.print_exc()
            sys.stderr.flush()
        os._exit(FAULT)


def step_back() -> None:
    """The window goes first where both want a core; call before any thread is made."""
    if sys.platform != "win32":
        with contextlib.suppress(OSError):
            os.nice(NICENESS)


def redirect_output(path: str) -> TextIO:
    """Sends file descriptors 1 and 2 of this process, native writers included, to `path`."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    descriptor = os.open(path, flags, 0o600)
    for target in (1, 2):
        os.dup2(descriptor, target)
    os.close(descriptor)
    if sys.platform == "win32":
        import ctypes
        import msvcrt

        for number, target in ((-11, 1), (-12, 2)):
            ctypes.windll.kernel32.SetStdHandle(number, msvcrt.get_osfhandle(target))
    log = os.fdopen(os.dup(2), "w", encoding="utf-8", errors="replace", buffering=1)
    sys.stdout = sys.stderr = log
    return log


class _Host:
    def __init__(self, commands: Connection, events: Connection) -> None:
        # Imported here, so that the parent, which only names `main`, never loads cffi.
        from engine.litert import LiteRtEngine

        self._commands, self._events = commands, events
        self._engine = LiteRtEngine()
        self._queue: queue.SimpleQueue[messages.Command] = queue.SimpleQueue()
        self._write = threading.Lock()

    def send(self, event: messages.Event) -> None:
        """Any thread. A broken pipe means that nobody listens any more: end at once."""
        data = messages.encode(event)
        try:
            with self._write:
                self._events.send_bytes(data)
        except OSError:
            os._exit(0)

    def read_commands(self) -> None:
        while True:
            try:
                command = messages.decode_command(self._commands.recv_bytes())
            except (EOFError, OSError):
                os._exit(0)
            if isinstance(command, messages.Cancel):
                self._engine.cancel(command.run_id)
            else:
                self._queue.put(command)

    def beat(self) -> None:
        pause = threading.Event()
        while True:
            self.send(messages.Heartbeat(memory.resident_bytes()))
            pause.wait(HEARTBEAT_S)

    def run(self) -> None:
        while True:
            command = self._next()
            if isinstance(command, messages.Cancel):
                continue
            if isinstance(command, messages.Expect):
                self._engine.settle(command.chat_key)
                continue
            try:
                self.send(self._answer(command))
            except EngineError as error:
                self.send(messages.Failed(command.call, error.info()))
            if isinstance(command, messages.Close):
                return

    def _next(self) -> messages.Command:
        if self._engine.unsettled:
            try:
                return self._queue.get(timeout=SETTLE_AFTER_S)
            except queue.Empty:
                self._engine.settle()
        return self._queue.get()

    def _answer(self, command: messages.Command) -> messages.Event:
        engine = self._engine
        match command:
            case messages.Load(call, options, info):
                return messages.Loaded(call, engine.load(options, info))
            case messages.Generate(call, request):
                outcome = engine.generate(request, lambda batch: self.send(messages.Text(batch)))
                return messages.Finished(call, outcome)
            case messages.Forget(call, chat_key):
                engine.forget(chat_key)
                return messages.Done(call)
            case messages.CountTokens(call, text):
                return messages.Counted(call, engine.count_tokens(text))
            case messages.Tokenize(call, text):
                return messages.Pieces(call, engine.tokenize(text))
            case messages.Render(call, request):
                return messages.Rendered(call, engine.render(request))
            case messages.Close(call):
                return messages.Unloaded(call, engine.unload())
            case _:
                raise AssertionError(command)
