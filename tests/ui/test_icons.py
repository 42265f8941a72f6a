"""Icons: made once per look, and none of an earlier look is kept."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtWidgets import QApplication

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


def test_icons_of_earlier_looks_are_not_kept() -> None:
    icons.icon("more")
    before = len(icons._cache)
    for mode in ("dark", "light"):
        for scale in SCALES:
            theme().apply(mode=mode, scale=scale)
            icons.icon("more")
    theme().apply(mode="light", scale=1.0)
    icons.icon("more")
    assert len(icons._cache) <= before


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
