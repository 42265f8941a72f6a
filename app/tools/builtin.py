"""The tools that come with the program. None of them uses the network.

Each runs on the tools thread (the executor given to `builtin_tools`), so a slow disk never
holds the window. What they tell about this computer names neither its user nor its host.
"""

from __future__ import annotations

import os
import platform
import zoneinfo
from collections.abc import Callable
from concurrent.futures import Executor, Future
from datetime import UTC, datetime

import psutil

from app.tools.calculator import calculate
from app.tools.picked_files import PickedFiles
from app.tools.registry import Tool, ToolFailure
from app.tools.units import convert

FILE_TOOL = "read_text_file"

Run = Callable[[dict[str, object]], object]


def builtin_tools(executor: Executor, files: PickedFiles) -> tuple[Tool, ...]:
    """All built-in tools; `files` may change later, the file tool follows it."""

    def tool(
        name: str,
        text: str,
        schema: dict[str, object],
        run: Run,
        ask: bool = False,
        useful: Callable[[], bool] = lambda: True,
    ) -> Tool:
        def start(arguments: dict[str, object]) -> Future[object]:
            return executor.submit(run, arguments)

        return Tool(name, text, schema, start, ask=ask, useful=useful)

    return (
        tool("get_date_time", "Date, weekday and time now.", _TIME_SCHEMA, _date_time),
        tool("calculate", "Works out (3+4)*2.5, say.", _CALC_SCHEMA, _calculate),
        tool("convert_units", "Converts units such as km, mi.", _UNIT_SCHEMA, _convert),
        tool("get_battery", "Battery level of this computer.", _NO_ARGUMENTS, _battery),
        tool("get_device_info", "Facts about this computer.", _NO_ARGUMENTS, _device),
        tool(
            FILE_TOOL,
            "Reads a text file the user picked.",
            _FILE_SCHEMA,
            lambda a: files.read(str(a["name"])),
            ask=True,
            useful=lambda: bool(files.names()),
        ),
    )


def _object(properties: dict[str, object], required: list[str]) -> dict[str, object]:
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


_NO_ARGUMENTS = _object({}, [])
_TIME_SCHEMA = _object(
    {
        "timezone": {
            "type": "string",
            "description": "IANA name",
        }
    },
    [],
)
_CALC_SCHEMA = _object({"expression": {"type": "string"}}, ["expression"])
_UNIT_SCHEMA = _object(
    {
        "value": {"type": "number"},
        "from": {"type": "string"},
        "to": {"type": "string"},
    },
    ["value", "from", "to"],
)
_FILE_SCHEMA = _object({"name": {"type": "string"}}, ["name"])


def _date_time(arguments: dict[str, object]) -> object:
    name = str(arguments.get("timezone") or "").strip()
    now = datetime.now(UTC).astimezone()
    if name:
        try:
            now = now.astimezone(zoneinfo.ZoneInfo(name))
        except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
            raise ToolFailure(f"The time zone “{name}” is not known here.") from None
    return {
        "date": now.strftime("%Y-%m-%d"),
        "time": now.strftime("%H:%M:%S"),
        "weekday": _WEEKDAYS[now.weekday()],
        "timezone": name or now.tzname() or "",
        "utc_offset": now.strftime("%z"),
    }


_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def _calculate(arguments: dict[str, object]) -> object:
    return {"result": calculate(str(arguments["expression"]))}


def _convert(arguments: dict[str, object]) -> object:
    value, source, target = arguments["value"], str(arguments["from"]), str(arguments["to"])
    if not isinstance(value, int | float):
        raise ToolFailure("The value is not a number.")
    return {"value": convert(value, source, target), "unit": target}


def _battery(_arguments: dict[str, object]) -> object:
    # psutil has no such function on some systems, and broken drivers raise OSError.
    try:
        battery = psutil.sensors_battery()
    except (AttributeError, OSError, ValueError):
        battery = None
    if battery is None:
        return {"battery": False, "note": "This computer has no battery."}
    out: dict[str, object] = {
        "battery": True,
        "percent": round(battery.percent),
        "plugged_in": battery.power_plugged,
    }
    if battery.secsleft and battery.secsleft > 0:
        out["minutes_left"] = round(battery.secsleft / 60)
    return out


def _device(_arguments: dict[str, object]) -> object:
    memory = psutil.virtual_memory()
    return {
        "system": f"{platform.system()} {platform.release()}".strip(),
        "processor": platform.machine(),
        "cores": os.cpu_count(),
        "memory_gb": round(memory.total / 1e9, 1),
        "free_memory_gb": round(memory.available / 1e9, 1),
    }
