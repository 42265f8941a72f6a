"""A model server on loopback that misbehaves in every way a download meets.

`ModelServer` serves `Hosted` files over real sockets. Each GET of a path takes the next of
its `moods` (the last one stays); HEAD is always honest unless `head_status` says otherwise.
`requests` records everything, so a test can look at ranges and at who was shown the token.
"""

from __future__ import annotations

import hashlib
import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MAGIC = b"LITERTLM"


def model_bytes(size: int, seed: int = 1) -> bytes:
    """Bytes that begin like a model and differ at every place and for every seed."""
    block = hashlib.sha256(str(seed).encode()).digest()
    out = bytearray(MAGIC)
    while len(out) < size:
        block = hashlib.sha256(block).digest()
        out += block * 32
    return bytes(out[:size])


@dataclass
class Request:
    method: str
    path: str
    headers: dict[str, str]
    sent: int = 0


@dataclass
class Hosted:
    """One file. `linked` adds the hub's size and hash headers; `gate` is "", "token" (any
    valid token will do) or "licence" (no token will do)."""

    data: bytes
    etag: str = '"one"'
    linked: bool = True
    gate: str = ""
    head_status: int = 0
    head_length: int | None = None
    redirect_to: str = ""
    moods: list[Mood] = field(default_factory=list)

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()


Mood = Callable[["Handler", Hosted], None]


