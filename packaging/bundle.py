"""What goes into the bundle and what stays out: the lists behind `tandem.spec` and `build.py`.

No side effects, no PyInstaller import, so that tests can read it. Sizes in comments are Linux's.
"""

from __future__ import annotations

import importlib.metadata
import os
import re
import subprocess
import sys
from pathlib import Path, PurePosixPath
from typing import Any

FOLDER_NAME = "tandem"
BUNDLE_ID = "io.github.tandem_chat.Tandem"
MIME_TYPE = "application/x-litertlm"

ENGINE_FILES = [
    "liblitert-lm.so",
    "liblitert-lm.dylib",
    "litert-lm.dll",
    "dxcompiler.dll",
    "dxil.dll",
]
"""The native engine and, on Windows, the two shader compilers its GPU backend loads by name. The
wheel's NPU dispatch library needs a runtime that nobody has and stays out."""

EXCLUDED_MODULES = [
    # Qt that no window here uses.
    *(
        f"PySide6.{name}"
        for name in (
            "QtConcurrent", "QtDesigner", "QtHelp", "QtNetworkAuth", "QtPrintSupport", "QtQml",
            "QtQuick", "QtQuickControls2", "QtQuickTest", "QtQuickWidgets", "QtSql", "QtUiTools",
            "QtXml", "scripts",
        )
    ),
    # Other bindings that qasync and pyqtgraph would take if they were installed.
    "PyQt5", "PyQt6", "PySide2", "tkinter", "_tkinter",
    # Optional halves of libraries: servers, consoles, examples, plots we do not draw.
    "IPython", "matplotlib", "scipy", "cupy", "numba", "h5py", "OpenGL", "PIL", "colorcet",
    "pyqtgraph.examples", "pyqtgraph.opengl", "pyqtgraph.jupyter", "rich", "typer", "websockets",
    "uvloop", "httptools", "watchfiles", "numpy.f2py", "numpy.distutils", "numpy.testing",
    # Development tools.
    "pytest", "_pytest", "mypy", "hypothesis", "setuptools", "pip", "pkg_resources", "lib2to3",
    "ensurepip", "idlelib", "pydoc_data", "turtledemo", "test",
]  # fmt: skip

_DROPPED_FOLDERS = (
    "PySide6/Qt/translations/",
    "PySide6/Qt/qml/",
    "PySide6/Qt/plugins/designer/",
    "PySide6/Qt/plugins/egldeviceintegrations/",
    "PySide6/Qt/plugins/generic/",
    "PySide6/Qt/plugins/networkinformation/",
    "PySide6/Qt/plugins/printsupport/",
    "PySide6/Qt/plugins/qmltooling/",
    "PySide6/Qt/plugins/sqldrivers/",
    "PySide6/Qt/plugins/vectorimageformats/",
    "PySide6/Qt/plugins/wayland-graphics-integration-server/",
    "PySide6/translations/",
    "resources/styles/sources/",
)
_DROPPED_NAMES = (
    # Platforms without a desktop, and input methods and formats that drag in QML or PDF.
    "libqeglfs", "libqlinuxfb", "libqminimalegl", "libqvkkhrdisplay", "libqvnc", "qdirect2d",
    "libqgtk3", "libqtvirtualkeyboardplugin", "qtvirtualkeyboardplugin", "libqpdf", "qpdf",
    "libQt6Qml", "libQt6Quick", "libQt6Pdf", "libQt6VirtualKeyboard", "libQt6EglF",
    "Qt6Qml", "Qt6Quick", "Qt6Pdf", "Qt6VirtualKeyboard",
    "QtQml", "QtQuick", "QtPdf", "QtVirtualKeyboard",
    # Mesa's software OpenGL, 20 MB on Windows: nothing here draws with OpenGL.
    "opengl32sw",
)  # fmt: skip

_HOST_LIBRARIES = (
    # One C++ runtime per process: the host's graphics drivers need their own, newer one.
    "libstdc++.so", "libgcc_s.so",
    # What must match the host's display server, drivers, fonts and configuration.
    "libX11.so", "libX11-xcb.so", "libXau.so", "libXdmcp.so", "libXext.so", "libXrender.so",
    "libdrm.so", "libwayland-", "libfontconfig.so", "libfreetype.so", "libpng16.so", "libbrotli",
    "libexpat.so", "libz.so", "libharfbuzz.so", "libgraphite2.so",
    "libdbus-1.so", "libsystemd.so", "libcap.so", "libgcrypt.so", "libgpg-error.so", "liblz4.so",
    "libglib-2.0.so", "libgthread-2.0.so", "libpcre2-8.so", "libmd.so", "libbsd.so",
)  # fmt: skip
"""Linux libraries that every desktop has and that a copy from the building machine would disturb.
Bundled instead are the small ones that desktops lack (libxcb-cursor and its kin)."""

HOST_PROVIDES = (
    "libc.so", "libm.so", "libdl.so", "libpthread.so", "librt.so", "libutil.so", "ld-linux",
    "libcrypt.so", "libnsl.so", "libresolv.so", "libGL.so", "libEGL.so", "libOpenGL.so",
    "libGLX.so", "libxcb.so",
    *_HOST_LIBRARIES,
)  # fmt: skip
"""What a file in the Linux bundle may be linked with although the bundle does not have it."""

