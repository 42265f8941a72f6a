"""The Hugging Face hub: from what a person pastes to a list of files that can be fetched.

`parse` is pure. The coroutines run on the download thread with its client; the token goes
to the hub's own origin and nowhere else (see `http.Access`). The endpoint can be another
one (a mirror, a test server): `HF_ENDPOINT` is honoured as other tools do.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote, urlsplit

import msgspec

from app.library.access import Access
from app.library.catalogue import CatalogueEntry
from app.library.download_types import DownloadRequest
from app.library.failures import DownloadFailure
from app.library.names import safe_file_name
from app.model_names import MODEL_SUFFIX
from app.secrets import Secret

if TYPE_CHECKING:
    import httpx

DEFAULT_ENDPOINT = "https://huggingface.co"

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
        from app.library import hub_calls  # httpx takes long to import: only when needed

        return await hub_calls.list_files(self, client, pasted, token)

    async def test_token(self, client: httpx.AsyncClient, token: Secret) -> str:
        """The account a token belongs to. Raises `DownloadFailure`, `token_bad` if refused."""
        from app.library import hub_calls

        return await hub_calls.test_token(self, client, token)
