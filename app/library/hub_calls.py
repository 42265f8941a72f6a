"""The few questions we ask the Hugging Face hub. Runs on the download thread."""

from __future__ import annotations

from urllib.parse import quote

import httpx
import msgspec

from app.library.access import Access
from app.library.failures import DownloadFailure, from_status
from app.library.http import network_failure, opened
from app.library.huggingface import Hub, Pasted, RemoteModel
from app.model_names import MODEL_SUFFIX
from app.secrets import Secret

MAX_LISTING_BYTES = 8 << 20
MAX_LISTING_PAGES = 20


async def list_files(
    hub: Hub, client: httpx.AsyncClient, pasted: Pasted, token: Secret | None
) -> tuple[RemoteModel, ...]:
    """The model files of a repository, largest first. Raises `DownloadFailure`:
    `no_models` when it has none, `bad_listing` for an answer that is no list."""
    revision = quote(pasted.revision, safe="")
    url = f"{hub.endpoint}/api/models/{pasted.repo}/tree/{revision}?recursive=true"
    found: list[RemoteModel] = []
    access, page = hub.access(token), hub.page(pasted.repo)
    for _ in range(MAX_LISTING_PAGES):
        body, following = await _get(client, url, access, page)
        found += _models(body, pasted, httpx.URL(url).host)
        if following is None:
            break
        url = str(httpx.URL(url).join(following))
    if pasted.file:
        found = [m for m in found if m.file == pasted.file] or found
    if not found:
        raise DownloadFailure("no_models", page=page, repo=pasted.repo)
    return tuple(sorted(found, key=lambda m: (-(m.bytes or 0), m.file)))


async def test_token(hub: Hub, client: httpx.AsyncClient, token: Secret) -> str:
    """The account a token belongs to. Raises `DownloadFailure`, `token_bad` if refused."""
    url = f"{hub.endpoint}/api/whoami-v2"
    body, _ = await _get(client, url, hub.access(token), hub.tokens_page)
    try:
        return str(msgspec.json.decode(body)["name"])
    except (msgspec.MsgspecError, KeyError, TypeError):
        raise DownloadFailure("bad_listing", host=httpx.URL(url).host) from None


async def _get(
    client: httpx.AsyncClient, url: str, access: Access, page: str
) -> tuple[bytes, str | None]:
    """A small answer in full, and the address of its next page."""
    host = httpx.URL(url).host
    async with opened(client, "GET", url, access=access) as answer:
        response = answer.response
        if response.status_code != 200:
            had = access.covers(url)
            raise from_status(
                response.status_code, response.headers, host=host, page=page, had_token=had
            )
        kind = str(response.headers.get("content-type", "")).lower()
        if kind.startswith("text/html"):
            raise DownloadFailure("captive_portal", host=host)
        body = bytearray()
        try:
            async for chunk in response.aiter_bytes():
                body += chunk
                if len(body) > MAX_LISTING_BYTES:
                    raise DownloadFailure("bad_listing", host=host)
        except httpx.HTTPError as error:
            raise network_failure(error, host) from None
        link = response.links.get("next", {}).get("url")
        return bytes(body), link


def _models(body: bytes, pasted: Pasted, host: str) -> list[RemoteModel]:
    try:
        entries = msgspec.json.decode(body, type=list[_Entry])
    except msgspec.MsgspecError:
        raise DownloadFailure("bad_listing", host=host) from None
    return [
        RemoteModel(
            repo=pasted.repo,
            revision=pasted.revision,
            file=entry.path,
            bytes=entry.lfs.size if entry.lfs and entry.lfs.size else entry.size,
            sha256=entry.lfs.oid.removeprefix("sha256:") if entry.lfs else "",
        )
        for entry in entries
        if entry.type == "file" and entry.path.lower().endswith(MODEL_SUFFIX)
    ]


class _Lfs(msgspec.Struct):
    oid: str = ""
    size: int | None = None


class _Entry(msgspec.Struct):
    type: str
    path: str
    size: int | None = None
    lfs: _Lfs | None = None