class QuietServer(ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """Clients that go away are what these tests are about."""


class ModelServer:
    def __init__(self) -> None:
        self.files: dict[str, Hosted] = {}
        self.pages: dict[str, tuple[int, dict[str, str], bytes]] = {}
        self.tokens: set[str] = set()
        self.requests: list[Request] = []
        self.stopping = threading.Event()
        self.connections: set[socket.socket] = set()
        server = self

        class Bound(Handler):
            owner = server

        self._http = QuietServer(("127.0.0.1", 0), Bound)
        self._http.daemon_threads = False
        self._http.block_on_close = True
        self._thread = threading.Thread(
            target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, name="fake-http"
        )

    @property
    def port(self) -> int:
        return int(self._http.server_address[1])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> ModelServer:
        self._thread.start()
        return self

    def stop(self) -> None:
        self.stopping.set()
        self._http.shutdown()
        for connection in list(self.connections):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # gone already
        self._http.server_close()
        self._thread.join()

    def gets(self, path: str) -> list[Request]:
        return [r for r in self.requests if r.method == "GET" and r.path == path]

    def repo(self, repo: str, files: dict[str, Hosted], revision: str = "main") -> None:
        """Hosts a hub repository: its file list and its files."""
        listing: list[dict[str, Any]] = []
        for name, hosted in files.items():
            self.files[f"/{repo}/resolve/{revision}/{name}"] = hosted
            entry: dict[str, Any] = {"type": "file", "path": name, "size": len(hosted.data)}
            if hosted.linked:
                entry["lfs"] = {"oid": hosted.sha256, "size": len(hosted.data)}
            listing.append(entry)
        body = json.dumps(listing).encode()
        self.pages[f"/api/models/{repo}/tree/{revision}"] = (
            200,
            {"Content-Type": "application/json"},
            body,
        )


@contextmanager
def served() -> Iterator[ModelServer]:
    server = ModelServer().start()
    try:
        yield server
    finally:
        server.stop()


class Handler(BaseHTTPRequestHandler):
    """HTTP/1.1, one thread a connection. Moods call `whole`, `part`, `send_body` …"""

    owner: ModelServer
    protocol_version = "HTTP/1.1"
    timeout = 10

    def setup(self) -> None:
        super().setup()
        self.owner.connections.add(self.connection)

    def finish(self) -> None:
        self.owner.connections.discard(self.connection)
        super().finish()

    def log_message(self, *_args: object) -> None: ...

    def do_HEAD(self) -> None:
        self._serve()

    def do_GET(self) -> None:
        self._serve()

    def _serve(self) -> None:
        path = self.path.split("?")[0]
        self.request_log = Request(
            self.command, path, {k.lower(): v for k, v in self.headers.items()}
        )
        self.owner.requests.append(self.request_log)
        try:
            if path == "/api/whoami-v2":
                self._whoami()
            elif path in self.owner.pages:
                status, headers, body = self.owner.pages[path]
                self.answer(status, body, headers)
            elif path in self.owner.files:
                self._file(self.owner.files[path])
            else:
                self.answer(404, b"nothing here", {"X-Error-Code": "EntryNotFound"})
        except (BrokenPipeError, ConnectionError, TimeoutError):
            self.close_connection = True

    @property
    def token(self) -> str:
        return self.request_log.headers.get("authorization", "").removeprefix("Bearer ")

    def _whoami(self) -> None:
        if self.token in self.owner.tokens:
            self.answer(200, b'{"name": "someone"}', {"Content-Type": "application/json"})
        else:
            self.answer(401, b'{"error": "Invalid credentials"}')

    def _file(self, hosted: Hosted) -> None:
        if hosted.gate and self._refused(hosted):
            return
        if hosted.redirect_to:
            headers = {"Location": hosted.redirect_to, **self.linked(hosted)}
            self.answer(302, b"", headers)
        elif self.command == "HEAD":
            if hosted.head_status:
                self.answer(hosted.head_status, b"")
                return
            length = hosted.head_length if hosted.head_length is not None else len(hosted.data)
            self.head(200, length, {"ETag": hosted.etag, **self.linked(hosted)})
        else:
            mood = normal
            if hosted.moods:
                mood = hosted.moods.pop(0) if len(hosted.moods) > 1 else hosted.moods[0]
            mood(self, hosted)

    def _refused(self, hosted: Hosted) -> bool:
        gated = {"X-Error-Code": "GatedRepo"}
        if self.token not in self.owner.tokens:
            self.answer(401, b"no", gated if not self.token else {})
            return True
        if hosted.gate == "licence":
            self.answer(403, b"no", gated)
            return True
        return False

    @staticmethod
    def linked(hosted: Hosted) -> dict[str, str]:
        if not hosted.linked:
            return {}
        return {"X-Linked-Size": str(len(hosted.data)), "X-Linked-ETag": f'"{hosted.sha256}"'}

    def head(self, status: int, length: int | None, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/octet-stream", **headers}.items():
            self.send_header(name, value)
        if length is not None:
            self.send_header("Content-Length", str(length))
        else:
            self.send_header("Connection", "close")
            self.close_connection = True
        self.end_headers()

    def answer(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.head(status, len(body), headers or {})
        if self.command != "HEAD":
            self.wfile.write(body)

    def wanted_from(self, hosted: Hosted) -> int:
        """First byte asked for; 0 for none and for an `If-Range` that does not hold."""
        if_range = self.request_log.headers.get("if-range")
        if if_range is not None and if_range != hosted.etag:
            return 0
        text = self.request_log.headers.get("range", "")
        return int(text.removeprefix("bytes=").partition("-")[0]) if text else 0

    def begin(self, hosted: Hosted) -> int:
        """Status and headers of an honest answer; returns the first byte to send."""
        start, size = self.wanted_from(hosted), len(hosted.data)
        if start and start >= size:
            self.answer(416, b"", {"Content-Range": f"bytes */{size}"})
            return size
        headers = {"ETag": hosted.etag, **self.linked(hosted)}
        if start:
            headers["Content-Range"] = f"bytes {start}-{size - 1}/{size}"
            self.head(206, size - start, headers)
        else:
            self.head(200, size, headers)
        return start

    def send_body(self, data: bytes) -> None:
        for at in range(0, len(data), 1 << 16):
            self.wfile.write(data[at : at + (1 << 16)])
            self.request_log.sent += len(data[at : at + (1 << 16)])

    def drop(self) -> None:
        """Breaks the connection with a reset, as a dying network does."""
        self.wfile.flush()
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
        self.close_connection = True
        raise ConnectionAbortedError


# ---- moods ----


def normal(handler: Handler, hosted: Hosted) -> None:
    handler.send_body(hosted.data[handler.begin(hosted) :])


def slow(bytes_per_tick: int = 1 << 14, tick_s: float = 0.02) -> Mood:
    """A trickle that only the client or the end of the test stops."""

    def mood(handler: Handler, hosted: Hosted) -> None:
        at = handler.begin(hosted)
        while at < len(hosted.data) and not handler.owner.stopping.wait(tick_s):
            handler.send_body(hosted.data[at : at + bytes_per_tick])
            handler.wfile.flush()
            at += bytes_per_tick
        handler.close_connection = True

    return mood


def stalled_after(count: int) -> Mood:
    """Sends some bytes, then keeps the connection open and says nothing."""

    def mood(handler: Handler, hosted: Hosted) -> None:
        at = handler.begin(hosted)
        handler.send_body(hosted.data[at : at + count])
        handler.wfile.flush()
        handler.owner.stopping.wait(30)
        handler.close_connection = True

    return mood


def cut_after(count: int) -> Mood:
    """Announces everything, sends `count` bytes, breaks the connection."""

    def mood(handler: Handler, hosted: Hosted) -> None:
        at = handler.begin(hosted)
        handler.send_body(hosted.data[at : at + count])
        time.sleep(0.05)  # let the bytes through before the reset throws them away
        handler.drop()

    return mood


def ignores_range(handler: Handler, hosted: Hosted) -> None:
    handler.head(200, len(hosted.data), {"ETag": hosted.etag, **handler.linked(hosted)})
    handler.send_body(hosted.data)


def wrong_range(handler: Handler, hosted: Hosted) -> None:
    """Answers 206 with another part than was asked for."""
    size = len(hosted.data)
    headers = {"ETag": hosted.etag, "Content-Range": f"bytes 0-{size - 1}/{size}"}
    if not handler.wanted_from(hosted):
        return normal(handler, hosted)
    handler.head(206, size, headers)
    return handler.send_body(hosted.data)


def always_416(handler: Handler, hosted: Hosted) -> None:
    handler.answer(416, b"", {"Content-Range": f"bytes */{len(hosted.data)}"})


def status(code: int, headers: dict[str, str] | None = None) -> Mood:
    return lambda handler, _hosted: handler.answer(code, b"no", headers)


def login_page(handler: Handler, _hosted: Hosted) -> None:
    body = b"<!DOCTYPE html><html><body>Please log in to the hotel network</body></html>"
    handler.answer(200, body, {"Content-Type": "text/html; charset=utf-8"})


def sly_login_page(handler: Handler, hosted: Hosted) -> None:
    """HTML that calls itself a binary file of the right length."""
    body = b"<html><body>log in</body></html>".ljust(len(hosted.data))
    handler.answer(200, body)


def says_longer(by: int) -> Mood:
    """Announces more bytes than there are and closes after the real ones."""

    def mood(handler: Handler, hosted: Hosted) -> None:
        handler.head(200, len(hosted.data) + by, {"ETag": hosted.etag})
        handler.send_body(hosted.data)
        handler.close_connection = True

    return mood


def sends_longer(by: int) -> Mood:
    """No length, and more bytes than the hub said the file has."""

    def mood(handler: Handler, hosted: Hosted) -> None:
        handler.head(200, None, {"ETag": hosted.etag})
        handler.send_body(hosted.data + b"x" * by)

    return mood


def without_length(handler: Handler, hosted: Hosted) -> None:
    handler.head(200, None, {"ETag": hosted.etag})
    handler.send_body(hosted.data)


def flipped_byte(handler: Handler, hosted: Hosted) -> None:
    """The right length, one wrong byte."""
    data = bytearray(hosted.data)
    data[len(data) // 2] ^= 1
    handler.head(200, len(data), {"ETag": hosted.etag, **handler.linked(hosted)})
    handler.send_body(bytes(data))
