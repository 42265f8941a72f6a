"""Folders are private and have a fallback; logs hold no credentials and need no streams."""

from __future__ import annotations

import logging
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from app import logs, paths
from app.notices import Action, Notice, Notices

posix = pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions")


def test_tandem_home_holds_everything(tandem_home: Path) -> None:
    found = paths.resolve()
    assert not found.temporary
    for folder in (found.config, found.data, found.cache, found.logs):
        assert folder.is_relative_to(tandem_home)
        if sys.platform != "win32":
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_engine_caches_differ_by_folder_of_the_model(tandem_home: Path) -> None:
    found = paths.resolve()
    one, two = found.engine_cache("/a/model.litertlm"), found.engine_cache("/b/model.litertlm")
    assert one != two
    assert one.name.startswith("model-")


@posix
def test_an_impossible_home_falls_back_and_says_so(tmp_path: Path) -> None:
    blocker = tmp_path / "file"
    blocker.write_text("")
    found = paths.resolve({"TANDEM_HOME": str(blocker / "below")})
    assert found.temporary
    assert found.note
    assert found.config.is_dir()


@pytest.mark.skipif(sys.platform != "linux", reason="XDG folders")
def test_without_home_the_system_is_asked_and_folders_may_have_any_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HOME")
    for name in ("CONFIG", "DATA", "CACHE", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / "模型 ß é" / name))
    found = paths.resolve({})
    assert not found.temporary
    for folder in (found.config, found.data, found.cache, found.logs):
        assert folder.is_relative_to(tmp_path / "模型 ß é")
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    monkeypatch.setenv("HOME", "/proc/nowhere")
    for name in ("CONFIG", "DATA", "CACHE", "STATE"):
        monkeypatch.delenv(f"XDG_{name}_HOME")
    fallen = paths.resolve({})
    assert fallen.temporary
    assert "/proc/nowhere" in fallen.note
    shutil.rmtree(fallen.data.parent)


@posix
def test_without_a_place_for_caches_and_logs_the_home_is_still_used(tandem_home: Path) -> None:
    tandem_home.mkdir()
    for name in ("cache", "logs"):
        (tandem_home / name).write_text("a file where the folder should be")
    found = paths.resolve()
    assert not found.temporary
    assert found.data == tandem_home / "data"
    logs.setup(found)
    logging.getLogger("x").warning("nowhere")
    logs.shutdown()


def test_log_lines_hold_no_tokens(tandem_home: Path) -> None:
    found = paths.resolve()
    logs.setup(found)
    try:
        logging.getLogger("x").warning("got hf_abcdefghij and Authorization: Bearer s3cr3t-x")
        logging.getLogger("x").warning("https://h/p?token=geheim&x=1")
    finally:
        logs.shutdown()
    text = found.app_log.read_text()
    assert "got" in text
    for secret in ("hf_abc", "s3cr3t", "geheim"):
        assert secret not in text
    if sys.platform != "win32":
        assert stat.S_IMODE(found.app_log.stat().st_mode) == 0o600


def test_a_log_folder_that_goes_is_silent_and_comes_back(
    tandem_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = paths.resolve()
    logs.setup(found)
    log, folder = logging.getLogger("x"), found.app_log.parent
    try:
        log.warning("first")
        shutil.rmtree(folder)
        log.warning("second")
        assert found.app_log.read_text().splitlines()[-1].endswith("second")
        shutil.rmtree(folder)
        folder.write_text("a file where the folder was")
        log.warning("nowhere")
        folder.unlink()
        log.warning("third")
    finally:
        logs.shutdown()
    lines = found.app_log.read_text().splitlines()
    assert [line.split()[-1] for line in lines] == ["third"]
    assert capsys.readouterr().err == ""


def test_a_record_that_cannot_be_formatted_is_told(
    tandem_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only troubles with the file are silent: a wrong call of ours is not."""
    logs.setup(paths.resolve())
    record = logging.LogRecord("x", logging.WARNING, __file__, 1, "%d", ("no number",), None)
    ours = [h for h in logging.getLogger().handlers if type(h).__module__ == logs.__name__]
    try:
        ours[0].handle(record)
    finally:
        logs.shutdown()
    assert "TypeError" in capsys.readouterr().err


def test_an_uncaught_exception_is_logged_without_streams(tandem_home: Path) -> None:
    """As in a windowed bundle: sys.stdout and sys.stderr are None."""
    code = (
        "import sys; sys.stdout = sys.stderr = None\n"
        "from app import logs, paths\n"
        "logs.setup(paths.resolve()); print('x')\n"
        "raise RuntimeError('the reason')\n"
    )
    subprocess.run([sys.executable, "-c", code], check=False, timeout=60)
    assert "the reason" in paths.resolve().app_log.read_text()


def test_last_lines_of_a_missing_log_are_empty(tmp_path: Path) -> None:
    assert logs.last_lines(tmp_path / "none.log") == ""
    file = tmp_path / "some.log"
    file.write_text("\n".join(str(i) for i in range(500)))
    assert logs.last_lines(file, 3) == "497\n498\n499"


def test_a_notice_replaces_the_one_with_its_key() -> None:
    told: list[int] = []
    notices = Notices()
    leave = notices.subscribe(lambda: told.append(len(notices.open)))
    notices.post(Notice("a", "one"))
    notices.post(Notice("b", "two", actions=(Action("Go", lambda: None),)))
    notices.post(Notice("a", "three"))
    assert [n.text for n in notices.open] == ["two", "three"]
    assert notices.current is not None
    assert notices.current.key == "a"
    notices.dismiss("a")
    notices.dismiss("a")
    leave()
    notices.dismiss("b")
    assert told == [1, 2, 2, 1]
