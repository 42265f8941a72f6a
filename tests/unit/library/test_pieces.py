"""Names, addresses, catalogue, fit and failures: the pure parts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.library.catalogue import load_catalogue
from app.library.failures import DownloadFailure, from_os_error, from_status, retry_after
from app.library.fit import DiskNeed, Fit, Machine, disk_need, judge, judge_download
from app.library.huggingface import Hub, Pasted, endpoint_from_environment, parse
from app.library.names import free_target, safe_file_name
from app.library.speed import Speed

GB = 10**9


@pytest.mark.parametrize(
    ("given_name", "safe"),
    [
        ("gemma.litertlm", "gemma.litertlm"),
        ("../../etc/passwd", "passwd.litertlm"),
        ("..\\..\\evil.litertlm", "evil.litertlm"),
        ("/abs/olute.litertlm", "olute.litertlm"),
        ("con.litertlm", "_con.litertlm"),
        ("a:b*?.litertlm", "a_b__.litertlm"),
        ("evil\u202egnp.litertlm", "evilgnp.litertlm"),
        ("new\nline.litertlm", "newline.litertlm"),
        ("", "model.litertlm"),
        ("...", "model.litertlm"),
        ("模型 ß é.litertlm", "模型 ß é.litertlm"),
        ("UPPER.LITERTLM", "UPPER.litertlm"),
    ],
)
def test_file_names_from_servers(given_name: str, safe: str) -> None:
    assert safe_file_name(given_name) == safe


@given(st.text(max_size=300))
def test_any_name_becomes_a_plain_one(text: str) -> None:
    name = safe_file_name(text)
    assert Path(name).name == name
    assert name.endswith(".litertlm")
    assert not set(name) & set('/\\:*?"<>|\0\n')
    assert len(name) < 200
    assert safe_file_name(name) == name


def test_targets_do_not_collide(tmp_path: Path) -> None:
    first = free_target(tmp_path, "m.litertlm")
    (tmp_path / "m.litertlm").touch()
    (tmp_path / "m (2).litertlm.partial").touch()
    assert first.name == "m.litertlm"
    assert free_target(tmp_path, "m.litertlm").name == "m (3).litertlm"


@pytest.mark.parametrize(
    ("text", "repo", "revision", "file"),
    [
        ("o/r", "o/r", "main", ""),
        (" https://huggingface.co/o/r ", "o/r", "main", ""),
        ("huggingface.co/o/r/", "o/r", "main", ""),
        ("https://huggingface.co/o/r/tree/main", "o/r", "main", ""),
        ("https://hf.co/o/r/blob/v1/a%20b.litertlm?download=true", "o/r", "v1", "a b.litertlm"),
        ("https://huggingface.co/o/r/resolve/abc/d/x.litertlm#top", "o/r", "abc", "d/x.litertlm"),
        ("https://me:hf_secret@huggingface.co/o/r", "o/r", "main", ""),
        ("o/r/x.litertlm", "o/r", "main", "x.litertlm"),
        ("hf://o/r", "o/r", "main", ""),
    ],
)
def test_pasted_addresses(text: str, repo: str, revision: str, file: str) -> None:
    assert parse(text) == Pasted(repo=repo, revision=revision, file=file)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "gemma",
        "https://example.org/o/r",
        "https://huggingface.co/datasets/o/r",
        "../x",
        "o/r/../../api",
        "http://[bad",
        "javascript:alert(1)",
        "o/..",
        "a b/c",
    ],
)
def test_addresses_that_are_refused(text: str) -> None:
    with pytest.raises(DownloadFailure, match="bad_url"):
        parse(text)


def test_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_ENDPOINT", raising=False)
    assert endpoint_from_environment() == "https://huggingface.co"
    monkeypatch.setenv("HF_ENDPOINT", "https://mirror.example/")
    assert endpoint_from_environment() == "https://mirror.example"
    assert parse("https://mirror.example/o/r", "https://mirror.example").repo == "o/r"
    monkeypatch.setenv("HF_ENDPOINT", "nonsense")
    assert endpoint_from_environment() == "https://huggingface.co"


def test_catalogue() -> None:
    entries = load_catalogue()
    names = [e.name for e in entries]
    assert names[:2] == ["Gemma 4 E2B", "Gemma 4 E4B"]
    first = entries[0]
    assert first.mtp
    assert first.image
    assert first.audio
    assert first.thinking
    assert not first.gated
    assert first.bytes == 2588147712
    assert {e.name for e in entries if e.gated} == {"Gemma 3 1B", "Gemma 3n E2B", "Gemma 3n E4B"}
    assert len({e.key for e in entries}) == len(entries)
    url = Hub("https://huggingface.co").request_for_entry(first, "/x").url
    assert url.startswith(
        "https://huggingface.co/litert-community/gemma-4-E2B-it-litert-lm/resolve/7fa1"
    )


def machine(total: float, available: float | None = None, disk: float = 100) -> Machine:
    free = total if available is None else available
    return Machine(
        memory_total=int(total * GB), memory_available=int(free * GB), disk_free=int(disk * GB)
    )


@pytest.mark.parametrize(
    ("total", "available", "verdict"),
    [(16, 9, Fit.FITS), (7.6, 7, Fit.FITS), (5, 4, Fit.SLOW), (3, 3, Fit.WONT_FIT)],
)
def test_fit_with_a_catalogue_entry(total: float, available: float, verdict: Fit) -> None:
    assert judge(int(2.6 * GB), machine(total, available), 8 * GB) is verdict


def test_fit_of_a_file() -> None:
    assert judge(2 * GB, machine(16, 10)) is Fit.FITS
    assert judge(2 * GB, machine(16, 1)) is Fit.SLOW
    assert judge(20 * GB, machine(16, 10)) is Fit.WONT_FIT


def test_fit_counts_the_disk() -> None:
    assert judge_download(2 * GB, machine(16, disk=1), 8 * GB) is Fit.NO_DISK
    assert judge_download(20 * GB, machine(16, disk=1)) is Fit.WONT_FIT


def test_disk_need_counts_file_and_cache(tmp_path: Path) -> None:
    need = disk_need(tmp_path / "not" / "there", tmp_path, 1000, already_here=400)
    assert (need.file_bytes, need.cache_bytes, need.same_volume) == (600, 1000, True)
    assert need.fits
    tight = DiskNeed(file_bytes=10, cache_bytes=10, free=15, cache_free=15, same_volume=True)
    assert not tight.fits
    assert tight.file_fits
    assert DiskNeed(file_bytes=10, cache_bytes=10, free=15, cache_free=15, same_volume=False).fits


def test_speed() -> None:
    speed = Speed(window_s=5)
    assert speed.value is None
    for second in range(20):
        speed.add(second, second * 100)
    assert speed.value == pytest.approx(100)
    speed.add(20, 0)
    assert speed.value is None


@pytest.mark.parametrize(
    ("status", "headers", "had_token", "code"),
    [
        (401, {}, False, "token_needed"),
        (401, {}, True, "token_bad"),
        (401, {"x-error-code": "RepoNotFound"}, True, "repo_unknown"),
        (403, {"x-error-code": "GatedRepo"}, True, "licence_needed"),
        (403, {"x-error-code": "GatedRepo"}, False, "token_needed"),
        (401, {"x-error-code": "GatedRepo"}, False, "token_needed"),
        (403, {}, False, "forbidden"),
        (404, {}, False, "gone"),
        (404, {"x-error-code": "RepoNotFound"}, False, "repo_unknown"),
        (429, {}, False, "rate_limited"),
        (502, {}, False, "server_error"),
        (418, {}, False, "http_error"),
    ],
)
def test_statuses(status: int, headers: dict[str, str], had_token: bool, code: str) -> None:
    failure = from_status(status, headers, host="h", page="p", had_token=had_token)
    assert failure.code == code
    assert failure.retry is (code in {"rate_limited", "server_error"})


def test_retry_after() -> None:
    assert retry_after({}) is None
    assert retry_after({"retry-after": "12"}) == 12
    assert retry_after({"retry-after": "99999"}) == 900
    assert retry_after({"retry-after": "-4"}) == 0
    assert retry_after({"retry-after": "soon"}) is None
    when = format_datetime(datetime.now(UTC) + timedelta(seconds=50))
    seconds = retry_after({"retry-after": when})
    assert seconds is not None
    assert 40 < seconds <= 50


def test_disk_errors() -> None:
    import errno

    full = from_os_error(OSError(errno.ENOSPC, "x"), needed=5, free=1, folder="f")
    assert (full.code, full.params["needed"], full.params["free"]) == ("disk_full", "5", "1")
    assert (
        from_os_error(PermissionError(13, "no"), needed=0, free=0, folder="f").code
        == "write_failed"
    )
