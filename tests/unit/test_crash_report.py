"""The problem report: what is known of a crash, and what never goes into the file."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from app import crash_report, paths
from app.conversation import ChatSettings
from app.paths import Paths
from app.settings_values import CrashedCombination, McpServer, Preset, Settings
from engine.types import Backend, LoadOptions
from ui import strings_report

ROOT = Path(__file__).resolve().parents[2]
TOKEN = "hf_AbCdEfGhIjKlMnOpQrSt"
SECRET = "my secret question"


@pytest.fixture
def home() -> Paths:
    return paths.resolve()


@pytest.mark.parametrize(
    ("texts", "likely"),
    [
        (("", "E0000 webgpu.cc:1] No adapters found"), "gpu_adapter"),
        (("", "INTERNAL: Could not map file x_mldrift_weight_cache.bin: Access denied"), "cache"),
        (("signal 6 (abort)", "terminate called after throwing 'std::bad_alloc'"), "memory"),
        (("signal 9 (killed)", ""), "killed"),
        (("", "Following operations are not supported by GPU delegate: X"), "gpu_operations"),
        (("", "NOT_FOUND: tf_lite_mtp_drafter not found in the model"), "drafter"),
        (("signal 11 (segmentation fault)", "Vulkan: vkQueueSubmit lost"), "gpu_driver"),
        (("signal 6 (abort)", "Selected adapter: X, backend=Vulkan"), "gpu_driver"),
        (("", "Selected adapter: X, backend=Vulkan"), ""),
        (("signal 6 (abort)", "DestroyAccelerator: name=GPU WebGPU"), "damaged"),
        (("signal 6 (abort)", "something else"), "damaged"),
        (("", "all is well"), ""),
    ],
)
def test_known_patterns_have_a_cause_in_words(texts: tuple[str, str], likely: str) -> None:
    assert crash_report.cause(*texts) == likely
    assert not likely or strings_report.CAUSES[likely]


def test_only_a_fatal_error_of_the_last_run_counts(home: Paths) -> None:
    assert crash_report.begin(home) is None
    crash_report.end(home)
    home.crash_log.write_text("Fatal Python error: Aborted\n  long ago\n")
    assert crash_report.begin(home) is None, "an old trace is not a new crash"
    with home.crash_log.open("a") as out:
        out.write(f"Fatal Python error: Segmentation fault\n  File x {TOKEN}\n")
    found = crash_report.begin(home)  # the mark was never taken away
    assert found is not None
    assert "Segmentation fault" in found.trace
    assert "long ago" not in found.trace
    assert TOKEN not in found.trace
    assert crash_report.begin(home) is None, "told once"


def test_a_broken_or_unwritable_mark_is_no_problem(home: Paths) -> None:
    (home.logs / "running.json").write_text("{")
    assert crash_report.begin(home) is None
    (home.logs / "running.json").write_text('{"crash_bytes": 99999999}')
    assert crash_report.begin(home) is None


def test_a_real_fatal_error_is_told_at_the_next_start(home: Paths) -> None:
    code = (
        "import os\nfrom app import crash_report, logs, paths\n"
        "p = paths.resolve(); logs.setup(p); crash_report.begin(p); os.abort()"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False, capture_output=True)
    assert done.returncode != 0
    found = crash_report.begin(home)
    assert found is not None
    assert "Abort" in found.trace


def _settings() -> Settings:
    return Settings(
        chat=ChatSettings(system=f"system {SECRET}"),
        presets=(Preset(name="p", settings=ChatSettings(system=SECRET)),),
        mcp_servers=(McpServer(name="s", command="run", args=(TOKEN,), env={"KEY": TOKEN}),),
        recent_models=("/home/someone/private/model.litertlm",),
        crashed=(
            CrashedCombination("/home/someone/private/m.litertlm", Backend.GPU, 1.0, "signal 6"),
        ),
    )


def test_the_file_holds_what_helps_and_nothing_private(home: Paths, tmp_path: Path) -> None:
    home.app_log.write_text(f"loading {home.data}/models/x\nAuthorization: Bearer {TOKEN}\n")
    home.engine_log.write_text(f"opened {Path.home()}/models/y?token={TOKEN}\n")
    options = LoadOptions(model_path="/home/someone/private/big.litertlm", backend=Backend.GPU)
    known = crash_report.facts(options, qt="6.11.3", exit_words="signal 6 (abort)", likely="cache")
    files = crash_report.contents(home, known, _settings(), crash=f"trace {TOKEN}")
    target = tmp_path / "report.zip"
    crash_report.write(target, files)
    if sys.platform != "win32":
        assert stat.S_IMODE(target.stat().st_mode) == 0o600
    with zipfile.ZipFile(target) as zipped:
        inside = {name: zipped.read(name).decode() for name in zipped.namelist()}
    assert set(inside) == {"report.json", "settings.json", "app.log", "engine.log", "crash.txt"}
    whole = "\n".join(inside.values())
    for private in (TOKEN, SECRET, "someone", str(home.data), str(Path.home()) + "/"):
        assert private not in whole, private
    told = json.loads(inside["report.json"])
    assert told["model"] == "big.litertlm"
    assert told["backend"] == "gpu"
    assert told["engine"] == "0.18.1"
    assert told["exit"] == "signal 6 (abort)"
    settings = json.loads(inside["settings.json"])
    assert settings["tool_servers"] == 1
    assert settings["crashed"][0]["model"] == "m.litertlm"


def test_conversations_only_when_asked_for(home: Paths) -> None:
    known = crash_report.facts()
    without = crash_report.contents(home, known, Settings())
    assert not any(name.startswith("conversation") for name in without)
    chats = [("Title", f"# Title\n{SECRET} {TOKEN}")]
    with_text = crash_report.contents(home, known, Settings(), conversations=chats)
    assert SECRET in with_text["conversation-1.md"]
    assert TOKEN not in with_text["conversation-1.md"]


def test_a_failed_write_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r".*"):
        crash_report.write(tmp_path / "gone" / "report.zip", {"a": "b"})
    target = tmp_path / "there"
    target.mkdir()
    with pytest.raises(OSError, match=r".*"):
        crash_report.write(target, {"a": "b"})
    assert os.listdir(tmp_path) == ["there"]
