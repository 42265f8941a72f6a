"""Tells the user a sentence when there is no window yet and perhaps no console either.

A double-clicked program has no stderr on Windows and an invisible one on macOS, so a start that
must be refused would look like nothing at all. Standard library only; blocks until read.
"""

from __future__ import annotations

import ctypes
import json
import subprocess
import sys

_ICON_STOP = 0x10


def tell(sentence: str, title: str = "Tandem") -> None:
    """Prints the sentence where someone can see it, else shows the system's plainest dialog."""
    if sys.stderr is not None:
        print(sentence, file=sys.stderr, flush=True)
        if sys.platform != "darwin" or sys.stderr.isatty():
            return
    if sys.platform == "win32":
        show = getattr(ctypes, "windll").user32.MessageBoxW  # noqa: B009 (Windows only)
        show(None, sentence, title, _ICON_STOP)
    elif sys.platform == "darwin":
        # JSON strings are valid AppleScript strings for what our sentences hold.
        script = f"display alert {json.dumps(title)} message {json.dumps(sentence)}"
        subprocess.run(["osascript", "-e", script], check=False, capture_output=True)
