"""The token: who is shown it, where it must never appear, and keyrings that misbehave."""

from __future__ import annotations

import asyncio
import logging
import pickle
import threading
import time
import traceback
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from keyring.errors import InitError, KeyringLocked

from app import secrets
from app.library.download_types import DownloadState
from app.library.failures import DownloadFailure
from app.library.huggingface import Hub, Pasted
from app.library.names import partial_path
from app.secrets import Keeping, KeyringLike, KeyringUnavailable, Secret, TokenStore
from tests.fakes import http_server as web
from tests.fakes.http_server import Hosted, ModelServer, model_bytes, served
from tests.unit.library.conftest import Bench

TOKEN = "hf_kUpFeRwOlKe123456789"
PATH = "/o/r/resolve/main/m.litertlm"


@pytest.fixture
def gated(server: ModelServer) -> Hosted:
    server.tokens.add(TOKEN)
    server.files[PATH] = made = Hosted(model_bytes(200_000), gate="token")
    return made


def code_of(bench: Bench) -> str:
    status = bench.ended()
    assert status.failure is not None
    return status.failure.code


def test_no_token_then_bad_token_then_good_token(bench: Bench, gated: Hosted) -> None:
    bench.manager.add(bench.request())
    assert code_of(bench) == "token_needed"
    bench.told.clear()
    bench.token = Secret("hf_wrong")
    bench.manager.resume("m")
    assert code_of(bench) == "token_bad"
    bench.told.clear()
    bench.token = Secret(TOKEN)
    bench.manager.resume("m")
    assert bench.ended().state is DownloadState.DONE


def test_licence_to_accept_names_the_page(bench: Bench, gated: Hosted) -> None:
    gated.gate, bench.token = "licence", Secret(TOKEN)
    bench.manager.add(bench.request())
    assert code_of(bench) == "licence_needed"
    status = bench.last()
    assert status is not None
    assert status.failure is not None
    assert status.failure.page == f"{bench.server.url}/o/r"
    gated.gate = "token"  # accepted on the page, then *Try again*
    bench.manager.resume("m")
    bench.wait(lambda s: s.state is DownloadState.DONE)


@pytest.fixture
def elsewhere() -> Iterator[ModelServer]:
    """Another origin: same address, another port."""
    with served() as made:
        yield made


def test_redirect_to_another_host_never_carries_the_token(
    bench: Bench, gated: Hosted, elsewhere: ModelServer
) -> None:
    bench.token = Secret(TOKEN)
    elsewhere.files["/signed"] = Hosted(gated.data, moods=[web.cut_after(50_000), web.normal])
    gated.redirect_to = f"{elsewhere.url}/signed"
    assert bench.fetch().state is DownloadState.DONE
    assert elsewhere.requests
    assert not [r for r in elsewhere.requests if "authorization" in r.headers]
    assert not [r for r in elsewhere.requests if r.method == "HEAD"]
    assert bench.server.gets(PATH)[0].headers["authorization"] == f"Bearer {TOKEN}"
    assert elsewhere.gets("/signed")[1].headers["range"] == "bytes=50000-"


def test_redirects_in_a_circle_end(bench: Bench, gated: Hosted) -> None:
    gated.gate, gated.redirect_to = "", PATH
    bench.manager.add(bench.request())
    assert code_of(bench) == "bad_redirect"


@pytest.mark.parametrize("target", ["file:///etc/passwd", "ftp://127.0.0.1/x", "https:///"])
def test_redirects_out_of_http_are_refused(bench: Bench, gated: Hosted, target: str) -> None:
    gated.gate, gated.redirect_to = "", target
    bench.manager.add(bench.request())
    assert code_of(bench) in {"bad_redirect", "unreachable"}


