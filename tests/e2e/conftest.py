"""A screen for real windows: the one there is, else a virtual one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session")
def display() -> Iterator[str]:
    """A value for DISPLAY ("" where the system needs none). Starts Xvfb if there is none."""
    if not sys.platform.startswith("linux"):
        yield ""
        return
    found = os.environ.get("DISPLAY")
    if found:
        yield found
        return
    binary = shutil.which("Xvfb")
    if binary is None:
        pytest.skip("no display and no Xvfb (package xvfb)")
    reading, writing = os.pipe()
    process = subprocess.Popen(
        [binary, "-displayfd", str(writing), "-screen", "0", "1280x800x24", "-nolisten", "tcp"],
        pass_fds=(writing,),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(writing)
    with os.fdopen(reading) as answer:
        number = answer.readline().strip()
    if not number:
        process.kill()
        process.wait()
        pytest.skip("Xvfb did not start")
    yield f":{number}"
    process.terminate()
    process.wait()
