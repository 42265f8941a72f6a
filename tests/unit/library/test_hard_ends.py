"""A killed program and a full disk: what is left must be usable."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from app.library.download_types import DownloadState
from app.library.names import partial_path
from tests.fakes import http_server as web
from tests.fakes.http_server import Hosted, ModelServer, model_bytes
from tests.unit.library.conftest import Bench

PATH = "/o/r/resolve/main/m.litertlm"

CHILD = """
import sys, time
from pathlib import Path
from app.library.download_types import DownloadRequest
from app.library.downloads import Downloads
from app.library.access import Access

url, folder = sys.argv[1], Path(sys.argv[2])
manager = Downloads(lambda s: None, lambda: Access(url, None), folder / "cache", lambda p: None)
manager.start()
manager.add(DownloadRequest(key="m", name="m", url=url + sys.argv[3],
                            target=str(folder / "m.litertlm")))
time.sleep(60)
"""


def test_killed_in_the_middle_then_resumed(bench: Bench, server: ModelServer) -> None:
    hosted = server.files[PATH] = Hosted(model_bytes(3_000_000), moods=[web.slow(), web.normal])
    partial = partial_path(bench.folder / "m.litertlm")
    child = subprocess.Popen([sys.executable, "-c", CHILD, server.url, str(bench.folder), PATH])
    try:
        deadline = time.monotonic() + 30
        while not (partial.exists() and partial.stat().st_size > 300_000):
            assert time.monotonic() < deadline
            assert child.poll() is None
            time.sleep(0.02)
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait(10)
    kept = partial.stat().st_size
    assert 0 < kept < 3_000_000
    fresh = bench.make()
    found = bench.wait(lambda s: s.state is DownloadState.PAUSED)
    assert (found.done, found.total) == (kept, 3_000_000)
    fresh.resume("m")
    bench.wait(lambda s: s.state is DownloadState.DONE)
    assert server.gets(PATH)[-1].headers["range"] == f"bytes={kept}-"
    assert (bench.folder / "m.litertlm").read_bytes() == hosted.data


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 2 MB. Needs the right to mount."""
    folder = tmp_path / "small"
    folder.mkdir()
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root on Linux")
    command = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("mounting is not allowed here")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_preflight_names_both_numbers(bench: Bench, server: ModelServer, small_disk: Path) -> None:
    server.files[PATH] = Hosted(model_bytes(3_000_000))
    request = msgspec.structs.replace(bench.request(PATH), target=str(small_disk / "m.litertlm"))
    status = bench.fetch(request)
    assert status.failure is not None
    assert status.failure.code == "no_space"
    assert status.failure.params["file"] == "3000000"
    assert status.failure.params["cache"] == "3000000"
    assert 0 < int(status.failure.params["free"]) <= 2 << 20
    assert not server.gets(PATH), "no byte is fetched that cannot be kept"


def test_full_disk_in_the_middle(bench: Bench, server: ModelServer, small_disk: Path) -> None:
    """Length unknown beforehand, so only the disk itself can say that it is full."""
    hosted = server.files[PATH] = Hosted(
        model_bytes(3_000_000), linked=False, head_status=405, moods=[web.without_length]
    )
    target = small_disk / "m.litertlm"
    status = bench.fetch(msgspec.structs.replace(bench.request(PATH), target=str(target)))
    assert status.failure is not None
    assert status.failure.code == "disk_full"
    assert partial_path(target).exists()
    hosted.data = model_bytes(1_000_000)  # as if there were room now
    hosted.etag = '"smaller"'
    bench.manager.resume("m")
    bench.wait(lambda s: s.state is DownloadState.DONE)
    assert target.read_bytes() == hosted.data


def test_full_disk_can_be_cancelled(bench: Bench, server: ModelServer, small_disk: Path) -> None:
    server.files[PATH] = Hosted(
        model_bytes(3_000_000), linked=False, head_status=405, moods=[web.without_length]
    )
    target = small_disk / "m.litertlm"
    bench.fetch(msgspec.structs.replace(bench.request(PATH), target=str(target)))
    bench.manager.cancel("m")
    bench.wait(lambda s: s.state is DownloadState.CANCELLED)
    assert not list(small_disk.iterdir())


def test_write_limit_in_the_middle(tmp_path: Path, server: ModelServer) -> None:
    """The same without root: a size limit of the process ends the writing (EFBIG)."""
    if sys.platform == "win32":
        pytest.skip("no RLIMIT_FSIZE on Windows")
    server.files[PATH] = Hosted(model_bytes(3_000_000))
    script = CHILD.replace(
        "import sys, time",
        "import resource, signal, sys, time\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, 500_000))",
    ).replace("lambda s: None", "lambda s: print(s.failure.code, flush=True) if s.failure else 0")
    child = subprocess.Popen(
        [sys.executable, "-c", script, server.url, str(tmp_path), PATH],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert child.stdout is not None
        assert child.stdout.readline().strip() == "disk_full"
    finally:
        child.kill()
        child.communicate(timeout=10)
