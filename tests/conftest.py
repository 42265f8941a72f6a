"""Fixtures every test may use.

`demo_model`, `plain_model`: real model files. `tandem_home` (always on): files of the
program under test go below a temporary folder. `no_leaks` (always on): a test that leaves a
thread or a child process behind fails.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import psutil
import pytest

import resources

if not os.environ.get("DISPLAY") and not os.environ.get("WAYLAND_DISPLAY"):
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # started in the background of a script
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A busy machine is no failure: examples have no time limit. Each run takes the same examples;
# new ones, many, are tried with `--hypothesis-profile=search`.
hypothesis.settings.register_profile("tandem", deadline=None, derandomize=True)
hypothesis.settings.register_profile("search", deadline=None, max_examples=1000)
hypothesis.settings.load_profile("tandem")

GRACE_S = 20.0


@pytest.fixture(scope="session")
def demo_model() -> Path:
    """The bundled model; it has a drafter."""
    return resources.DEMO_MODEL


@pytest.fixture(scope="session")
def plain_model(demo_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundled model without its drafter, made once per session."""
    from tests.fakes.variants import make_variant

    target = tmp_path_factory.mktemp("variants") / "tandem-demo-plain.litertlm"
    return make_variant(demo_model, target, plain=True)


@pytest.fixture(autouse=True)
def tandem_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Everything the program writes goes below this folder."""
    home = tmp_path / "tandem-home"
    monkeypatch.setenv("TANDEM_HOME", str(home))
    return home


def _threads() -> set[threading.Thread]:
    return {t for t in threading.enumerate() if t.is_alive()}


def _children() -> set[psutil.Process]:
    found: set[psutil.Process] = set()
    for child in psutil.Process().children(recursive=True):
        try:
            if child.status() == psutil.STATUS_ZOMBIE:
                continue
            if any("resource_tracker" in part for part in child.cmdline()):
                continue
            if child.name() == "Xvfb":
                continue
        except psutil.Error:
            continue
        found.add(child)
    return found


@pytest.fixture(autouse=True)
def no_leaks(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fails a test after which a new thread or child process is still there."""
    threads, children = _threads(), _children()
    yield
    deadline = time.monotonic() + GRACE_S
    while True:
        new_threads = [t for t in _threads() - threads if t.name != "pytest_timeout"]
        new_children = _children() - children
        if not new_threads and not new_children:
            return
        if time.monotonic() > deadline:
            break
        time.sleep(0.02)
    pytest.fail(f"leaked threads {new_threads}, children {[c.cmdline() for c in new_children]}")
