"""The built-in tools."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import jsonschema
import psutil
import pytest

from app.tools.builtin import builtin_tools
from app.tools.calculator import calculate
from app.tools.picked_files import MAX_FILE_BYTES, MAX_TEXT_CHARS, PickedFiles
from app.tools.registry import BUILTIN, Registry, Tool, ToolFailure
from app.tools.units import convert


@pytest.fixture
def files() -> PickedFiles:
    return PickedFiles()


@pytest.fixture
def tools(files: PickedFiles) -> Iterator[dict[str, Tool]]:
    with ThreadPoolExecutor(1) as pool:
        yield {t.name: t for t in builtin_tools(pool, files)}


def test_every_schema_is_one_and_closed(tools: dict[str, Tool]) -> None:
    for tool in tools.values():
        jsonschema.Draft202012Validator.check_schema(dict(tool.schema))
        assert tool.schema["additionalProperties"] is False
        assert tool.description.endswith(".")
        assert "additionalProperties" not in tool.spec().parameters_json


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.1 + 0.2", 0.3),
        ("2^10", 1024),
        ("12.5 × (3 + 4)", 87.5),
        ("7 // 2 + 7 % 3", 4),
        ("-2 ** 2", -4),
        ("9007199254740993 + 0", 9007199254740993),
        ("factorial(20)", 2432902008176640000),
        ("sqrt(16) + max(1, 2)", 6),
        ("round(2.567, 2)", 2.57),
        ("10 / 4", 2.5),
        ("1e3", 1000),
    ],
)
def test_calculate(text: str, value: float) -> None:
    assert calculate(text) == value
    assert type(calculate(text)) is type(value)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "9**9**9",
        "2**9000",
        "1e999999999",
        "1e-999999999",
        "factorial(501)",
        "__import__('os').getcwd()",
        "().__class__",
        "[1][0]",
        "'a' * 9",
        "lambda: 1",
        "x",
        "True",
        "1 if 1 else 2",
        "1/0",
        "sqrt(-1)",
        "(-8) ** 0.5",
        "sqrt()",
        "sqrt(1, 2)",
        "abs(x=1)",
        "1 +",
        "1" * 301,
        "(" * 200 + "1" + ")" * 200,
    ],
    ids=lambda t: t[:16],
)
def test_what_is_no_arithmetic_is_refused(text: str) -> None:
    with pytest.raises(ToolFailure):
        calculate(text)


@pytest.mark.parametrize(
    ("value", "source", "target", "result"),
    [
        (5, "miles", "km", 8.04672),
        (100, "°C", "f", 212),
        (-40, "fahrenheit", "celsius", -40),
        (1, "GiB", "mb", 1073.741824),
        (6, "feet", "cm", 182.88),
        (90, "km/h", "m/s", 25),
        (1, "inches", "mm", 25.4),
    ],
)
def test_convert(value: float, source: str, target: str, result: float) -> None:
    assert convert(value, source, target) == result


def test_units_that_do_not_go(tools: dict[str, Tool]) -> None:
    with pytest.raises(ToolFailure, match="not known"):
        convert(1, "parsnip", "m")
    with pytest.raises(ToolFailure, match="cannot be converted"):
        convert(1, "kg", "m")
    call = {"value": 10**400, "from": "km", "to": "ft"}
    with pytest.raises(ToolFailure, match="too large"):
        tools["convert_units"].start(call).result(5)


class _Battery(NamedTuple):
    percent: float
    secsleft: int
    power_plugged: bool


def test_battery_and_no_battery(tools: dict[str, Tool], monkeypatch: pytest.MonkeyPatch) -> None:
    run = tools["get_battery"].start
    monkeypatch.setattr(psutil, "sensors_battery", lambda: None, raising=False)
    assert run({}).result(5) == {"battery": False, "note": "This computer has no battery."}
    monkeypatch.setattr(psutil, "sensors_battery", lambda: _Battery(54.6, 3600, False))
    assert run({}).result(5) == {
        "battery": True,
        "percent": 55,
        "plugged_in": False,
        "minutes_left": 60,
    }
    monkeypatch.setattr(psutil, "sensors_battery", lambda: _Battery(100, -2, True))
    assert "minutes_left" not in str(run({}).result(5))

    def broken() -> None:
        raise OSError("driver")

    monkeypatch.setattr(psutil, "sensors_battery", broken)
    assert "no battery" in str(run({}).result(5))
    monkeypatch.delattr(psutil, "sensors_battery")
    assert "no battery" in str(run({}).result(5))


def test_device_info_names_nobody(tools: dict[str, Tool]) -> None:
    import getpass
    import platform

    facts = str(tools["get_device_info"].start({}).result(5))
    assert "memory_gb" in facts
    assert platform.node() not in facts
    assert f"'{getpass.getuser()}'" not in facts


def test_date_time(tools: dict[str, Tool]) -> None:
    run = tools["get_date_time"].start
    here = run({}).result(5)
    assert isinstance(here, dict)
    assert here["weekday"].endswith("day")
    tokyo = run({"timezone": "Asia/Tokyo"}).result(5)
    assert isinstance(tokyo, dict)
    assert tokyo["utc_offset"] == "+0900"
    for name in ("Atlantis/Capital", "../../etc/passwd", "/etc/passwd"):
        with pytest.raises(ToolFailure, match="not known"):
            run({"timezone": name}).result(5)


def test_only_picked_files_are_read(
    tools: dict[str, Tool], files: PickedFiles, tmp_path: Path
) -> None:
    note = tmp_path / "note.txt"
    note.write_text("buy “milk”\n", encoding="utf-8")
    secret = tmp_path / "secret.txt"
    secret.write_text("s3cret", encoding="utf-8")
    read = tools["read_text_file"].start
    with pytest.raises(ToolFailure, match="Picked: none"):
        read({"name": "note.txt"}).result(5)
    assert files.add(str(note)) == "note.txt"
    assert files.add(str(note)) == "note.txt"
    assert read({"name": "note.txt"}).result(5) == {"name": "note.txt", "text": "buy “milk”\n"}
    for name in ("secret.txt", str(secret), "../secret.txt", "note.txt/../secret.txt"):
        with pytest.raises(ToolFailure):
            read({"name": name}).result(5)
    files.remove("note.txt")
    with pytest.raises(ToolFailure):
        read({"name": "note.txt"}).result(5)


def test_the_model_is_told_of_the_file_tool_once_there_is_a_file(
    files: PickedFiles, tools: dict[str, Tool], tmp_path: Path
) -> None:
    registry = Registry()
    registry.set_source(BUILTIN, list(tools.values()))
    assert "read_text_file" in {t.name for t in registry.enabled()}, "it can be switched on"
    assert "read_text_file" not in {s.name for s in registry.specs()}
    (tmp_path / "a.txt").write_text("x")
    files.add(str(tmp_path / "a.txt"))
    assert "read_text_file" in {s.name for s in registry.specs()}


def test_files_of_one_name_and_limits(files: PickedFiles, tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.txt").write_text(folder, encoding="utf-8")
    assert files.add(str(tmp_path / "a" / "x.txt")) == "x.txt"
    assert files.add(str(tmp_path / "b" / "x.txt")) == "x (2).txt"
    assert files.read("x (2).txt")["text"] == "b"
    long = tmp_path / "long.txt"
    long.write_text("é" * (MAX_TEXT_CHARS + 5), encoding="utf-8")
    files.add(str(long))
    assert files.read("long.txt")["text"] == "é" * MAX_TEXT_CHARS
    assert "first" in str(files.read("long.txt")["note"])
    for name, data, said in (
        ("big.txt", b"x" * (MAX_FILE_BYTES + 1), "larger"),
        ("bin.txt", b"a\0b", "not a text file"),
        ("latin.txt", b"caf\xe9", "not a text file"),
    ):
        (tmp_path / name).write_bytes(data)
        files.add(str(tmp_path / name))
        with pytest.raises(ToolFailure, match=said):
            files.read(name)
    (tmp_path / "w.txt").write_bytes("ok".encode("utf-16"))
    files.add(str(tmp_path / "w.txt"))
    assert files.read("w.txt")["text"] == "ok"
    with pytest.raises(ToolFailure, match="not a file"):
        files.add(str(tmp_path))


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_a_link_put_in_place_later_is_not_followed(files: PickedFiles, tmp_path: Path) -> None:
    note, secret = tmp_path / "note.txt", tmp_path / "secret.txt"
    note.write_text("note", encoding="utf-8")
    secret.write_text("secret", encoding="utf-8")
    files.add(str(note))
    note.unlink()
    os.symlink(secret, note)
    with pytest.raises(ToolFailure, match="cannot be read"):
        files.read("note.txt")
