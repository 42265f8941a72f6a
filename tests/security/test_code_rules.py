"""What must not stand anywhere in the program's code, read from its syntax trees."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("app", "engine", "ui", "resources", "packaging")
FILES = [*(p for f in FOLDERS for p in sorted((ROOT / f).rglob("*.py"))), ROOT / "run.py"]

MODULES = {
    "pickle",
    "cPickle",
    "dill",
    "shelve",
    "marshal",
    "yaml",
    "jinja2",
    "telnetlib",
    "ftplib",
}
CALLS = {"eval", "exec", "__import__", "compile"}
ATTRIBUTES = {
    "os.system", "os.popen", "subprocess.getoutput", "subprocess.getstatusoutput",
    "tempfile.mktemp", "asyncio.create_subprocess_shell",
}  # fmt: skip
MARKUP = {"setHtml", "insertHtml", "setMarkdown", "appendHtml", "toHtml"}
SOCKET_MODULES = {"socket", "socketserver", "http.server", "xmlrpc", "multiprocessing.managers"}


@lru_cache(maxsize=1)
def nodes() -> tuple[tuple[Path, ast.AST], ...]:
    """Every node of the program with the file it is in."""
    trees = ((p.relative_to(ROOT), ast.parse(p.read_text(encoding="utf-8"))) for p in FILES)
    return tuple((path, node) for path, tree in trees for node in ast.walk(tree))


def modules_of(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module or ""] if isinstance(node, ast.ImportFrom) else []


def test_the_walk_sees_the_program() -> None:
    names = {path.name for path, _ in nodes()}
    assert {"gui.py", "host.py", "message_body.py", "run.py", "build.py"} <= names


def test_nothing_runs_text_or_unpickles() -> None:
    found = []
    for path, node in nodes():
        found += [f"{path}: {m}" for m in modules_of(node) if m.split(".")[0] in MODULES]
        if not isinstance(node, ast.Call):
            continue
        call = node.func
        if isinstance(call, ast.Name) and call.id in CALLS:
            found.append(f"{path}:{node.lineno} {call.id}")
        if isinstance(call, ast.Attribute) and ast.unparse(call) in ATTRIBUTES:
            found.append(f"{path}:{node.lineno} {ast.unparse(call)}")
        for word in node.keywords:
            off = isinstance(word.value, ast.Constant) and word.value.value is False
            if word.arg == "shell" and not off:
                found.append(f"{path}:{node.lineno} shell=")
    assert not found, found


def test_no_sockets_but_the_download_clients() -> None:
    found = {(path.as_posix(), m) for path, node in nodes() for m in modules_of(node)
             if m in SOCKET_MODULES and path.parts[0] != "packaging"}  # fmt: skip
    assert found <= {("app/lifecycle.py", "socket")}, "a pair of ends for signals, no more"
    calls = [n.attr for p, n in nodes() if p.name == "lifecycle.py" and isinstance(n, ast.Attribute)
             and isinstance(n.value, ast.Name) and n.value.id == "socket"]  # fmt: skip
    assert set(calls) <= {"socketpair", "socket"}
    assert "socketpair" in calls
    network = {str(path) for path, node in nodes() if "PySide6.QtNetwork" in modules_of(node)}
    assert network <= {"app/single_instance.py", "app\\single_instance.py"}


def test_items_of_qt_layouts_are_never_asked_for() -> None:
    """PySide6 then dies at some later deletion: see `ui.layouts`. Lists ask by position."""
    asked = {"itemAt", "itemAtPosition", "takeRow"}
    lists = {Path("ui/bench_history.py")}
    found = [
        f"{path}:{node.lineno}"
        for path, node in nodes()
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in asked
        and path not in lists
    ]
    assert not found, found


def test_no_widget_is_asked_for_its_style() -> None:
    """PySide6 keeps the answer for ever, one for each theme change: see `ui.controls.polish`."""
    found = [
        f"{path}:{node.lineno}"
        for path, node in nodes()
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "style"
        and not (isinstance(node.func.value, ast.Name) and "App" in node.func.value.id)
    ]
    assert not found, found


def test_no_markup_is_ever_set() -> None:
    found = []
    for path, node in nodes():
        if isinstance(node, ast.Attribute) and node.attr in MARKUP:
            found.append(f"{path}:{node.lineno} {node.attr}")
        if isinstance(node, ast.Name) and node.id in ("QMessageBox", "QWebEngineView"):
            found.append(f"{path}:{node.lineno} {node.id}")
    assert not found, found


def calls_of(name: str) -> Iterator[tuple[Path, ast.Call]]:
    """Calls of a function or method called `name` that pass something."""
    for path, node in nodes():
        if not (isinstance(node, ast.Call) and node.args):
            continue
        if name in (getattr(node.func, "id", ""), getattr(node.func, "attr", "")):
            yield path, node


def test_labels_are_made_plain() -> None:
    """A bare QLabel guesses whether its text is markup; ours come from `controls.label`."""
    found = [f"{p}:{n.lineno}" for p, n in calls_of("QLabel") if p.name != "controls.py"]
    assert not found, found


def plain_tooltip(value: ast.expr) -> bool:
    """Literals, sentences of ours (maybe with a shortcut), and what went through `tip`."""
    match value:
        case ast.Constant():
            return True
        case ast.Call(func=ast.Attribute(attr="tip") | ast.Name(id="tip")):
            return True
        case ast.Attribute(value=ast.Name(id="strings" | "words" | "names")):
            return True
        case ast.JoinedStr(values=parts):
            return all(plain_tooltip(p) for p in parts)
        case ast.FormattedValue(value=inner):
            return plain_tooltip(inner) or isinstance(inner, ast.Name)
        case ast.BoolOp(values=parts):
            return all(plain_tooltip(p) for p in parts)
        case ast.IfExp(body=one, orelse=other):
            return plain_tooltip(one) and plain_tooltip(other)
    return False


def test_tooltips_are_never_taken_for_markup() -> None:
    """Texts that hold names go through `format.tip`; the rest are sentences of ours."""
    made = {"hint"}  # ElidedLabel: compares before it sets
    found = [
        f"{path}:{node.lineno} {ast.unparse(node.args[0])}"
        for path, node in calls_of("setToolTip")
        if not plain_tooltip(node.args[0]) and ast.unparse(node.args[0]) not in made
    ]
    assert not found, found
