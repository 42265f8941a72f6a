"""Whether the X server that DISPLAY names answers. Qt would abort the process if not.

Standard library only. Linux only; True where it cannot be known.
"""

from __future__ import annotations

import ctypes
import sys

from app import qt_check


def answers() -> bool:
    """False only when an X server is the one way to a window and it does not answer."""
    if not sys.platform.startswith("linux") or qt_check.wanted_platforms() != ("xcb",):
        return True
    try:
        xcb = ctypes.CDLL("libxcb.so.1")
    except OSError:
        return True
    xcb.xcb_connect.restype = ctypes.c_void_p
    xcb.xcb_connect.argtypes = [ctypes.c_char_p, ctypes.c_void_p]
    xcb.xcb_connection_has_error.argtypes = [ctypes.c_void_p]
    xcb.xcb_disconnect.argtypes = [ctypes.c_void_p]
    connection = xcb.xcb_connect(None, None)
    try:
        return int(xcb.xcb_connection_has_error(connection)) == 0
    finally:
        xcb.xcb_disconnect(connection)
