"""The list of shortcuts: every command of the menus, and the keys of the message box."""

from __future__ import annotations

from PySide6.QtGui import QKeySequence

from ui import strings_history as words
from ui.actions import MENUS
from ui.controls import label
from ui.setting_rows import Section, SettingRow


def shortcuts() -> list[tuple[str, str]]:
    """(what it does, keys as this system writes them), in menu order."""
    out = []
    for _, actions in MENUS:
        for action in actions:
            if action.name and action.keys:
                keys = ", ".join(
                    QKeySequence(k).toString(QKeySequence.SequenceFormat.NativeText)
                    for k in action.keys
                )
                out.append((action.text.replace("&", "").rstrip("…"), keys))
    return [*out, *words.MORE_SHORTCUTS]


def fill(section: Section) -> None:
    """Adds a row per shortcut."""
    section.body.addWidget(label(words.SHORTCUT_HINT, "small", wrap=True))
    for text, keys in shortcuts():
        section.add(SettingRow(text, label(keys, "muted"), keywords=keys))
