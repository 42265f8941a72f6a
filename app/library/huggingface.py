"""The Hugging Face hub: from what a person pastes to a list of files that can be fetched.

`parse` is pure. The coroutines run on the download thread with its client; the token goes
to the hub's own origin and nowhere else (see `http.Access`). The endpoint can be another
one (a mirror, a test server): `HF_ENDPOINT` is honoured as other tools do.
"""

from __future__ import annotations

import os
import re
from urllib.parse import quote, unquote, urlsplit

import httpx
import msgspec

from app.library.catalogue import CatalogueEntry
from app.library.download_types import DownloadRequest
from app.library.failures import DownloadFailure, from_status
from app.library.http import Access, network_failure, opened
from app.library.names import MODEL_SUFFIX, safe_file_name
from app.secrets import Secret

DEFAULT_ENDPOINT = "https://huggingface.co"
MAX_LISTING_BYTES = 8 << 20
MAX_LISTING_PAGES = 20

_PART = r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,94}[A-Za-z0-9])?"
_REPO = re.compile(rf"^({_PART})/({_PART})$")
_HOSTS = frozenset({"huggingface.co", "www.huggingface.co", "hf.co"})


class Pasted(msgspec.Struct, frozen=True, kw_only=True):
    """What an address means: a repository, perhaps a revision, perhaps one file."""

    repo: str
    revision: str = "main"
    file: str = ""


class RemoteModel(msgspec.Struct, frozen=True, kw_only=True):
    """A `.litertlm` file of a repository. `bytes` and `sha256` as the hub tells them."""

    repo: str
    revision: str
    file: str
    bytes: int | None = None
    sha256: str = ""


def endpoint_from_environment() -> str:
    """The hub's base address; only a whole http(s) address in `HF_ENDPOINT` counts."""
    given = os.environ.get("HF_ENDPOINT", "").strip().rstrip("/")
    parts = urlsplit(given)
    return given if parts.scheme in {"http", "https"} and parts.hostname else DEFAULT_ENDPOINT


def parse(text: str, endpoint: str = DEFAULT_ENDPOINT) -> Pasted:
    """Understands `owner/name`, a model page, a file page and a download address.

    A password or token inside an address is dropped, and so is everything after `?` or `#`.
    Raises `DownloadFailure("bad_url")`.
    """
    text = text.strip().strip("<>\"'").removeprefix("hf://")
    if "://" not in text and text.split("/")[0].lower() in _HOSTS:
        text = f"https://{text}"
    if "://" not in text:
        return _from_path(text.strip("/"))
    try:
        parts = urlsplit(text)
        host = (parts.hostname or "").lower()
    except ValueError:
        raise DownloadFailure("bad_url") from None
    if host not in _HOSTS and host != (urlsplit(endpoint).hostname or ""):
        raise DownloadFailure("bad_url")
    return _from_path(unquote(parts.path).strip("/").removeprefix("api/models/"))


def _from_path(path: str) -> Pasted:
    words = path.split("/")
    if len(words) < 2 or words[0] in {"datasets", "spaces", "models"}:
        raise DownloadFailure("bad_url")
    repo = "/".join(words[:2])
    if not _REPO.match(repo) or ".." in repo or "--" in repo:
        raise DownloadFailure("bad_url")
    if len(words) == 2:
        return Pasted(repo=repo)
    if words[2] in {"tree", "blob", "resolve", "raw"} and len(words) > 3 and words[3]:
        return Pasted(repo=repo, revision=words[3], file="/".join(words[4:]))
    if words[2] in {"tree", "discussions", "commits"}:
        return Pasted(repo=repo)
    # owner/name/file.litertlm, as people write it
    if words[-1].lower().endswith(MODEL_SUFFIX):
        return Pasted(repo=repo, file="/".join(words[2:]))
    raise DownloadFailure("bad_url")


class Hub:
    """Addresses of one hub, and its few questions."""

    def __init__(self, endpoint: str | None = None) -> None:
        self.endpoint = endpoint or endpoint_from_environment()

    def page(self, repo: str) -> str:
        """The model's page, where licences are accepted."""
        return f"{self.endpoint}/{repo}"

    @property
    def tokens_page(self) -> str:
        return f"{self.endpoint}/settings/tokens"

    def file_url(self, repo: str, revision: str, file: str) -> str:
        return f"{self.endpoint}/{repo}/resolve/{quote(revision, safe='')}/{quote(file)}"

    def access(self, token: Secret | None) -> Access:
        return Access(self.endpoint, token)

    def request_for_entry(self, entry: CatalogueEntry, target: str) -> DownloadRequest:
        return DownloadRequest(
            key=entry.key,
            name=entry.name,
            url=self.file_url(entry.repo, entry.revision, entry.file),
            target=target,
            page=self.page(entry.repo),
            expected_bytes=entry.bytes,
        )

    def request_for_file(self, found: RemoteModel, target: str) -> DownloadRequest:
        return DownloadRequest(
            key=f"{found.repo}/{found.file}",
            name=safe_file_name(found.file),
            url=self.file_url(found.repo, found.revision, found.file),
            target=target,
            page=self.page(found.repo),
            expected_bytes=found.bytes,
            sha256=found.sha256 or None,
        )

    async def list_files(
        self, client: httpx.AsyncClient, pasted: Pasted, token: Secret | None
    ) -> tuple[RemoteModel, ...]:
        """The model files of a repository, largest first. Raises `DownloadFailure`:
        `no_models` when it has none, `bad_listing` for an answer that is no list."""
        revision = quote(pasted.revision, safe="")
        url = f"{self.endpoint}/api/models/{pasted.repo}/tree/{revision}?recursive=true"
        found: list[RemoteModel] = []
        access, page = self.access(token), self.page(pasted.repo)
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

    async def test_token(self, client: httpx.AsyncClient, token: Secret) -> str:
        """The account a token belongs to. Raises `DownloadFailure`, `token_bad` if refused."""
        url = f"{self.endpoint}/api/whoami-v2"
        body, _ = await _get(client, url, self.access(token), self.tokens_page)
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
