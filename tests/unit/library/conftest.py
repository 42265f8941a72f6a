"""A download manager with short patience, and a server that misbehaves."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.library.access import Access
from app.library.download_types import (
    DownloadPolicy,
    DownloadRequest,
    DownloadState,
    DownloadStatus,
)
from app.library.downloads import Downloads
from app.secrets import Secret
from tests.fakes.http_server import ModelServer, served

QUICK = DownloadPolicy(
    retries=2,
    first_delay_s=0.02,
    max_delay_s=0.1,
    stall_after_s=0.3,
    read_timeout_s=5.0,
    report_every_s=0.05,
)
ENDED = {
    DownloadState.DONE,
    DownloadState.FAILED,
    DownloadState.PAUSED,
    DownloadState.CANCELLED,
}


class Bench:
    """A manager under test and everything it told."""

    def __init__(self, server: ModelServer, folder: Path) -> None:
        self.server = server
        self.folder = folder
        self.token: Secret | None = None
        self.told: list[DownloadStatus] = []
        self.news = threading.Condition()
        self.managers: list[Downloads] = []
        self.checked: list[Path] = []
        self.manager = self.make()

    def make(self, policy: DownloadPolicy = QUICK) -> Downloads:
        manager = Downloads(
            self._on_change,
            lambda: Access(self.server.url, self.token),
            self.folder / "cache",
            self.checked.append,
            policy,
        )
        manager.start((self.folder,))
        self.managers.append(manager)
        return manager

    def _on_change(self, status: DownloadStatus) -> None:
        with self.news:
            self.told.append(status)
            self.news.notify_all()

    def request(
        self, path: str = "/o/r/resolve/main/m.litertlm", name: str = "m"
    ) -> DownloadRequest:
        return DownloadRequest(
            key=name,
            name=name,
            url=self.server.url + path,
            target=str(self.folder / f"{name}.litertlm"),
            page=f"{self.server.url}/o/r",
        )

    def last(self, key: str = "m") -> DownloadStatus | None:
        return next((s for s in reversed(self.told) if s.key == key), None)

    def wait(
        self, accept: Callable[[DownloadStatus], bool], key: str = "m", seconds: float = 60
    ) -> DownloadStatus:
        """Waits until the newest status of `key` is accepted."""
        deadline = time.monotonic() + seconds
        with self.news:
            while True:
                status = self.last(key)
                if status is not None and accept(status):
                    return status
                left = deadline - time.monotonic()
                if left <= 0:
                    pytest.fail(f"still {status}")
                self.news.wait(left)

    def ended(self, key: str = "m") -> DownloadStatus:
        return self.wait(lambda s: s.state in ENDED, key)

    def fetch(self, request: DownloadRequest | None = None) -> DownloadStatus:
        self.manager.add(request or self.request())
        return self.ended()

    def files(self) -> list[str]:
        return sorted(p.name for p in self.folder.iterdir() if p.is_file())


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with served() as made:
        yield made


@pytest.fixture
def bench(server: ModelServer, tmp_path: Path) -> Iterator[Bench]:
    folder = tmp_path / "models"
    folder.mkdir()
    made = Bench(server, folder)
    yield made
    for manager in made.managers:
        assert manager.close(5.0)
