"""Downloads against a server that misbehaves, over real sockets on loopback."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec
import pytest

from app.library.download_types import DownloadState
from app.library.names import journal_path, partial_path
from tests.fakes import http_server as web
from tests.fakes.http_server import Hosted, ModelServer, model_bytes
from tests.unit.library.conftest import QUICK, Bench

PATH = "/o/r/resolve/main/m.litertlm"
SIZE = 300_000


@pytest.fixture
def hosted(server: ModelServer) -> Hosted:
    server.files[PATH] = made = Hosted(model_bytes(SIZE))
    return made


def target(bench: Bench) -> Path:
    return bench.folder / "m.litertlm"


def left_partial(bench: Bench, hosted: Hosted, count: int) -> None:
    """Makes a real partial: a download cut after `count` bytes, without more tries."""
    hosted.moods = [web.cut_after(count), web.status(500)]
    status = bench.fetch()
    assert status.state is DownloadState.FAILED
    assert partial_path(target(bench)).stat().st_size == count
    hosted.moods = []
    bench.told.clear()


def test_plain_download_is_verified_and_renamed(bench: Bench, hosted: Hosted) -> None:
    status = bench.fetch()
    assert status.state is DownloadState.DONE
    assert (status.done, status.total) == (SIZE, SIZE)
    assert target(bench).read_bytes() == hosted.data
    assert bench.files() == ["m.litertlm"]


def test_cut_connection_goes_on_where_it_stopped(bench: Bench, hosted: Hosted) -> None:
    hosted.moods = [web.cut_after(100_000), web.cut_after(100_000), web.normal]
    assert bench.fetch().state is DownloadState.DONE
    assert target(bench).read_bytes() == hosted.data
    ranges = [r.headers.get("range") for r in bench.server.gets(PATH)]
    assert ranges == [None, "bytes=100000-", "bytes=200000-"]


def test_progress_resets_the_patience(bench: Bench, hosted: Hosted) -> None:
    hosted.moods = [*[web.cut_after(40_000)] * 7, web.normal]
    assert bench.fetch().state is DownloadState.DONE
    assert target(bench).read_bytes() == hosted.data


def test_without_progress_it_gives_up_and_keeps_the_partial(bench: Bench, hosted: Hosted) -> None:
    hosted.moods = [web.cut_after(50_000), web.cut_after(0)]
    status = bench.fetch()
    assert status.failure is not None
    assert status.failure.code == "cut"
    assert bench.files() == ["m.litertlm.partial", "m.litertlm.partial.json"]
    hosted.moods = []
    bench.manager.resume("m")
    bench.wait(lambda s: s.state is DownloadState.DONE)
    assert bench.server.gets(PATH)[-1].headers["range"] == "bytes=50000-"


def test_server_that_ignores_ranges_starts_over(bench: Bench, hosted: Hosted) -> None:
    hosted.moods = [web.cut_after(100_000), web.ignores_range]
    status = bench.fetch()
    assert (status.state, status.note) == (DownloadState.DONE, "no_range")
    assert target(bench).read_bytes() == hosted.data


def test_wrong_range_is_not_spliced_in(bench: Bench, hosted: Hosted) -> None:
    hosted.moods = [web.cut_after(100_000), web.wrong_range]
    assert bench.fetch().state is DownloadState.DONE
    assert target(bench).read_bytes() == hosted.data


@pytest.mark.parametrize("linked", [True, False])
def test_file_changed_on_the_server(bench: Bench, hosted: Hosted, linked: bool) -> None:
    hosted.linked = linked
    left_partial(bench, hosted, 120_000)
    hosted.data, hosted.etag = model_bytes(SIZE, seed=2), '"two"'
    bench.manager.resume("m")
    status = bench.wait(lambda s: s.state in {DownloadState.DONE, DownloadState.FAILED})
    assert (status.state, status.note) == (DownloadState.DONE, "changed")
    assert target(bench).read_bytes() == hosted.data


def test_changed_etag_is_seen_without_head(bench: Bench, hosted: Hosted) -> None:
    hosted.linked, hosted.head_status = False, 405
    left_partial(bench, hosted, 120_000)
    hosted.data, hosted.etag = model_bytes(SIZE + 5000, seed=2), '"two"'
    bench.manager.resume("m")
    status = bench.wait(lambda s: s.state in {DownloadState.DONE, DownloadState.FAILED})
    assert (status.state, status.note) == (DownloadState.DONE, "changed")
    assert bench.server.gets(PATH)[-1].headers["if-range"] == '"one"'
    assert target(bench).read_bytes() == hosted.data


def test_finished_partial_needs_no_byte(bench: Bench, hosted: Hosted) -> None:
    left_partial(bench, hosted, 120_000)
    partial_path(target(bench)).write_bytes(hosted.data)
    before = len(bench.server.gets(PATH))
    bench.manager.resume("m")
    bench.wait(lambda s: s.state is DownloadState.DONE)
    assert len(bench.server.gets(PATH)) == before


def test_finished_partial_of_unknown_size_ends_at_416(bench: Bench, hosted: Hosted) -> None:
    hosted.linked, hosted.head_status = False, 405
    left_partial(bench, hosted, 120_000)
    partial_path(target(bench)).write_bytes(hosted.data)
    found = journal_path(target(bench))
    raw = msgspec.json.decode(found.read_bytes())
    raw["total"] = None
    found.write_bytes(msgspec.json.encode(raw))
    bench.manager.cancel("none")
    again = bench.make()
    again.resume("m")
    bench.wait(lambda s: s.state is DownloadState.DONE)
    assert target(bench).read_bytes() == hosted.data
    assert bench.checked == [partial_path(target(bench))]


def test_endless_416_ends(bench: Bench, hosted: Hosted) -> None:
    left_partial(bench, hosted, 120_000)
    hosted.moods = [web.always_416]
    bench.told.clear()
    bench.manager.resume("m")
    status = bench.wait(lambda s: s.state is DownloadState.FAILED)
    assert status.failure is not None
    assert status.failure.code == "range_refused"
    assert len(bench.server.gets(PATH)) < 8


@pytest.mark.parametrize(
    ("mood", "code"),
    [
        (web.status(404), "gone"),
        (web.status(403), "forbidden"),
        (web.status(500), "server_error"),
        (web.status(503), "server_error"),
        (web.status(429), "rate_limited"),
        (web.status(451), "http_error"),
        (web.status(511), "captive_portal"),
        (web.login_page, "captive_portal"),
        (web.sly_login_page, "captive_portal"),
        (web.sends_longer(10), "wrong_size"),
        (web.says_longer(10), "wrong_size"),
        (web.flipped_byte, "checksum"),
    ],
)
def test_each_failure_has_its_name(bench: Bench, hosted: Hosted, mood: web.Mood, code: str) -> None:
    hosted.moods = [mood]
    status = bench.fetch()
    assert status.state is DownloadState.FAILED
    assert status.failure is not None
    assert status.failure.code == code
    assert not target(bench).exists()
    hosted.moods = []
    bench.manager.resume("m")  # every failure has a working way on
    bench.wait(lambda s: s.state is DownloadState.DONE)
    assert target(bench).read_bytes() == hosted.data


def test_rate_limit_waits_as_long_as_the_server_asks(bench: Bench, hosted: Hosted) -> None:
    hosted.moods = [web.status(429, {"Retry-After": "1"}), web.normal]
    begun = time.monotonic()
    assert bench.fetch().state is DownloadState.DONE
    assert time.monotonic() - begun >= 1.0
    waits = [s for s in bench.told if s.state is DownloadState.WAITING]
    assert waits
    assert waits[0].failure is not None
    assert waits[0].failure.code == "rate_limited"


def test_try_now_ends_a_wait(bench: Bench, hosted: Hosted) -> None:
    hosted.moods = [web.status(503, {"Retry-After": "600"}), web.normal]
    bench.manager.add(bench.request())
    bench.wait(lambda s: s.state is DownloadState.WAITING)
    bench.manager.resume("m")
    bench.wait(lambda s: s.state is DownloadState.DONE)


def test_missing_length(bench: Bench, hosted: Hosted) -> None:
    hosted.linked, hosted.head_status, hosted.moods = False, 405, [web.without_length]
    status = bench.fetch()
    assert status.state is DownloadState.DONE
    assert status.total == SIZE
    assert bench.checked, "without a hash the header has to be looked at"


def test_announced_more_than_sent(bench: Bench, hosted: Hosted) -> None:
    hosted.linked, hosted.head_status, hosted.moods = False, 405, [web.says_longer(10)]
    status = bench.fetch()
    assert status.failure is not None
    assert status.failure.code in {"cut", "range_refused"}


def test_unreachable_host(bench: Bench) -> None:
    request = msgspec.structs.replace(bench.request(), url="http://127.0.0.1:9/m.litertlm")
    status = bench.fetch(request)
    assert status.failure is not None
    assert status.failure.code == "unreachable"


def test_hub_file_replaced_since_it_was_listed(bench: Bench, hosted: Hosted) -> None:
    """A hash from an old listing is no reason to refuse the file that is there now."""
    request = msgspec.structs.replace(bench.request(), sha256="0" * 64, expected_bytes=5)
    assert bench.fetch(request).state is DownloadState.DONE
    assert target(bench).read_bytes() == hosted.data


def test_published_hash_counts_where_the_server_tells_none(bench: Bench, hosted: Hosted) -> None:
    hosted.linked = False
    request = msgspec.structs.replace(bench.request(), sha256="0" * 64)
    status = bench.fetch(request)
    assert status.failure is not None
    assert status.failure.code == "checksum"
    assert not target(bench).exists()


def test_insecure_connection_is_said(bench: Bench) -> None:
    url = bench.server.url.replace("http:", "https:") + "/m.litertlm"
    status = bench.fetch(msgspec.structs.replace(bench.request(), url=url))
    assert status.failure is not None
    assert status.failure.code == "tls"


def test_stall_is_told_and_resume_works(bench: Bench, hosted: Hosted) -> None:
    hosted.moods = [web.stalled_after(100_000), web.normal]
    bench.manager.add(bench.request())
    status = bench.wait(lambda s: s.stalled_s is not None)
    assert status.done == 100_000
    bench.manager.pause("m")
    bench.wait(lambda s: s.state is DownloadState.PAUSED)
    bench.manager.resume("m")
    bench.wait(lambda s: s.state is DownloadState.DONE)
    assert target(bench).read_bytes() == hosted.data


def test_silent_connection_is_given_up_and_continued(bench: Bench, hosted: Hosted) -> None:
    impatient = bench.make(msgspec.structs.replace(QUICK, read_timeout_s=0.3))
    hosted.moods = [web.stalled_after(100_000), web.normal]
    impatient.add(bench.request())
    assert bench.ended().state is DownloadState.DONE
    assert bench.server.gets(PATH)[-1].headers["range"] == "bytes=100000-"


def test_cancel_one_of_two(bench: Bench, server: ModelServer) -> None:
    for name in ("a", "b"):
        server.files[f"/{name}"] = Hosted(model_bytes(4_000_000), moods=[web.slow()])
        bench.manager.add(bench.request(f"/{name}", name))
    bench.wait(lambda s: s.done > 100_000, "a")
    bench.wait(lambda s: s.done > 100_000, "b")
    bench.manager.cancel("a")
    begun = time.monotonic()
    bench.wait(lambda s: s.state is DownloadState.CANCELLED, "a")
    assert time.monotonic() - begun < 10
    time.sleep(0.3)
    sent = server.gets("/a")[0].sent
    other = server.gets("/b")[0].sent
    assert not [n for n in bench.files() if n.startswith("a.")]
    bench.wait(lambda s: s.done > other + 100_000, "b")
    assert server.gets("/a")[0].sent <= sent + (1 << 16)
    assert "b.litertlm.partial" in bench.files()


def test_closing_keeps_partials_and_a_new_manager_goes_on(bench: Bench, hosted: Hosted) -> None:
    hosted.moods = [web.stalled_after(100_000), web.normal]
    bench.manager.add(bench.request())
    bench.wait(lambda s: s.done == 100_000)
    assert bench.manager.close(3.0)
    bench.told.clear()
    second = bench.make()
    status = bench.wait(lambda s: s.state is DownloadState.PAUSED)
    assert (status.done, status.total, status.name) == (100_000, SIZE, "m")
    second.resume("m")
    bench.wait(lambda s: s.state is DownloadState.DONE)
    assert bench.server.gets(PATH)[-1].headers["range"] == "bytes=100000-"
    assert target(bench).read_bytes() == hosted.data


def test_no_more_at_once_than_allowed(bench: Bench, server: ModelServer) -> None:
    two = bench.make(msgspec.structs.replace(QUICK, at_once=2))
    for name in ("a", "b", "c"):
        server.files[f"/{name}"] = Hosted(model_bytes(4_000_000), moods=[web.slow()])
        two.add(bench.request(f"/{name}", name))
    bench.wait(lambda s: s.done > 0, "a")
    bench.wait(lambda s: s.done > 0, "b")
    waiting = bench.last("c")
    assert waiting is not None
    assert waiting.state is DownloadState.QUEUED
    two.cancel("a")
    bench.wait(lambda s: s.done > 0, "c")


def test_system_proxy_is_used(
    bench: Bench, hosted: Hosted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", bench.server.url)
    bench.server.files["http://models.invalid/m.litertlm"] = hosted
    fresh = bench.make()
    fresh.add(msgspec.structs.replace(bench.request(), url="http://models.invalid/m.litertlm"))
    assert bench.ended().state is DownloadState.DONE


def test_unusable_proxy_is_said(
    bench: Bench, hosted: Hosted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("all_proxy", "socks5://127.0.0.1:1")
    fresh = bench.make()
    fresh.add(bench.request())
    status = bench.ended()
    assert status.failure is not None
    assert status.failure.code == "proxy"
