"""Why a download stopped, as plain values; `ui.model_strings` has a sentence for each code."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import msgspec

CODES = frozenset(
    {
        "token_needed",
        "token_bad",
        "licence_needed",
        "forbidden",
        "repo_unknown",
        "gone",
        "rate_limited",
        "server_error",
        "captive_portal",
        "not_a_model",
        "incomplete",
        "range_refused",
        "wrong_size",
        "checksum",
        "no_space",
        "no_space_cache",
        "disk_full",
        "write_failed",
        "unreachable",
        "tls",
        "proxy",
        "cut",
        "bad_redirect",
        "bad_url",
        "http_error",
        "bad_listing",
        "no_models",
        "broken",
    }
)

MAX_RETRY_AFTER_S = 900.0


class Failure(msgspec.Struct, frozen=True):
    """A failure as a value: `params` fill its sentence, `page` is a web page that helps."""

    code: str
    params: dict[str, str] = {}
    page: str = ""


class DownloadFailure(Exception):
    """Raised inside the transfer. `retry` says whether waiting may help by itself;
    `wait_s` is what the server asked for."""

    def __init__(
        self,
        code: str,
        *,
        retry: bool = False,
        wait_s: float | None = None,
        page: str = "",
        **params: object,
    ) -> None:
        super().__init__(code)
        self.code = code
        self.retry = retry
        self.wait_s = wait_s
        self.page = page
        self.params = {name: str(value) for name, value in params.items()}

    def value(self) -> Failure:
        return Failure(self.code, dict(self.params), self.page)


def from_status(
    status: int, headers: Mapping[str, str], *, host: str, page: str, had_token: bool
) -> DownloadFailure:
    """The failure an HTTP status stands for. `page` is the model's page on the hub; the
    hub's own `x-error-code` header is more exact than the status where it is there."""
    error_code = headers.get("x-error-code", "")
    if error_code == "RepoNotFound" and (status == 404 or had_token):
        return DownloadFailure("repo_unknown", page=page, host=host)
    if error_code == "GatedRepo" and had_token and status != 401:
        return DownloadFailure("licence_needed", page=page, host=host)
    if status == 401:
        return DownloadFailure("token_bad" if had_token else "token_needed", page=page, host=host)
    if status == 403:
        if had_token:
            return DownloadFailure("licence_needed", page=page, host=host)
        return DownloadFailure(
            "token_needed" if error_code == "GatedRepo" else "forbidden", page=page, host=host
        )
    if status in {404, 410}:
        return DownloadFailure("gone", page=page, host=host)
    if status == 429:
        wait = retry_after(headers)
        return DownloadFailure(
            "rate_limited", retry=True, wait_s=wait, host=host, seconds=round(wait or 0)
        )
    if status == 511:
        return DownloadFailure("captive_portal", host=host)
    if status >= 500 or status == 408:
        return DownloadFailure(
            "server_error", retry=True, wait_s=retry_after(headers), host=host, status=status
        )
    return DownloadFailure("http_error", host=host, status=status)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait per `Retry-After` (a number or an HTTP date), within reason."""
    text = headers.get("retry-after", "").strip()
    if not text:
        return None
    try:
        seconds = float(text)
    except ValueError:
        try:
            when = parsedate_to_datetime(text)
        except ValueError:
            return None
        if when.tzinfo is None:
            when = when.replace(tzinfo=UTC)
        seconds = (when - datetime.now(UTC)).total_seconds()
    return min(max(seconds, 0.0), MAX_RETRY_AFTER_S)


def from_os_error(error: OSError, *, needed: int, free: int, folder: str) -> DownloadFailure:
    """A failed write: out of space (also quota and size limits) or anything else."""
    if error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}:
        return DownloadFailure("disk_full", needed=needed, free=free, folder=folder)
    return DownloadFailure("write_failed", folder=folder, reason=error.strerror or "unknown")
