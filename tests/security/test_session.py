"""What a whole session leaves on the disk, opens to others, and hands to its children."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from app import privacy
from tests.security.drive_session import SHELL_TOKEN, TOKEN

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX modes and sockets")


class Session(NamedTuple):
    home: Path
    report: dict[str, Any]
    output: str


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Session:
    folder = tmp_path_factory.mktemp("session")
    home, report = folder / "home", folder / "report.json"
    env = dict(os.environ, TANDEM_HOME=str(home), TANDEM_TEST_REPORT=str(report))
    env.update(
        HF_TOKEN=SHELL_TOKEN,
        HUGGING_FACE_HUB_TOKEN=SHELL_TOKEN,
        MY_API_KEY=SHELL_TOKEN,
        AWS_SECRET_ACCESS_KEY=SHELL_TOKEN,
        QT_QPA_PLATFORM="offscreen",
        PYTHON_KEYRING_BACKEND="keyring.backends.null.Keyring",
    )
    done = subprocess.run(
        [sys.executable, "-m", "tests.security.drive_session"],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        umask=0o022,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return Session(home, json.loads(report.read_text()), done.stdout + done.stderr)


def test_everything_is_for_this_user_only(session: Session) -> None:
    wrong, seen = [], set()
    for path in (session.home, *session.home.rglob("*")):
        if path.is_symlink():
            continue
        mode = stat.S_IMODE(path.stat().st_mode)
        seen.add(path.name)
        if mode & 0o077:
            wrong.append((str(path.relative_to(session.home)), oct(mode)))
    assert not wrong, wrong
    assert {"settings.json", "history.sqlite3", "app.log", "tool-server-mine.log"} <= seen
    assert any(p.stat().st_size for p in (session.home / "cache").rglob("*") if p.is_file())


def test_no_token_is_anywhere(session: Session) -> None:
    files = [p for p in session.home.rglob("*") if p.is_file()]
    for secret in (TOKEN, SHELL_TOKEN):
        found = [str(p) for p in files if secret.encode() in p.read_bytes()]
        assert not found, found
        assert secret not in session.output


def test_the_engine_only_has_its_pipes(session: Session) -> None:
    engine = session.report["engine"]
    assert engine["listening"] == 0
    assert engine["inet"] == []
    assert engine["unix"] == []


def test_nothing_listens_to_the_network(session: Session) -> None:
    assert session.report["window"]["inet"] == []
    socket = session.report["socket"]
    assert socket["name"].startswith(str(session.home)) or not os.path.isabs(socket["name"])
    if socket["mode"] is not None:
        assert socket["folder"] & 0o077 == 0, "nobody else can reach or replace it"
        assert socket["mode"] & 0o077 == 0


def test_children_get_no_credentials(session: Session) -> None:
    children = [session.report["engine"], *session.report["others"]]
    assert len(children) >= 2
    for child in children:
        told = json.dumps(child["environ"])
        assert TOKEN not in told
        assert SHELL_TOKEN not in told
        assert "HF_TOKEN" not in child["environ"]


def test_what_counts_as_a_credential() -> None:
    for name in ("HF_TOKEN", "OPENAI_API_KEY", "GITHUB_TOKEN", "DB_PASSWORD", "CLIENT_SECRET"):
        assert privacy.credentials([name]) == [name]
    for name in ("PATH", "HOME", "XDG_ACTIVATION_TOKEN", "TANDEM_HOME", "TOKENIZERS_PARALLELISM",
                 "DISPLAY", "SSH_AUTH_SOCK", "MONKEY", "COMPAT"):  # fmt: skip
        assert privacy.credentials([name]) == []
