"""Named generation settings: save, apply, default for new chats.

Kept in the settings file. A preset holds everything of `ChatSettings` but where a
conversation starts (`start_at`), which belongs to the conversation. Main thread.
"""

from __future__ import annotations

import msgspec

from app.conversation import ChatSettings
from app.settings import Preset, Settings, SettingsStore

MAX_PRESETS = 200


def clean_name(name: str) -> str:
    """A name as it is stored: one line, at most 60 characters."""
    return " ".join(name.split())[:60]


def find(settings: Settings, name: str) -> Preset | None:
    return next((p for p in settings.presets if p.name == name), None)


def applied(preset: Preset, current: ChatSettings) -> ChatSettings:
    """The settings of a conversation after applying a preset to it."""
    return msgspec.structs.replace(preset.settings, start_at=current.start_at)


def matching(settings: Settings, current: ChatSettings) -> str:
    """Name of the preset the conversation's settings equal, "" for none."""
    for preset in settings.presets:
        if applied(preset, current) == current:
            return preset.name
    return ""


def for_new_chat(settings: Settings) -> ChatSettings:
    """What a new conversation starts with: the default preset, else the chat defaults."""
    preset = find(settings, settings.default_preset)
    return settings.chat if preset is None else preset.settings


def save(store: SettingsStore, name: str, current: ChatSettings) -> bool:
    """Adds or replaces a preset; False for an empty name or too many."""
    name = clean_name(name)
    if not name:
        return False
    new = Preset(name=name, settings=msgspec.structs.replace(current, start_at=""))
    others = [p for p in store.value.presets if p.name != name]
    if len(others) >= MAX_PRESETS:
        return False
    ordered = sorted([*others, new], key=lambda p: p.name.casefold())
    store.change(presets=tuple(ordered))
    return True


def delete(store: SettingsStore, name: str) -> Preset | None:
    """Removes a preset and returns it (undo: `save`)."""
    gone = find(store.value, name)
    if gone is not None:
        kept = tuple(p for p in store.value.presets if p.name != name)
        default = "" if store.value.default_preset == name else store.value.default_preset
        store.change(presets=kept, default_preset=default)
    return gone


def set_default(store: SettingsStore, name: str) -> None:
    """New conversations start with this preset; "" for none."""
    store.change(default_preset=name if find(store.value, name) else "")
