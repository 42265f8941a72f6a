"""What a server says about a file before its bytes are asked for."""

from __future__ import annotations

import re

import httpx
import msgspec

from app.library.access import Access
from app.library.failures import DownloadFailure, from_status
from app.library.http import opened

_SHA256 = re.compile(r"^[0-9a-f]{64}$")
_RANGE = re.compile(r"^bytes\s+(\d+)-(\d+)/(\d+|\*)$", re.IGNORECASE)


class RemoteFile(msgspec.Struct, frozen=True, kw_only=True):
    """`etag` and `sha256` are empty and `total` None where the server does not tell."""

    total: int | None = None
    etag: str = ""
    sha256: str = ""


async def look_up(client: httpx.AsyncClient, url: str, access: Access, page: str) -> RemoteFile:
    """Asks with HEAD. A server that does not do HEAD gives an empty answer, not an error."""
    async with opened(client, "HEAD", url, access=access, cross_hosts=False) as answer:
        response, host = answer.response, httpx.URL(url).host
        if response.status_code in {405, 501}:
            return RemoteFile()
        if response.status_code >= 400:
            raise from_status(
                response.status_code,
                response.headers,
                host=host,
                page=page,
                had_token=access.covers(url),
            )
        if is_page(response.headers) and "x-linked-size" not in answer.first_headers:
            raise DownloadFailure("captive_portal", host=host)
        return described(answer.first_headers, response)


def described(first: httpx.Headers, response: httpx.Response) -> RemoteFile:
    """Size and identity from the headers of one exchange.

    The hub's `x-linked-size` and `x-linked-etag` (the sha256 of a large file) come with its
    own answer; the plain headers count only on an answer that carries the file itself.
    """
    sha256 = strip_etag(first.get("x-linked-etag", ""))
    total = _number(first.get("x-linked-size"))
    etag = ""
    if response.status_code == 200:
        etag = response.headers.get("etag", "")
        if total is None and not encoded(response.headers):
            total = _number(response.headers.get("content-length"))
    return RemoteFile(
        total=total,
        etag=etag or first.get("x-linked-etag", ""),
        sha256=sha256 if _SHA256.match(sha256) else "",
    )


def strip_etag(etag: str) -> str:
    return etag.strip().removeprefix("W/").strip('"').lower()


def is_page(headers: httpx.Headers) -> bool:
    kind = str(headers.get("content-type", "")).lower()
    return kind.startswith(("text/html", "application/xhtml"))


def encoded(headers: httpx.Headers) -> bool:
    """Whether the server compressed the body although asked not to: lengths then lie."""
    return str(headers.get("content-encoding", "identity")).strip().lower() not in {"", "identity"}


def content_range(headers: httpx.Headers) -> tuple[int, int | None] | None:
    """(first byte, size of the whole file) of a 206 answer, None when unreadable."""
    match = _RANGE.match(headers.get("content-range", "").strip())
    if match is None:
        return None
    return int(match[1]), None if match[3] == "*" else int(match[3])


def unsatisfied_total(headers: httpx.Headers) -> int | None:
    """The size of the whole file as told by a 416 answer (`bytes */N`)."""
    _, _, total = headers.get("content-range", "").partition("*/")
    return _number(total)


def _number(text: str | None) -> int | None:
    return int(text) if text and text.strip().isdecimal() else None
