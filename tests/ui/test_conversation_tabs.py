"""Tabs of conversations: measured as often as needed, and no more."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from PySide6.QtWidgets import QTabBar
from pytestqt.qtbot import QtBot

from ui.conversation_tabs import ConversationTabs
from ui.views import TabView


@pytest.fixture
def tabs(qtbot: QtBot) -> ConversationTabs:
    made = ConversationTabs()
    qtbot.addWidget(made)
    made.resize(900, 60)
    made.show()
    qtbot.waitExposed(made)
    return made


def view(number: int, speculative: bool | None = False) -> TabView:
    return TabView(key=str(number), title=f"Conversation {number}", speculative=speculative)


def test_a_new_tab_costs_the_same_however_many_there_are(
    tabs: ConversationTabs, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured: Counter[int] = Counter()
    real = QTabBar.setTabText

    def counted(bar: QTabBar, index: int, text: str) -> None:
        measured[tabs.bar.count()] += 1
        real(bar, index, text)

    monkeypatch.setattr(QTabBar, "setTabText", counted)
    for number in range(30):
        tabs.add(view(number))
        tabs.select(str(number))
        qtbot.wait(1)
    assert measured[30] <= measured[3] + 1, measured


def test_titles_can_be_told_apart_however_many_tabs_there_are(tabs: ConversationTabs) -> None:
    for number in range(12):
        tabs.add(TabView(key=str(number), title=f"Question about {number} and much else"))
    tabs.add(TabView(key="short", title="Hi"))
    bar, right = tabs.bar, QTabBar.ButtonPosition.RightSide
    letters = bar.fontMetrics().averageCharWidth()
    for index in range(12):
        room = bar.tabRect(index).width() - bar.tabButton(index, right).width()
        assert 8 * letters < room < 20 * letters
    assert bar.tabRect(12).width() <= bar.tabSizeHint(12).width()
    assert bar.tabRect(12).right() > bar.width(), "the row scrolls"


def test_only_the_current_tab_has_a_close_button(tabs: ConversationTabs) -> None:
    for number in range(4):
        tabs.add(view(number))
    for at in (2, 0, 3):
        tabs.select(str(at))
        right = QTabBar.ButtonPosition.RightSide
        shown = [not tabs.bar.tabButton(i, right).close_button.isHidden() for i in range(4)]
        assert shown == [i == at for i in range(4)]


def test_a_pill_that_comes_and_goes_changes_the_width(tabs: ConversationTabs) -> None:
    tabs.add(view(0, speculative=None))
    tabs.add(view(1, speculative=None))
    before = tabs.bar.tabRect(1).width()
    tabs.set_tab(replace(view(1), speculative=True))
    wide = tabs.bar.tabRect(1).width()
    assert wide > before + 20
    tabs.set_tab(view(1, speculative=None))
    assert tabs.bar.tabRect(1).width() == before