_MUST_HAVE = (
    "resources/models/tandem-demo.litertlm",
    "resources/models.json",
    "resources/known_problems.json",
    "resources/icons/app.svg",
    "resources/styles/tandem.qss",
    "resources/licences/NOTICE.md",
    "resources/licences/QT.md",
    "resources/licences/DEMO-MODEL.md",
    "resources/licences/LGPL-3.0.txt",
    "resources/licences/GPL-3.0.txt",
    "resources/licences/python/index.json",
    "LICENSE",
)

MUST_NOT_HAVE = ("pytest", "mypy", "libQt6Qml", "libQt6Quick", "libQt6WebEngine", "PyQt6")
"""Beginnings of names that would show that an exclusion stopped working."""


def referenced(entries: Any) -> Any:
    """The entries without system libraries that nothing in the bundle is linked with any more.

    A dropped plugin leaves its libraries behind (GTK with forty others), as far as the building
    machine has them. Linux only; asks `readelf`, which PyInstaller's own tools come with.
    """
    if not sys.platform.startswith("linux"):
        return entries
    left = list(entries)
    while True:
        files = [entry for entry in left if entry[2] != "SYMLINK"]
        needed = {name for entry in files for name in linked_with(Path(entry[1]))}
        gone = [e for e in files if _is_system_library(e[0]) and Path(e[0]).name not in needed]
        if not gone:
            return left
        left = [entry for entry in left if entry not in gone]


def _is_system_library(destination: str) -> bool:
    """Whether PyInstaller put it at the top for others; the boot loader opens Python itself."""
    return (
        "/" not in destination
        and destination.startswith("lib")
        and not destination.startswith("libpython")
    )


def linked_with(path: Path) -> list[str]:
    """The libraries an ELF file asks for by name; empty for any other file."""
    with path.open("rb") as file:
        if file.read(4) != b"\x7fELF":
            return []
    command = ["readelf", "-d", str(path)]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return re.findall(r"\(NEEDED\).*\[(.+)\]", output)


def must_have() -> tuple[str, ...]:
    """Ends of file names without which the bundle is broken or may not be given away."""
    engine = {
        "win32": ("litert_lm/litert-lm.dll", "litert_lm/dxcompiler.dll", "litert_lm/dxil.dll"),
        "darwin": ("litert_lm/liblitert-lm.dylib",),
    }
    return (*_MUST_HAVE, *engine.get(sys.platform, ("litert_lm/liblitert-lm.so",)))


def kept(entries: Any) -> Any:
    """The entries of a PyInstaller list (destination, source, kind) that belong in the bundle."""
    return [entry for entry in entries if belongs(entry[0])]


def belongs(destination: str) -> bool:
    """Whether a file with this place in the bundle belongs there."""
    path = destination.replace("\\", "/")
    name = PurePosixPath(path).name
    if any(folder in path for folder in _DROPPED_FOLDERS):
        return False
    if name.endswith((".xnnpack_cache", ".pyc", ".partial")) or "__pycache__" in path:
        return False
    if sys.platform.startswith("linux") and "/" not in path and name.startswith(_HOST_LIBRARIES):
        return False
    return not name.startswith(_DROPPED_NAMES)


def development_modules(root: Path) -> list[str]:
    """Top-level modules that only the development lock brings: libraries with optional imports
    (a YAML reader here, a console there) would pull them in from the building environment."""
    runtime, everything = (
        {canonical(name) for name in locked(root / file)}
        for file in ("requirements.lock", "requirements-dev.lock")
    )
    only = everything - runtime
    found = importlib.metadata.packages_distributions()
    return sorted(
        module
        for module, owners in found.items()
        if module.isidentifier() and all(canonical(owner) in only for owner in owners)
    )


def locked(lock_file: Path) -> dict[str, str]:
    """The packages of a lock file with their versions; one that differs by Python: the last."""
    lines = lock_file.read_text(encoding="utf-8").splitlines()
    matches = (re.match(r"([A-Za-z0-9._-]+)==(\S+)", line) for line in lines)
    return {match[1]: match[2] for match in matches if match}


def canonical(name: str) -> str:
    """A distribution's name as package indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def compiled_helpers(distribution: str) -> list[str]:
    """Top-level extension modules that mypyc put beside a package under a hashed name."""
    files = importlib.metadata.files(distribution) or []
    return [file.name.split(".")[0] for file in files if "__mypyc." in file.name]


def keyring_backends() -> list[str]:
    """Where keyring finds the system's store; it looks them up by name, which hides them."""
    backends = ["keyring.backends.chainer", "keyring.backends.fail", "keyring.backends.null"]
    if sys.platform == "win32":
        return [*backends, "keyring.backends.Windows", "win32ctypes.core"]
    if sys.platform == "darwin":
        return [*backends, "keyring.backends.macOS", "keyring.backends.macOS.api"]
    return [
        *backends,
        "keyring.backends.SecretService",
        "keyring.backends.kwallet",
        "secretstorage",
    ]


def program_name() -> str:
    """Name of the executable: what a person types on Linux, what a person sees elsewhere."""
    return "tandem" if sys.platform.startswith("linux") else "Tandem"


def icon(root: Path) -> str | None:
    """The icon file the executable carries; Linux takes its own from the desktop file."""
    names = {"win32": "tandem.ico", "darwin": "tandem.icns"}
    name = names.get(sys.platform)
    return str(root / "packaging" / "icons" / name) if name else None


def signing_identity() -> str | None:
    """The certificate to sign with on macOS; None leaves an ad-hoc signature."""
    return os.environ.get("TANDEM_MACOS_IDENTITY") or None
