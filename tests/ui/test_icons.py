"""Icons: made once per look; those of earlier looks are kept within a bound."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtWidgets import QApplication

import resources
from ui import icons
from ui.theme import SCALES, theme


@pytest.fixture(autouse=True)
def usual_look(qapp: QApplication) -> Iterator[None]:
    theme().apply(mode="light", scale=1.0)
    yield
    theme().apply(mode="light", scale=1.0)


def test_the_same_icon_is_made_once() -> None:
    first = icons.icon("more")
    assert icons.icon("more").cacheKey() == first.cacheKey()
    assert icons.icon("more", "bad").cacheKey() != first.cacheKey()


def test_a_change_back_and_forth_makes_nothing_again() -> None:
    theme().apply(mode="dark")
    dark = icons.icon("more").cacheKey()
    theme().apply(mode="light")
    icons.icon("more")
    theme().apply(mode="dark")
    assert icons.icon("more").cacheKey() == dark


def test_icons_of_all_looks_are_not_kept_for_ever() -> None:
    names = sorted(p.stem for p in (resources.FOLDER / "icons").glob("*.svg"))
    for mode in ("dark", "light"):
        for scale in SCALES:
            theme().apply(mode=mode, scale=scale)
            for name in names:
                icons.icon(name)
    assert len(names) * len(SCALES) * 2 > icons.MOST >= len(icons._cache)


def test_an_icon_is_sharp_and_in_the_colour_of_the_look() -> None:
    for mode in ("light", "dark"):
        theme().apply(mode=mode)
        image = icons.icon("stop", "bad").pixmap(16, 16).toImage()
        shown = {
            image.pixelColor(x, y).name()
            for x in range(image.width())
            for y in range(image.height())
            if image.pixelColor(x, y).alpha() == 255
        }
        assert theme().color("bad").name() in shown
