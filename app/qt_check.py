"""Names the system libraries that Qt needs on Linux and this system lacks, by Debian package.

Qt answers a missing library with an import error or with a core dump ("could not load the Qt
platform plugin"); asking first gives a line a person can act on. Loads each library by its soname,
which Qt would do a moment later anyway. Standard library only (ctypes); call it before PySide6 is
imported, from the main thread. `python -m app.qt_check` prints the answer and ends with 0 or 1.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Mapping

BASE = {
    "libstdc++.so.6": "libstdc++6",
    "libgcc_s.so.1": "libgcc-s1",
    "libz.so.1": "zlib1g",
    "libEGL.so.1": "libegl1",
    "libGL.so.1": "libgl1",
    "libX11.so.6": "libx11-6",
    "libxkbcommon.so.0": "libxkbcommon0",
    "libfontconfig.so.1": "libfontconfig1",
    "libfreetype.so.6": "libfreetype6",
    "libdbus-1.so.3": "libdbus-1-3",
    "libglib-2.0.so.0": "libglib2.0-0",
}
"""What QtGui and QtWidgets 6.11 are linked with and PySide6's wheel does not bring."""

X11_HOST = {"libxcb.so.1": "libxcb1", "libX11-xcb.so.1": "libx11-xcb1"}
"""What the X11 plugin takes from the system even in a bundle, which brings the rest of `_X11`."""

_X11 = {
    **X11_HOST,
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-image.so.0": "libxcb-image0",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
    "libxcb-randr.so.0": "libxcb-randr0",
    "libxcb-render.so.0": "libxcb-render0",
    "libxcb-render-util.so.0": "libxcb-render-util0",
    "libxcb-shape.so.0": "libxcb-shape0",
    "libxcb-shm.so.0": "libxcb-shm0",
    "libxcb-sync.so.1": "libxcb-sync1",
    "libxcb-util.so.1": "libxcb-util1",
    "libxcb-xfixes.so.0": "libxcb-xfixes0",
    "libxcb-xkb.so.1": "libxcb-xkb1",
}
_WAYLAND = {
    "libwayland-client.so.0": "libwayland-client0",
    "libwayland-cursor.so.0": "libwayland-cursor0",
}
_PLUGINS = {"xcb": _X11, "wayland": _WAYLAND}


def has_display(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether a window can be shown at all: a display, or a platform chosen by hand."""
    if not sys.platform.startswith("linux"):
        return True
    names = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")
    return any(environ.get(name) for name in names)


def wanted_platforms(environ: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """The Qt platform plugins that could show the window here, first choice first."""
    chosen = environ.get("QT_QPA_PLATFORM", "")
    if chosen:
        return tuple(name.split(":")[0].strip() for name in chosen.split(";") if name.strip())
    found = []
    if environ.get("WAYLAND_DISPLAY"):
        found.append("wayland")
    if environ.get("DISPLAY"):
        found.append("xcb")
    return tuple(found)


def missing_packages(
    environ: Mapping[str, str] = os.environ, loads: Callable[[str], bool] | None = None
) -> tuple[str, ...]:
    """Debian names of what is missing for a window here; empty when one can open.

    A platform counts as usable when everything it needs loads: Wayland alone works without any
    X11 package but libX11 itself, which QtGui is linked with.
    """
    if not sys.platform.startswith("linux"):
        return ()
    loads = loads or _loads
    missing = [package for soname, package in BASE.items() if not loads(soname)]
    lacking = [
        [package for soname, package in _PLUGINS.get(name, {}).items() if not loads(soname)]
        for name in wanted_platforms(environ)
    ]
    if lacking and all(lacking):
        fewest = min(lacking, key=len)
        missing += fewest
    return tuple(missing)


def sentence(packages: tuple[str, ...]) -> str:
    """What to tell the user about `missing_packages`."""
    return (
        "Tandem cannot open a window: system libraries that Qt needs are missing. "
        f"On Debian or Ubuntu: sudo apt install {' '.join(packages)}"
    )


def _loads(soname: str) -> bool:
    try:
        ctypes.CDLL(soname)
    except OSError:
        return False
    return True


if __name__ == "__main__":
    lacking = missing_packages()
    if lacking:
        print(sentence(lacking), file=sys.stderr)
        sys.exit(1)
