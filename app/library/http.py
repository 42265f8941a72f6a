"""HTTP for the library: one client, redirects under our control, the token kept to one host.

Runs on the download thread's loop. The client uses the system's proxy settings (httpx reads
them through `urllib`) and the system's certificate store (truststore). httpx never follows
a redirect here: `opened` does, and sends `Authorization` only to the origin the token is for.
"""

from __future__ import annotations

import logging
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import httpx
import truststore

from app.library.access import Access, origin
from app.library.failures import DownloadFailure

MAX_REDIRECTS = 10
_USER_AGENT = "Tandem (desktop chat for .litertlm models)"

# httpx logs every address at INFO; redirect targets are signed, so keep them out of the logs.
logging.getLogger("httpx").setLevel(logging.WARNING)
logging.getLogger("httpcore").setLevel(logging.WARNING)


def make_client(read_timeout_s: float, connect_timeout_s: float = 15.0) -> httpx.AsyncClient:
    """Raises `DownloadFailure("proxy")` when the system names a proxy httpx cannot use."""
    context = truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    timeout = httpx.Timeout(
        connect=connect_timeout_s, read=read_timeout_s, write=read_timeout_s, pool=None
    )
    try:
        return httpx.AsyncClient(
            verify=context,
            timeout=timeout,
            follow_redirects=False,
            headers={"User-Agent": _USER_AGENT, "Accept-Encoding": "identity"},
        )
    except (ImportError, ValueError, httpx.InvalidURL) as error:
        # The message may quote the proxy address with its password: only the type is told.
        raise DownloadFailure("proxy", reason=type(error).__name__) from None


class Opened:
    """A response ready to be streamed, and the headers of the hub's own answer, which for
    large files is a redirect that carries size and hash."""

    __slots__ = ("first_headers", "response")

    def __init__(self, response: httpx.Response, first_headers: httpx.Headers) -> None:
        self.response = response
        self.first_headers = first_headers


@asynccontextmanager
async def opened(
    client: httpx.AsyncClient,
    method: str,
    url: str,
    *,
    access: Access,
    headers: Mapping[str, str] | None = None,
    cross_hosts: bool = True,
) -> AsyncIterator[Opened]:
    """Sends one request and follows its redirects.

    With `cross_hosts` False a redirect to another origin ends the walk and is itself the
    answer (signed addresses often refuse HEAD). Network errors become `DownloadFailure`.
    """
    current = _parsed(url)
    first: httpx.Headers | None = None
    for _ in range(MAX_REDIRECTS):
        request = client.build_request(
            method, current, headers={**(headers or {}), **access.headers_for(str(current))}
        )
        try:
            response = await client.send(request, stream=True)
        except httpx.HTTPError as error:
            raise network_failure(error, current.host) from None
        try:
            first = first if first is not None else response.headers
            location = response.headers.get("location")
            if not (response.is_redirect and location):
                yield Opened(response, first)
                return
            following = _followed(current, location)
            if not cross_hosts and origin(str(following)) != origin(url):
                yield Opened(response, first)
                return
            current = following
        finally:
            await response.aclose()
    raise DownloadFailure("bad_redirect", host=httpx.URL(url).host)


def network_failure(error: httpx.HTTPError, host: str) -> DownloadFailure:
    """What a broken connection means. Texts of httpx stay out: they may hold addresses."""
    if isinstance(error, httpx.ProxyError):
        return DownloadFailure("proxy", retry=True, reason=type(error).__name__)
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
        if _has_cause(error, ssl.SSLError):
            return DownloadFailure("tls", host=host)
        return DownloadFailure("unreachable", retry=True, host=host)
    if isinstance(error, httpx.UnsupportedProtocol | httpx.TooManyRedirects):
        return DownloadFailure("bad_redirect", host=host)
    return DownloadFailure("cut", retry=True, host=host)


def _has_cause(error: BaseException | None, kind: type[BaseException]) -> bool:
    while error is not None:
        if isinstance(error, kind):
            return True
        error = error.__cause__ or error.__context__
    return False


def _parsed(url: str) -> httpx.URL:
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL:
        raise DownloadFailure("bad_url") from None
    if parsed.scheme not in {"http", "https"} or not parsed.host:
        raise DownloadFailure("bad_url")
    return parsed


def _followed(current: httpx.URL, location: str) -> httpx.URL:
    try:
        target = current.join(location)
    except httpx.InvalidURL:
        raise DownloadFailure("bad_redirect", host=current.host) from None
    if target.scheme not in {"http", "https"}:
        raise DownloadFailure("bad_redirect", host=current.host)
    if current.scheme == "https" and target.scheme == "http":
        raise DownloadFailure("bad_redirect", host=current.host)
    return target
