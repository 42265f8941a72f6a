"""Plain values of a download: what is asked for, how patient we are, how it stands."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

import msgspec

from app.library.failures import Failure


class DownloadState(StrEnum):
    QUEUED = "queued"
    CONNECTING = "connecting"
    RUNNING = "running"
    WAITING = "waiting"
    VERIFYING = "verifying"
    PAUSED = "paused"
    FAILED = "failed"
    DONE = "done"
    CANCELLED = "cancelled"


ACTIVE = frozenset(
    {
        DownloadState.QUEUED,
        DownloadState.CONNECTING,
        DownloadState.RUNNING,
        DownloadState.WAITING,
        DownloadState.VERIFYING,
    }
)


class DownloadRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One file to fetch. `key` names it in the window; `page` is the model's page.

    `sha256` and `expected_bytes` are what we know beforehand; the server's own word is taken
    otherwise. `despite_cache` goes on when the file fits but its engine cache would not.
    """

    key: str
    name: str
    url: str
    target: str
    page: str = ""
    expected_bytes: int | None = None
    sha256: str | None = None
    despite_cache: bool = False

    @property
    def path(self) -> Path:
        return Path(self.target)


class DownloadPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """How patient a download is; times in seconds. Tests make them short."""

    at_once: int = 3
    retries: int = 7
    first_delay_s: float = 1.0
    max_delay_s: float = 60.0
    stall_after_s: float = 30.0
    read_timeout_s: float = 90.0
    report_every_s: float = 0.2

    def delay(self, attempt: int) -> float:
        """Back-off before retry number `attempt` (0 is the first)."""
        return float(min(self.max_delay_s, self.first_delay_s * 2.0**attempt))


class DownloadStatus(msgspec.Struct, frozen=True, kw_only=True):
    """How one download stands. Bytes, bytes per second, seconds; None is not known.

    `stalled_s` is set once no byte came for `stall_after_s`; `waiting_s` counts down to the
    next try, with `failure` as its reason. `note` tells of a restart from the beginning:
    "changed", "no_range" or "checksum_again". `sha256` is the published hash, if there is one.
    """

    key: str
    name: str
    url: str
    target: str
    state: DownloadState
    done: int = 0
    total: int | None = None
    speed: float | None = None
    seconds_left: float | None = None
    stalled_s: float | None = None
    waiting_s: float | None = None
    failure: Failure | None = None
    note: str = ""
    sha256: str = ""
