"""The command line: what words mean, exit codes, Ctrl+C, pipes, and no Qt needed."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from app import cli, cli_chat
from engine.types import FinishReason
from tests.fakes.scripted_engine import Crash, Fail, Finish, Say, ScriptedEngine

ROOT = Path(__file__).resolve().parents[2]


def tandem(*args: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    env = dict(os.environ)
    env.pop("DISPLAY", None)
    env.pop("WAYLAND_DISPLAY", None)
    env.pop("QT_QPA_PLATFORM", None)
    return subprocess.run(
        [sys.executable, "-m", "app", *args],
        cwd=ROOT,
        env=env,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def chat(engine: ScriptedEngine, demo: Path, prompt: str | None, *options: str) -> int:
    args = cli.chat_parser().parse_intermixed_args([*options])
    return cli_chat.main(str(demo), prompt, args, lambda _paths: engine)


def test_one_answer_then_the_gauge(demo_model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    engine = ScriptedEngine([[Say("Hello "), Say("you.")]])
    assert chat(engine, demo_model, "hi", "--max-tokens", "7", "--seed", "3", "--system", "s") == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "Hello you."
    assert out[1].startswith("context 3/1024 (0%) · ")
    assert " · 50.0 tok/s decode · TTFT " in out[1]
    request = engine.requests[0]
    assert (request.sampling.max_output_tokens, request.sampling.seed) == (7, 3)
    assert request.system == "s"
    assert request.speculative is False
    assert engine.closed


def test_lines_from_a_pipe_are_one_conversation(
    demo_model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    engine = ScriptedEngine([[Say("one")], [Fail()], [Say("three")]])
    monkeypatch.setattr(sys, "stdin", io.StringIO("a\n\nb\nc\n"))
    assert chat(engine, demo_model, None) == 1
    assert [m.text for m in engine.requests[-1].history] == ["a", "one"]
    assert "three" in capsys.readouterr().out


def test_a_failed_answer_is_one_line_and_1(
    demo_model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for script in ([Crash("signal 11")], [Fail("send_failed", "INTERNAL:\ntrace\ntrace")], []):
        assert chat(ScriptedEngine([script]), demo_model, "hi") == 1
        err = capsys.readouterr().err.strip()
        assert len(err.splitlines()) == 1, err
        assert err.startswith("tandem: ")
        assert "trace" not in err


def test_why_it_ended_is_told_on_stderr(
    demo_model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    engine = ScriptedEngine([[Say("cut"), Finish(FinishReason.LIMIT)]])
    assert chat(engine, demo_model, "hi") == 0
    assert capsys.readouterr().err.strip() == "(output limit)"


def test_escape_sequences_of_a_model_do_not_reach_the_terminal(
    demo_model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chat(ScriptedEngine([[Say("\x1b]0;owned\x07ok")]]), demo_model, "hi")
    assert "\x1b" not in capsys.readouterr().out


def test_spec_with_a_plain_model_is_one_sentence_and_1(plain_model: Path) -> None:
    done = tandem("chat", str(plain_model), "hi", "--spec")
    assert (done.returncode, done.stdout) == (1, "")
    assert len(done.stderr.strip().splitlines()) == 1
    assert "no drafter" in done.stderr


@pytest.mark.parametrize(
    "args",
    [
        ("frobnicate",),
        ("chat", "hi", "--context", "many"),
        ("chat", "hi", "--context", "0"),
        ("chat", "hi", "--threads", "-1"),
        ("chat", "hi", "--backend", "quantum"),
        ("chat", "hi", "--max-tokens", "0"),
        ("chat", "one", "two", "three"),
        ("chat", "  "),
        ("info",),
    ],
)
def test_bad_usage_is_2(args: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    try:
        code = cli.main(list(args))
    except SystemExit as end:
        code = int(end.code or 0)
    assert code == 2
    assert capsys.readouterr().err


@pytest.mark.parametrize("name", ["missing.litertlm", "empty.litertlm", "page.litertlm"])
def test_a_file_that_is_no_model_is_one_sentence(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty.litertlm").write_bytes(b"")
    (tmp_path / "page.litertlm").write_text("<!doctype html><title>Sign in</title>")
    for args in (["info", str(tmp_path / name)], ["chat", str(tmp_path / name), "hi"]):
        assert cli.main(args) == 1
        assert len(capsys.readouterr().err.strip().splitlines()) == 1


def test_info_as_json_and_text(demo_model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["info", str(demo_model), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["supports_mtp"] is True
    assert facts["max_context"] == 1024
    assert cli.main(["info", str(demo_model)]) == 0
    assert "MTP drafter:  yes" in capsys.readouterr().out


def test_commands_need_no_qt_httpx_keyring_or_mcp(demo_model: Path) -> None:
    """The real engine answers in a Python that cannot import any of them."""
    code = (
        "import sys\n"
        "class No:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.split('.')[0] in BANNED: raise ModuleNotFoundError(name, name=name)\n"
        "BANNED = {'PySide6', 'shiboken6', 'qasync', 'httpx', 'keyring', 'mcp'}\n"
        "if __name__ == '__main__':\n"
        "    sys.meta_path.insert(0, No())\n"
        "    from app.cli import main\n"
        "    sys.exit(main(sys.argv[1:]))\n"
    )
    script = [sys.executable, "-c", code]
    done = subprocess.run(
        [*script, "chat", str(demo_model), "Hello", "--max-tokens", "8"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "tok/s decode" in done.stdout
    bare = subprocess.run(
        script, cwd=ROOT, input="", capture_output=True, text=True, timeout=60, check=False
    )
    assert bare.returncode == 0, bare.stderr
    assert "chatting in the terminal" in bare.stderr


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="X11")
def test_a_display_that_does_not_answer_is_no_crash() -> None:
    env = dict(os.environ, DISPLAY=":7654321")
    for name in ("WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        env.pop(name, None)
    done = subprocess.run(
        [sys.executable, "-m", "app"],
        cwd=ROOT,
        env=env,
        input="",
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "does not answer" in done.stderr


def test_without_a_display_prompts_are_read_from_stdin() -> None:
    done = tandem(stdin="Hello\n")
    assert done.returncode == 0, done.stderr
    assert "No display" in done.stderr
    assert "tok/s decode" in done.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT")
def test_ctrl_c_stops_the_answer_and_not_the_program(demo_model: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-u", "-m", "app", "chat", str(demo_model)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        prompt = "Write a very long story about a river and everything that lives in it.\n"
        process.stdin.write(prompt.encode())
        process.stdin.flush()
        process.stdout.read(1)  # the answer has begun
        process.send_signal(signal.SIGINT)
        time.sleep(0.2)
        assert process.poll() is None
        out, err = process.communicate(b"Hello\n", timeout=60)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0, err
    assert out.count(b"context ") == 2, out


def test_self_test_passes() -> None:
    done = tandem("self-test")
    assert done.returncode == 0, done.stderr
    assert "speculation on: answer received" in done.stdout