def test_token_appears_nowhere(
    bench: Bench,
    gated: Hosted,
    elsewhere: ModelServer,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    caplog.set_level(logging.DEBUG)
    for name in ("httpx", "httpcore"):
        monkeypatch.setattr(logging.getLogger(name), "level", logging.DEBUG)
    secret = Secret(TOKEN)
    bench.token = secret
    gated.moods = [web.cut_after(50_000), web.status(500)]
    bench.manager.add(bench.request())
    bench.ended()
    on_disk = b"".join(p.read_bytes() for p in bench.folder.rglob("*") if p.is_file())
    told = msgspec.json.encode(bench.told)

    async def failing() -> str:
        try:
            raise RuntimeError(f"with {secret} and {secret!r} and {secret:>20}")
        except RuntimeError:
            return "".join(traceback.TracebackException(*_exc(), capture_locals=True).format())

    trace = asyncio.run(failing())
    out, err = capfd.readouterr()
    for text in (caplog.text, trace, out, err, on_disk.decode("latin-1"), told.decode()):
        assert TOKEN not in text
    for write in (pickle.dumps, msgspec.json.encode, msgspec.msgpack.encode):
        with pytest.raises(TypeError):
            write(secret)


def _exc() -> tuple[type[BaseException], BaseException, object]:
    import sys

    kind, value, trace = sys.exc_info()
    assert kind is not None
    assert value is not None
    return kind, value, trace  # type: ignore[return-value]


def test_testing_a_token(bench: Bench, gated: Hosted) -> None:
    hub = Hub(bench.server.url)
    good = bench.manager.submit(lambda c: hub.test_token(c, Secret(f"  {TOKEN}\n")))
    assert good.result(10) == "someone"
    bad = bench.manager.submit(lambda c: hub.test_token(c, Secret("hf_wrong")))
    with pytest.raises(DownloadFailure, match="token_bad"):
        bad.result(10)


def test_listing_a_repository(bench: Bench, server: ModelServer) -> None:
    small, large = Hosted(model_bytes(1000), linked=False), Hosted(model_bytes(5000, 2))
    other = Hosted(b"text")
    server.repo("o/r", {"a.litertlm": small, "sub/b.litertlm": large, "README.md": other})
    hub = Hub(server.url)
    pasted = Pasted(repo="o/r")
    found = bench.manager.submit(lambda c: hub.list_files(c, pasted, None)).result(10)
    assert [(m.file, m.bytes) for m in found] == [("sub/b.litertlm", 5000), ("a.litertlm", 1000)]
    assert found[0].sha256 == large.sha256
    request = hub.request_for_file(found[0], str(bench.folder / "b.litertlm"))
    bench.manager.add(request)
    assert bench.ended(request.key).state is DownloadState.DONE
    assert (bench.folder / "b.litertlm").read_bytes() == large.data


@pytest.mark.parametrize(
    ("status", "body", "kind", "code"),
    [
        (200, b"[]", "application/json", "no_models"),
        (200, b"{nonsense", "application/json", "bad_listing"),
        (200, b"<html>", "text/html", "captive_portal"),
        (404, b"", "application/json", "gone"),
        (429, b"", "application/json", "rate_limited"),
    ],
)
def test_listing_that_fails(
    bench: Bench, server: ModelServer, status: int, body: bytes, kind: str, code: str
) -> None:
    server.pages["/api/models/o/r/tree/main"] = (status, {"Content-Type": kind}, body)
    hub = Hub(server.url)
    work = bench.manager.submit(lambda c: hub.list_files(c, Pasted(repo="o/r"), None))
    with pytest.raises(DownloadFailure, match=code):
        work.result(10)


def test_listing_stays_with_a_cut_partial_name(bench: Bench) -> None:
    assert partial_path(Path("x/m.litertlm")).name == "m.litertlm.partial"


# ---- keyrings ----


class Ring:
    """A keyring in memory."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], str] = {}

    def get_password(self, service_name: str, username: str) -> str | None:
        return self.kept.get((service_name, username))

    def set_password(self, service_name: str, username: str, password: str) -> None:
        self.kept[service_name, username] = password

    def delete_password(self, service_name: str, username: str) -> None:
        del self.kept[service_name, username]


def test_kept_in_the_keyring_and_removed() -> None:
    ring = Ring()

    async def run() -> None:
        store = TokenStore(lambda: ring)
        assert await store.load() is None
        assert await store.save(Secret(TOKEN)) is Keeping.KEYRING
        again = TokenStore(lambda: ring)
        loaded = await again.load()
        assert loaded is not None
        assert loaded.reveal() == TOKEN
        assert again.keeping is Keeping.KEYRING
        assert await again.remove()
        assert again.token is None
        assert not ring.kept

    asyncio.run(run())


class LockedRing(Ring):
    """One whose owner dismisses the question for its password, each time."""

    def get_password(self, service_name: str, username: str) -> str | None:
        raise KeyringLocked("Prompt dismissed.")

    def set_password(self, service_name: str, username: str, password: str) -> None:
        raise InitError(f"locked, and quotes {password}")


@pytest.mark.parametrize("reason", ["absent", "refused", "locked"])
def test_without_a_keyring_the_token_lives_for_this_run(
    reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")

    def none() -> KeyringLike:
        if reason == "absent":
            raise KeyringUnavailable("absent")
        if reason == "locked":
            return LockedRing()
        raise RuntimeError(f"a backend that quotes {TOKEN}")

    async def run() -> None:
        store = TokenStore(none)
        assert await store.load() is None
        assert await store.save(Secret(TOKEN)) is Keeping.SESSION
        assert store.token == Secret(TOKEN)
        assert await store.remove()

    asyncio.run(run())
    assert TOKEN not in caplog.text


def test_keyring_that_hangs_does_not_hang_us(caplog: pytest.LogCaptureFixture) -> None:
    release = threading.Event()

    def hang() -> KeyringLike:
        release.wait(30)
        return Ring()

    async def run() -> None:
        store = TokenStore(hang, deadline_s=0.2)
        begun = time.monotonic()
        assert await store.load() is None
        assert await store.save(Secret(TOKEN)) is Keeping.SESSION
        assert time.monotonic() - begun < 20

    try:
        asyncio.run(run())
    finally:
        release.set()
    assert TOKEN not in caplog.text


def test_keyring_runs_on_its_own_thread() -> None:
    seen: list[threading.Thread] = []

    def look() -> KeyringLike:
        seen.append(threading.current_thread())
        return Ring()

    asyncio.run(TokenStore(look).load())
    assert seen[0] is not threading.main_thread()
    assert seen[0].daemon


def test_null_keyring_counts_as_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring")
    import keyring.core

    keyring.core.init_backend()
    with pytest.raises(KeyringUnavailable, match="absent"):
        secrets._system_keyring()
