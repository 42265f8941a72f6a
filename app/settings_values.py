"""The values of the settings: what there is, the defaults, and which values are possible. Pure."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, get_type_hints

import msgspec

from app.conversation import ChatSettings
from engine.types import Backend, Sampling, SpecMode

CONTEXT_MIN, CONTEXT_MAX = 256, 1_048_576
THREADS_MAX = 256


class CrashedCombination(msgspec.Struct, frozen=True):
    """A model and backend that took the engine process down; not loaded by itself."""

    model_path: str
    backend: Backend
    when: float = 0.0
    exit: str = ""


class McpServer(msgspec.Struct, frozen=True, kw_only=True):
    """A local tool server started over stdio. `env` holds no secrets by convention."""

    name: str
    command: str
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    enabled: bool = True


class Preset(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    settings: ChatSettings


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """All settings, flat. Defaults are what a new user gets."""

    version: int = 1
    # Appearance
    theme: str = "system"
    text_size: int = 14
    density: str = "comfortable"
    reduced_motion: bool = False
    # Chat
    enter_sends: bool = True
    chat: ChatSettings = ChatSettings()
    presets: tuple[Preset, ...] = ()
    default_preset: str = ""
    show_footer: bool = True
    # Engine (load settings)
    model_path: str = ""
    backend: Backend = Backend.CPU
    context_tokens: int = 0
    threads: int = 0
    cache: str = "disk"
    cache_cap_bytes: int = 0
    gpu_float16: bool = False
    load_at_start: bool = True
    crashed: tuple[CrashedCombination, ...] = ()
    # Models
    recent_models: tuple[str, ...] = ()
    model_folders: tuple[str, ...] = ()
    # Tools
    tools_enabled: dict[str, bool] = {}
    tools_ask: dict[str, bool] = {}
    tools_seen: dict[str, str] = {}
    """Fingerprint of each tool when it was decided on."""
    mcp_servers: tuple[McpServer, ...] = ()
    # Window
    window_geometry: str = ""
    splitters: dict[str, str] = {}
    sidebar_visible: bool = True
    welcomed: bool = False


class SettingsNote(msgspec.Struct, frozen=True):
    """Something to tell about the file: code "settings_set_aside", "settings_value" or
    "settings_not_saved"; `params` fill the sentence."""

    code: str
    params: dict[str, str] = {}


def _one_of(*allowed: str) -> Callable[[Any], bool]:
    return lambda value: value in allowed


def _between(low: float, high: float) -> Callable[[Any], bool]:
    return lambda value: low <= value <= high


def sampling_ok(value: Sampling) -> bool:
    """Range check of a sampler: the native setters accept anything, so we do not."""
    return (
        0.0 <= value.temperature <= 5.0
        and 0.0 < value.top_p <= 1.0
        and 1 <= value.top_k <= 100_000
        and (value.seed is None or 0 <= value.seed < 2**31)
        and (value.max_output_tokens is None or 1 <= value.max_output_tokens <= CONTEXT_MAX)
        and (value.repetition_penalty is None or 0.0 < value.repetition_penalty <= 5.0)
    )


def _context_ok(value: Any) -> bool:
    return bool(value == 0 or CONTEXT_MIN <= value <= CONTEXT_MAX)


def _chat_ok(value: ChatSettings) -> bool:
    budget = value.thinking_budget
    return sampling_ok(value.sampling) and (budget is None or 1 <= budget <= CONTEXT_MAX)


_RANGES: dict[str, Callable[[Any], bool]] = {
    "theme": _one_of("system", "light", "dark"),
    "text_size": _between(10, 32),
    "density": _one_of("comfortable", "compact"),
    "context_tokens": _context_ok,
    "threads": _between(0, THREADS_MAX),
    "cache": lambda value: value in ("disk", "memory", "no") or os.path.isabs(value),
    "cache_cap_bytes": _between(0, 2**50),
    "chat": _chat_ok,
}


def in_range(field: str, value: Any) -> bool:
    """Whether `value` is acceptable for the setting `field`."""
    check = _RANGES.get(field)
    return check is None or bool(check(value))


def parse(raw: dict[str, Any]) -> tuple[Settings, dict[str, Any], list[SettingsNote]]:
    """(settings, unknown keys, notes) from the decoded JSON object. Never raises."""
    hints = get_type_hints(Settings)
    known: dict[str, Any] = {}
    unknown: dict[str, Any] = {}
    notes: list[SettingsNote] = []
    for key, value in raw.items():
        if key not in hints:
            unknown[key] = value
            continue
        try:
            converted = msgspec.convert(value, hints[key], strict=True)
            good = in_range(key, converted)
        except (msgspec.ValidationError, TypeError, ValueError):
            good = False
        if good:
            known[key] = converted
        else:
            notes.append(SettingsNote("settings_value", {"key": key, "value": repr(value)[:60]}))
    return Settings(**known), unknown, notes


def clean_spec(value: SpecMode, supports_mtp: bool | None) -> SpecMode:
    """A spec choice that this model can have: a file without a drafter always gets Off."""
    return value if supports_mtp else SpecMode.OFF
