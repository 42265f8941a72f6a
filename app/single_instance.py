"""One window per user and home: a second start hands its file to the first and ends, or waits
for the end of one that is closing and takes its place.

A `QLocalServer` that only this user may open; its name comes from the user and the
configuration folder, so portable copies do not disturb each other. Main thread.
"""

from __future__ import annotations

import getpass
import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, Signal
from PySide6.QtNetwork import QLocalServer, QLocalSocket

WAIT_MS = 1000
CLOSING_MS = 8000
"""Longer than quitting can take: its watchdog ends the process."""
MAX_MESSAGE = 64 * 1024
_TAKEN, _CLOSING = b"ok\n", b"closing\n"


def _address(folder: Path, name: str) -> str:
    """Where the socket lies: in this user's own folder, so that nobody else can take the name
    first and have files handed to them. A plain name where the path would be too long."""
    for place in (str(folder), os.environ.get("XDG_RUNTIME_DIR", "")):
        path = os.path.join(place, name)
        if os.name == "posix" and place and os.access(place, os.W_OK) and len(path.encode()) < 80:
            return path
    return name


class SingleInstance(QObject):
    """`start` is False when another instance took the message. `asked(path)`: a second start
    wants this file opened; "" only wants the window in front."""

    asked = Signal(str)

    def __init__(self, folder: Path) -> None:
        super().__init__()
        try:
            user = getpass.getuser()
        except (OSError, KeyError, ImportError):
            user = "user"
        digest = hashlib.sha256(f"{user}\0{folder}".encode()).hexdigest()[:16]
        self._name = _address(folder, f"tandem-{digest}")
        self.closing: Callable[[], bool] = lambda: False
        """Whether this instance is about to end and shows nothing any more."""
        self._server: QLocalServer | None = None
        self._open: set[QLocalSocket] = set()

    def start(self, file: str | None) -> bool:
        """True when this is the first instance (it listens now)."""
        if self._hand_over(file):
            return False
        server = QLocalServer(self)
        server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        if not server.listen(self._name):
            QLocalServer.removeServer(self._name)  # left behind by a crash: nobody answered
            server.listen(self._name)
        server.newConnection.connect(self._on_connection)
        self._server = server
        return True

    def stop(self) -> None:
        """Gives the name free; who waits for the end of this instance goes on."""
        if self._server is not None:
            self._server.close()
            for socket in tuple(self._open):
                socket.abort()
            self._server.deleteLater()
            self._server = None

    def _hand_over(self, file: str | None) -> bool:
        socket = QLocalSocket()
        socket.connectToServer(self._name)
        if not socket.waitForConnected(WAIT_MS):
            return False
        path = str(Path(file).expanduser().absolute()) if file else ""
        socket.write(json.dumps({"open": path}).encode() + b"\n")
        socket.waitForBytesWritten(WAIT_MS)
        # Only an answer proves that somebody is there: a dying instance may still accept.
        answer = bytes(socket.readAll().data()) if socket.waitForReadyRead(WAIT_MS) else b""
        if answer == _CLOSING:
            socket.waitForDisconnected(CLOSING_MS)
            return False
        socket.disconnectFromServer()
        return bool(answer)

    def _on_connection(self) -> None:
        server = self._server
        while server is not None and (socket := server.nextPendingConnection()) is not None:
            self._open.add(socket)
            socket.readyRead.connect(self._on_ready)
            socket.disconnected.connect(self._on_gone)
        self._on_ready()

    def _on_ready(self) -> None:
        for socket in tuple(self._open):
            self._read(socket)

    def _read(self, socket: QLocalSocket) -> None:
        if not socket.canReadLine():
            if socket.bytesAvailable() > MAX_MESSAGE:
                socket.abort()
            return
        line = bytes(socket.readLine(MAX_MESSAGE).data())
        closing = self.closing()
        socket.write(_CLOSING if closing else _TAKEN)
        socket.flush()
        if closing:
            return
        try:
            path = json.loads(line)["open"]
        except (ValueError, KeyError, TypeError):
            return
        if isinstance(path, str):
            self.asked.emit(path)

    def _on_gone(self) -> None:
        """Whichever it was: a function made for one socket would be freed while Qt destroys that
        socket, and PySide crashes on this with sockets that Qt has made."""
        for socket in tuple(self._open):
            if socket.state() == QLocalSocket.LocalSocketState.UnconnectedState:
                self._open.discard(socket)
                socket.deleteLater()
