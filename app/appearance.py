"""Keeps the look of the window to the settings: colours, text size, density, motion.

Main thread. Call `follow_look` before the first widget is made, so that nothing is drawn twice.
"""

from __future__ import annotations

from app.settings import SettingsStore
from ui.theme import theme

BASE_TEXT = 14
"""The text size that is 100 %, in pixels."""


def follow_look(settings: SettingsStore) -> None:
    """Applies the look now and after each change of it."""
    shown: tuple[str, float, str, bool] | None = None

    def apply(_value: object = None) -> None:
        nonlocal shown
        v = settings.value
        wanted = (v.theme, v.text_size / BASE_TEXT, v.density, v.reduced_motion)
        if wanted != shown:
            shown = wanted
            mode, scale, density, reduced = wanted
            theme().apply(mode=mode, scale=scale, density=density, reduced_motion=reduced)

    settings.subscribe(apply)
    apply()
