"""Drives a program on an X display from outside, as a person would: sees windows, types, closes.

For the smoke test of the frozen program, which must not contain any hook for tests. Plain ctypes on
libX11, which Qt needs anyway. Single-threaded; one `Display` per connection, closed as a context
manager.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

_KEY_PRESS, _KEY_RELEASE, _CLIENT_MESSAGE = 2, 3, 33
_SHIFT, _CONTROL = 1, 4
_VIEWABLE = 2
_XA_CARDINAL, _XA_ATOM = 6, 4
_KEYSYMS = {"\n": 0xFF0D, " ": 0x20}


class _KeyEvent(ctypes.Structure):
    _fields_ = [
        ("type", ctypes.c_int), ("serial", ctypes.c_ulong), ("send_event", ctypes.c_int),
        ("display", ctypes.c_void_p), ("window", ctypes.c_ulong), ("root", ctypes.c_ulong),
        ("subwindow", ctypes.c_ulong), ("time", ctypes.c_ulong),
        ("x", ctypes.c_int), ("y", ctypes.c_int), ("x_root", ctypes.c_int),
        ("y_root", ctypes.c_int), ("state", ctypes.c_uint), ("keycode", ctypes.c_uint),
        ("same_screen", ctypes.c_int),
    ]  # fmt: skip


class _ClientMessage(ctypes.Structure):
    _fields_ = [
        ("type", ctypes.c_int), ("serial", ctypes.c_ulong), ("send_event", ctypes.c_int),
        ("display", ctypes.c_void_p), ("window", ctypes.c_ulong),
        ("message_type", ctypes.c_ulong), ("format", ctypes.c_int),
        ("data", ctypes.c_long * 5),
    ]  # fmt: skip


class _Event(ctypes.Union):
    _fields_ = [
        ("key", _KeyEvent),
        ("client", _ClientMessage),
        ("padding", ctypes.c_long * 24),
    ]


class _Attributes(ctypes.Structure):
    """XWindowAttributes; only the size and the map state are read."""

    _fields_ = [
        ("x", ctypes.c_int), ("y", ctypes.c_int), ("width", ctypes.c_int),
        ("height", ctypes.c_int), ("border_width", ctypes.c_int), ("depth", ctypes.c_int),
        ("visual", ctypes.c_void_p), ("root", ctypes.c_ulong), ("class", ctypes.c_int),
        ("bit_gravity", ctypes.c_int), ("win_gravity", ctypes.c_int),
        ("backing_store", ctypes.c_int), ("backing_planes", ctypes.c_ulong),
        ("backing_pixel", ctypes.c_ulong), ("save_under", ctypes.c_int),
        ("colormap", ctypes.c_ulong), ("map_installed", ctypes.c_int),
        ("map_state", ctypes.c_int), ("padding", ctypes.c_long * 8),
    ]  # fmt: skip


class Display:
    """A connection to an X server."""

    def __init__(self, name: str) -> None:
        x = ctypes.CDLL("libX11.so.6")
        x.XOpenDisplay.restype = ctypes.c_void_p
        x.XDefaultRootWindow.restype = ctypes.c_ulong
        x.XInternAtom.restype = ctypes.c_ulong
        x.XKeysymToKeycode.restype = ctypes.c_ubyte
        self._x = x
        self._handle = ctypes.c_void_p(x.XOpenDisplay(name.encode()))
        if not self._handle:
            raise OSError(f"no X display {name}")
        self._root = ctypes.c_ulong(x.XDefaultRootWindow(self._handle))
        # A window may go while we ask about it; Xlib's own handler would end this process.
        self._ignore = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(
            lambda _display, _event: 0
        )
        x.XSetErrorHandler(self._ignore)

    def __enter__(self) -> Display:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        self._x.XCloseDisplay(self._handle)

    def windows(self, pids: set[int]) -> list[int]:
        """Visible top-level windows of these processes that are larger than a tooltip."""
        root, parent = ctypes.c_ulong(), ctypes.c_ulong()
        children, count = ctypes.POINTER(ctypes.c_ulong)(), ctypes.c_uint()
        self._x.XQueryTree(
            self._handle, self._root, ctypes.byref(root), ctypes.byref(parent),
            ctypes.byref(children), ctypes.byref(count),
        )  # fmt: skip
        found = [children[i] for i in range(count.value)]
        if children:
            self._x.XFree(children)
        return [w for w in found if self._visible(w) and self._pid(w) in pids]

    def title(self, window: int) -> str:
        """The window's title."""
        kind = self._atom("UTF8_STRING")
        return self._property(window, "_NET_WM_NAME", kind).decode("utf-8", "replace")

    def focus(self, window: int) -> None:
        """Gives the window the keyboard, as a window manager would."""
        revert_to_parent, now = 2, 0
        self._x.XRaiseWindow(self._handle, ctypes.c_ulong(window))
        self._x.XSetInputFocus(self._handle, ctypes.c_ulong(window), revert_to_parent, now)
        self._x.XSync(self._handle, 0)

    def type(self, window: int, text: str) -> None:
        """Types ASCII letters, digits, spaces and Return."""
        for letter in text:
            keysym = _KEYSYMS.get(letter, ord(letter))
            self._key(window, keysym, _SHIFT if letter.isupper() else 0)

    def control_key(self, window: int, letter: str) -> None:
        """Presses Ctrl and a letter."""
        self._key(window, ord(letter), _CONTROL)

    def close(self, window: int) -> None:
        """Asks the window to close, as the cross in its title bar does."""
        event = _Event()
        event.client = _ClientMessage(
            type=_CLIENT_MESSAGE, send_event=1, window=window, format=32,
            message_type=self._atom("WM_PROTOCOLS"),
        )  # fmt: skip
        event.client.data[0] = self._atom("WM_DELETE_WINDOW")
        self._send(window, event, 0)

    def _key(self, window: int, keysym: int, state: int) -> None:
        code = self._x.XKeysymToKeycode(self._handle, ctypes.c_ulong(keysym))
        for kind, mask in ((_KEY_PRESS, 1), (_KEY_RELEASE, 2)):
            event = _Event()
            event.key = _KeyEvent(
                type=kind, send_event=1, window=window, root=self._root.value, same_screen=1,
                keycode=code, state=state, time=int(time.monotonic() * 1000) & 0xFFFFFFFF,
            )  # fmt: skip
            self._send(window, event, mask)
        time.sleep(0.01)

    def _send(self, window: int, event: _Event, mask: int) -> None:
        self._x.XSendEvent(
            self._handle, ctypes.c_ulong(window), 0, ctypes.c_long(mask), ctypes.byref(event)
        )
        self._x.XSync(self._handle, 0)

    def _atom(self, name: str) -> int:
        return int(self._x.XInternAtom(self._handle, name.encode(), 0))

    def _visible(self, window: int) -> bool:
        found = _Attributes()
        if not self._x.XGetWindowAttributes(
            self._handle, ctypes.c_ulong(window), ctypes.byref(found)
        ):
            return False
        return bool(found.map_state == _VIEWABLE and found.width > 100 and found.height > 100)

    def _pid(self, window: int) -> int:
        data = self._property(window, "_NET_WM_PID", _XA_CARDINAL)
        return int.from_bytes(data[:4], "little") if data else 0

    def _property(self, window: int, name: str, kind: int) -> bytes:
        actual, form = ctypes.c_ulong(), ctypes.c_int()
        count, left = ctypes.c_ulong(), ctypes.c_ulong()
        data = ctypes.POINTER(ctypes.c_ubyte)()
        self._x.XGetWindowProperty(
            self._handle, ctypes.c_ulong(window), ctypes.c_ulong(self._atom(name)),
            ctypes.c_long(0), ctypes.c_long(256), 0, ctypes.c_ulong(kind), ctypes.byref(actual),
            ctypes.byref(form), ctypes.byref(count), ctypes.byref(left), ctypes.byref(data),
        )  # fmt: skip
        if not data:
            return b""
        width = {8: 1, 16: 2, 32: 8}.get(form.value, 1)  # Xlib hands 32-bit items out as longs
        result = bytes(data[i] for i in range(count.value * width))
        self._x.XFree(data)
        return result


@contextmanager
def virtual_screen(size: str = "1400x900x24") -> Iterator[str]:
    """Runs an Xvfb for the time of a `with`; yields its display name, such as `:99`."""
    program = shutil.which("Xvfb")
    if program is None:
        raise FileNotFoundError("Xvfb is not installed (Debian: xvfb)")
    server = subprocess.Popen(
        [program, "-displayfd", "1", "-screen", "0", size, "-nolisten", "tcp", "-noreset"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert server.stdout is not None
        number = server.stdout.readline().decode().strip()
        if not number:
            raise OSError(f"Xvfb ended with {server.wait()}")
        yield f":{number}"
    finally:
        server.terminate()
        server.wait()
        if server.stdout:
            server.stdout.close()
