"""The frame of the project: `run.py`, the platform and Qt checks, versions, lock files."""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

from app import platform_check, qt_check, version
from app.platform_check import Machine

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """`run.py` as a module, with its environment in a temporary folder."""
    spec = importlib.util.spec_from_file_location("tandem_run", ROOT / "run.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    venv = tmp_path / ".venv"
    (venv / "bin").mkdir(parents=True)
    (venv / "bin" / "python").touch()
    monkeypatch.setattr(module, "VENV", venv)
    monkeypatch.setattr(module, "VENV_PYTHON", venv / "bin" / "python")
    monkeypatch.setattr(module, "STAMP", venv / "tandem-stamp.json")
    monkeypatch.setattr(module, "LOCK_FILE", tmp_path / ".venv.lock")
    return module


# -- run.py ----------------------------------------------------------------------------------------


def test_run_py_can_be_read_by_an_old_python() -> None:
    tree = ast.parse((ROOT / "run.py").read_text(encoding="utf-8"), feature_version=(3, 6))
    first = [n for n in tree.body if not isinstance(n, ast.Expr)][:2]
    assert ast.unparse(first[0]) == "import sys"
    assert ast.unparse(first[1]).startswith("if sys.version_info < (3, 11)")


def test_run_py_uses_the_standard_library_only() -> None:
    tree = ast.parse((ROOT / "run.py").read_text(encoding="utf-8"))
    names = {
        (node.module or "") if isinstance(node, ast.ImportFrom) else node.names[0].name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    foreign = {name.split(".")[0] for name in names} - set(sys.stdlib_module_names)
    assert foreign == {"app"}, "only app.platform_check, which needs nothing either"


@pytest.fixture
def steps(run: ModuleType, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What `make_ready` does, without doing it."""
    done: list[str] = []
    monkeypatch.setattr(run, "create_environment", lambda: done.append("create"))
    monkeypatch.setattr(run, "install", lambda file: done.append(file.name))
    return done


def test_first_start_makes_the_environment_and_the_next_does_nothing(
    run: ModuleType, steps: list[str]
) -> None:
    run.make_ready("run")
    assert steps == ["create", "requirements.lock"]
    run.make_ready("run")
    assert steps == ["create", "requirements.lock"]


def test_checks_add_the_development_packages_once(run: ModuleType, steps: list[str]) -> None:
    run.make_ready("run")
    run.make_ready("test")
    run.make_ready("test")
    run.make_ready("run")
    assert steps == ["create", "requirements.lock", "requirements-dev.lock"]


def test_changed_lock_is_installed_into_the_same_environment(
    run: ModuleType, steps: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = tmp_path / "requirements.lock"
    lock.write_text("one")
    monkeypatch.setitem(run.REQUIREMENTS, "run", lock)
    run.make_ready("run")
    lock.write_text("two")
    run.make_ready("run")
    assert steps == ["create", "requirements.lock", "requirements.lock"]


def test_another_python_starts_anew(
    run: ModuleType, steps: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run.make_ready("run")
    monkeypatch.setattr(run, "base_python", lambda: "/opt/other/python")
    run.make_ready("run")
    assert steps.count("create") == 2


def test_interrupted_setup_is_not_taken_for_a_finished_one(
    run: ModuleType, steps: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run.make_ready("run")
    stamp = json.loads(run.STAMP.read_text(encoding="utf-8"))
    stamp["run"] = "old lock"
    run.write_stamp(stamp)

    def interrupted(_file: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "install", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run.make_ready("run")
    assert run.read_stamp() is None
    monkeypatch.setattr(run, "install", lambda file: steps.append(file.name))
    run.make_ready("run")
    assert steps == ["create", "requirements.lock", "create", "requirements.lock"]


def test_broken_stamp_counts_as_none(run: ModuleType, steps: list[str]) -> None:
    run.STAMP.write_text("{half", encoding="utf-8")
    run.make_ready("run")
    assert steps == ["create", "requirements.lock"]


def test_setup_lock_keeps_a_second_process_out(run: ModuleType) -> None:
    probe = (
        "import sys; sys.path.insert(0, sys.argv[1]); import run;"
        "f = open(sys.argv[2], 'a+b'); sys.exit(0 if run.try_lock(f.fileno()) else 7)"
    )
    command = [sys.executable, "-c", probe, str(ROOT), str(run.LOCK_FILE)]
    with run.only_one():
        assert subprocess.run(command, check=False).returncode == 7
    assert subprocess.run(command, check=False).returncode == 0


def test_failing_pip_is_one_sentence(
    run: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(run, "create_environment", lambda: None)
    monkeypatch.setattr(run, "pip", lambda: [sys.executable, "-c", "raise SystemExit(3)"])
    assert run.main([]) == 1
    assert "pip ended with 3" in capsys.readouterr().err
    assert run.read_stamp() is None


def test_program_gets_every_word_and_gives_its_exit_code(
    run: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    called: list[list[str]] = []
    monkeypatch.setattr(run, "WINDOWS", False)
    monkeypatch.setattr(run.os, "execv", lambda _path, command: called.append(command))
    monkeypatch.setattr(run, "make_ready", lambda _kind: None)
    monkeypatch.setattr(run.subprocess, "Popen", lambda _c: pytest.fail("execv replaces us"))
    with pytest.raises(BaseException, match="execv replaces us"):
        run.main(["chat", "Hello there", "--spec"])
    assert called[0][1:] == ["-P", "-m", "app", "chat", "Hello there", "--spec"]


def test_unsupported_machine_is_told_before_pip(
    run: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(platform_check, "unsupported", lambda: "Not here.")
    monkeypatch.setattr(run, "make_ready", lambda _kind: pytest.fail("too late"))
    assert run.main([]) == 1
    assert capsys.readouterr().err == "run.py: Not here.\n"


@pytest.mark.skipif(os.name == "nt", reason="bash")
def test_ci_script_is_valid_and_ends_in_run_py() -> None:
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    subprocess.run(["bash", "-n", str(script)], check=True)
    assert "run.py test" in script.read_text(encoding="utf-8").splitlines()[-1]


# -- the machine -----------------------------------------------------------------------------------

GOOD = [
    Machine("linux", "x86_64", 64, "CPython", (2, 36)),
    Machine("linux", "aarch64", 64, "CPython", (2, 39)),
    Machine("darwin", "arm64", 64, "CPython", (14, 0)),
    Machine("win32", "amd64", 64, "CPython", (10, 0, 19045)),
]
BAD = [
    (Machine("linux", "x86_64", 64, "CPython", ()), "musl"),
    (Machine("linux", "x86_64", 64, "CPython", (2, 31)), "glibc 2.34"),
    (Machine("linux", "riscv64", 64, "CPython", (2, 40)), "riscv64"),
    (Machine("linux", "x86_64", 32, "CPython", (2, 36)), "32-bit"),
    (Machine("linux", "x86_64", 64, "PyPy", (2, 36)), "PyPy"),
    (Machine("darwin", "x86_64", 64, "CPython", (15, 1)), "Intel"),
    (Machine("darwin", "x86_64 under rosetta", 64, "CPython", (15, 1)), "Apple silicon"),
    (Machine("darwin", "arm64", 64, "CPython", (13, 6)), "macOS 14"),
    (Machine("win32", "arm64", 64, "CPython", (10, 0, 22631)), "ARM"),
    (Machine("win32", "amd64", 64, "CPython", (6, 1, 7601)), "Windows 10"),
    (Machine("freebsd14", "amd64", 64, "CPython", ()), "freebsd14"),
]


@pytest.mark.parametrize("machine", GOOD, ids=lambda m: f"{m.system}-{m.architecture}")
def test_supported_machines(machine: Machine) -> None:
    assert platform_check.unsupported(machine) is None


@pytest.mark.parametrize(("machine", "word"), BAD)
def test_unsupported_machines_get_one_sentence(machine: Machine, word: str) -> None:
    sentence = platform_check.unsupported(machine)
    assert sentence is not None
    assert word in sentence
    assert "\n" not in sentence
    assert sentence.endswith(".")


def test_this_machine_is_supported() -> None:
    assert platform_check.unsupported() is None


# -- Qt's libraries --------------------------------------------------------------------------------

pytest_linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux only")


@pytest_linux
def test_missing_libraries_are_named_by_package() -> None:
    def loads(soname: str) -> bool:
        return soname not in ("libEGL.so.1", "libxcb-cursor.so.0", "libwayland-cursor.so.0")

    assert qt_check.missing_packages({"DISPLAY": ":0"}, loads) == ("libegl1", "libxcb-cursor0")
    assert qt_check.missing_packages({"QT_QPA_PLATFORM": "offscreen"}, loads) == ("libegl1",)
    assert "sudo apt install libegl1 libxcb-cursor0" in qt_check.sentence(
        ("libegl1", "libxcb-cursor0")
    )


@pytest_linux
def test_wayland_alone_needs_no_x11_plugin() -> None:
    def loads(soname: str) -> bool:
        return not soname.startswith("libxcb")

    both = {"DISPLAY": ":0", "WAYLAND_DISPLAY": "wayland-0"}
    assert qt_check.missing_packages({"WAYLAND_DISPLAY": "wayland-0"}, loads) == ()
    assert qt_check.missing_packages(both, loads) == ()
    assert "libxcb-cursor0" in qt_check.missing_packages({"DISPLAY": ":0"}, loads)


@pytest_linux
def test_without_a_display_there_is_none() -> None:
    assert not qt_check.has_display({})
    assert qt_check.has_display({"WAYLAND_DISPLAY": "wayland-0"})
    assert qt_check.has_display({"QT_QPA_PLATFORM": "offscreen"})


# -- versions and locks ----------------------------------------------------------------------------


def project() -> dict[str, object]:
    found = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert isinstance(found, dict)
    return found


def test_one_version_everywhere() -> None:
    assert project()["version"] == version.VERSION
    assert project()["name"] == version.APP_ID
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## (\d+\.\d+\.\d+)", changelog, re.MULTILINE)
    assert newest is not None
    assert newest[1] == version.VERSION


def test_locks_fulfil_pyproject_and_have_hashes() -> None:
    from packaging.requirements import Requirement

    names = ("requirements.lock", "requirements-dev.lock")
    texts = [(ROOT / name).read_text(encoding="utf-8") for name in names]
    pins = [dict(re.findall(r"^([a-z0-9-]+)==([^\s;\\]+)", text, re.MULTILINE)) for text in texts]
    for text in texts:
        blocks = re.split(r"^(?=[a-z0-9-]+==)", text, flags=re.MULTILINE)[1:]
        assert all("--hash=sha256:" in block for block in blocks)
    dependencies = project()["dependencies"]
    assert isinstance(dependencies, list)
    for text in dependencies:
        needed = Requirement(text)
        name = re.sub(r"[-_.]+", "-", needed.name).lower()
        assert needed.specifier.contains(pins[0][name]), f"{name}: make the locks anew"
    for name, pinned in pins[0].items():
        assert pins[1][name] == pinned, f"{name} differs between the two locks"


def test_engine_is_pinned_to_the_build_we_declare() -> None:
    from engine.types import LIBRARY_VERSION

    dependencies = project()["dependencies"]
    assert isinstance(dependencies, list)
    assert f"litert-lm-api=={LIBRARY_VERSION}" in dependencies


def test_no_package_index_is_named() -> None:
    for name in ("run.py", ".ci/run", "requirements.lock", "requirements-dev.lock"):
        text = (ROOT / name).read_text(encoding="utf-8")
        assert not re.search(r"--(extra-)?index-url|--find-links|^-[if] ", text, re.MULTILINE), name


def test_licence_is_apache() -> None:
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "Apache License" in text
    assert "Version 2.0, January 2004" in text
    assert project()["license"] == "Apache-2.0"
