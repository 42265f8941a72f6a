"""The program's name and version: the one place both are written.

`pyproject.toml` must say the same version (a test compares them); the bundle, the installers and
the About page read it here. Standard library only: `run.py` and the packaging scripts import it.
"""

from __future__ import annotations

APP_NAME = "Tandem"
APP_ID = "tandem-chat"
"""The name in paths, package names and desktop files: lower case, no spaces."""

VERSION = "0.1.0"

DESKTOP_ID = "io.github.tandem_chat.Tandem"
"""Reverse-DNS name: of the desktop file, the AppStream record and the macOS bundle."""

MIME_TYPE = "application/x-litertlm"
"""The media type of a `.litertlm` file, declared by our installers."""
