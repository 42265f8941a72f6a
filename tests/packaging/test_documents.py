"""Every command and every link in the documents works: real runs where that is quick."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import resources
from ui.actions import all_actions

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "SECURITY.md",
    ROOT / "packaging" / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
]
RUN = "python3 run.py"
LATER = {
    "": "opens the window: tests/e2e",
    "test": "is what runs this test",
}
SHORT = {"bench": ["--max-tokens", "8", "--no-first-load", "--no-save"]}
"""Added to a command so that it takes seconds; what it does stays the same."""


def commands(document: Path) -> list[str]:
    """Lines of unmarked and `sh` code blocks, without comments."""
    text = document.read_text(encoding="utf-8")
    blocks = re.findall(r"^```(?:sh)?\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    lines = [line.split("  #")[0].strip() for block in blocks for line in block.splitlines()]
    return [line for line in lines if line and not line.startswith("#")]


ALL = sorted({line for document in DOCUMENTS for line in commands(document)})


def test_there_is_something_to_check() -> None:
    assert len([line for line in ALL if line.startswith(RUN)]) >= 8


@pytest.mark.parametrize("line", [line for line in ALL if line.startswith(RUN)])
def test_program_commands(line: str, demo_model: Path, tandem_home: Path) -> None:
    words = shlex.split(line)[2:]
    command = words[0] if words else ""
    if command in LATER:
        return
    words = [str(demo_model) if word == "FILE.litertlm" else word for word in words]
    if command == "chat" or words[0].endswith(".litertlm"):
        words += ["--max-tokens", "8"] if "--max-tokens" not in words else []
    words += SHORT.get(command, [])
    done = run(*words)
    assert done.returncode == 0, done.stderr
    if "--json" in words:
        assert json.loads(done.stdout)


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "app", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        encoding="utf-8",
        stdin=subprocess.DEVNULL,
        timeout=240,
        check=False,
    )


@pytest.mark.parametrize("line", [line for line in ALL if line.startswith(".venv/bin/")])
def test_tools_of_the_environment(line: str) -> None:
    program, *words = shlex.split(line)
    name = Path(program).name
    if name == "python":
        if words[0] == "-m":
            module = Path(*words[1].split("."))
            assert (ROOT / module.with_suffix(".py")).is_file(), line
        else:
            assert (ROOT / words[0]).is_file(), line
    else:
        lock = (ROOT / "requirements-dev.lock").read_text(encoding="utf-8")
        assert re.search(rf"^{name}==", lock, re.MULTILINE), line
    for word in words:
        if word.endswith((".lock", ".toml")):
            assert (ROOT / word).is_file(), line


def test_no_other_command_is_unknown() -> None:
    known = (RUN, ".venv/bin/", "sudo apt install ", "uv pip compile ")
    assert [line for line in ALL if not line.startswith(known)] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda p: p.name)
def test_links_and_named_files_exist(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#\s]+)", text):
        if "://" in target:
            continue
        assert (document.parent / target).exists(), target
    for name in re.findall(r"`((?:app|engine|ui|packaging|resources|tests|docs)/[\w./-]+)`", text):
        assert (ROOT / name).exists(), name


def test_modules_in_the_architecture_exist() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    part = text.split("## Modules")[1].split("## One prompt")[0]
    for folder, body in re.findall(r"\*\*`(\w+)/`\*\*(.*?)(?=\n\n\*\*`|\Z)", part, re.DOTALL):
        for name in re.findall(r"`([a-z_]+[/*]?)`", body):
            places = [ROOT / folder, ROOT / folder / name.rstrip("/")]
            pattern = name if "*" in name else f"{name.rstrip('/')}*"
            found = any(place.exists() for place in places[1:]) or list(places[0].glob(pattern))
            found = found or list(places[0].glob(f"*{name.lstrip('*')}*"))
            assert found, f"{folder}/{name}"


def test_keys_in_the_readme_are_those_of_the_menus() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    table = text.split("## Keyboard")[1].split("##")[0]
    shown = set(re.findall(r"(?:Ctrl|F\d)[^\s,|]*|F1(?=,)", table)) - {"Ctrl."}
    real = {keys for action in all_actions() for keys in action.keys} | {"Ctrl+,"}
    assert {keys for keys in shown if keys not in real and keys != "Ctrl+"} == set()


def test_packages_in_the_readme_cover_what_the_program_asks_for() -> None:
    from app import qt_check

    text = (ROOT / "README.md").read_text(encoding="utf-8")
    listed = set(re.search(r"sudo apt install (.+)", text)[1].split())  # type: ignore[index]
    # Installed with the listed ones, or on every system.
    implied = {
        "libstdc++6", "libgcc-s1", "zlib1g", "libx11-6", "libxkbcommon0", "libfreetype6",
        "libxcb1", "libx11-xcb1", "libxcb-render0", "libxcb-shm0", "libxcb-sync1", "libxcb-util1",
        "libxcb-xfixes0", "libxcb-xkb1",
    }  # fmt: skip
    needed = {*qt_check.BASE.values(), *qt_check._X11.values()}
    assert needed - implied <= listed


def test_demo_model_is_where_the_documents_say() -> None:
    assert resources.DEMO_MODEL == ROOT / "resources" / "models" / "tandem-demo.litertlm"
