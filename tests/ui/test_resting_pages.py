"""Conversations out of sight give their widgets back; the reader's place stays."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint
from pytestqt.qtbot import QtBot

from ui.chat_tab import ChatTab
from ui.resting_pages import KEPT
from ui.theme import theme
from ui.transcript import Transcript
from ui.turn_window import SLACK, WINDOW
from ui.views import TabView, TurnView

WORDS = "\n\n".join(f"Some words of paragraph {n}." for n in range(12))


def turns(count: int, last: str = "done") -> list[TurnView]:
    made = []
    for n in range(count):
        role, text = ("user", f"question {n}") if n % 2 == 0 else ("assistant", WORDS)
        status = last if n == count - 1 else "done"
        made.append(TurnView(node_id=f"n{n}", role=role, text=text, status=status))
    return made


@pytest.fixture
def tab(qtbot: QtBot) -> ChatTab:
    theme().apply(mode="light", scale=1.0)
    made = ChatTab()
    qtbot.addWidget(made)
    made.resize(1000, 700)
    made.show()
    return made


def idle(qtbot: QtBot, words: Transcript) -> None:
    qtbot.waitUntil(lambda: not words._dirty and not words._clock._timer.isActive(), timeout=30_000)


def place(words: Transcript) -> tuple[str, int, int]:
    """The first text on screen: its turn, its part, and how far its top is from the top of
    the screen. A turn of which only the foot is seen may still change its height."""
    for view in words.message_views():
        y = view.words.mapTo(words.viewport(), QPoint(0, 0)).y()
        for at, part in enumerate(view.words.parts):
            if y + part.bottom > 0:
                return view.view.node_id, at, y + part.top
    raise AssertionError("nothing on screen")


def opened(tab: ChatTab, key: str, count: int, last: str = "done") -> Transcript:
    page = tab.add_conversation(TabView(key=key, title=key), select=False)
    page.set_turns(turns(count, last))
    return page.transcript


def test_a_page_never_shown_makes_no_turns(tab: ChatTab, qtbot: QtBot) -> None:
    tab.add_conversation(TabView(key="front", title="front"))
    words = opened(tab, "back", 20)
    qtbot.wait(50)
    assert words.made() == 0
    assert [t.node_id for t in words.turns()] == [f"n{n}" for n in range(20)]
    tab.select("back")
    assert words.view_of("n19") is not None
    idle(qtbot, words)
    assert words.made() == 20


def test_pages_left_longest_ago_rest_first(tab: ChatTab, qtbot: QtBot) -> None:
    pages = {key: opened(tab, key, 40) for key in "abc"}
    for key, words in pages.items():
        tab.select(key)
        idle(qtbot, words)
    assert [w.made() for w in pages.values()] == [40, 40, 40]
    tab._resting.tidy()
    assert [w.made() for w in pages.values()] == [0, 40, 40]
    assert 40 < KEPT < 80


def test_the_reader_finds_the_place_again(tab: ChatTab, qtbot: QtBot) -> None:
    words = opened(tab, "a", 40)
    tab.select("a")
    idle(qtbot, words)
    words.verticalScrollBar().setValue(words.verticalScrollBar().maximum() // 2 + 77)
    idle(qtbot, words)
    before = place(words)
    assert before[2] != 0
    tab.add_conversation(TabView(key="b", title="b"))
    assert words.rest()
    qtbot.wait(20)
    assert words.made() == 0
    tab.select("a")
    idle(qtbot, words)
    assert place(words) == before
    assert not words.is_following()


def test_an_answer_being_written_does_not_rest(tab: ChatTab, qtbot: QtBot) -> None:
    words = opened(tab, "a", 2, last="streaming")
    tab.select("a")
    words.stream("n1", "half of it")
    idle(qtbot, words)
    tab.add_conversation(TabView(key="b", title="b"))
    assert not words.rest()
    words.update_turn(TurnView(node_id="n1", role="assistant", text="all of it", status="done"))
    assert words.rest()
    assert words.turns()[-1].text == "all of it"


def test_an_answer_to_a_resting_conversation_is_kept(tab: ChatTab, qtbot: QtBot) -> None:
    tab.add_conversation(TabView(key="b", title="b"))
    words = opened(tab, "a", 4)
    assert words.made() == 0
    words.append_turn(TurnView(node_id="u", role="user", text="more"))
    words.append_turn(TurnView(node_id="x", role="assistant", text="", status="streaming"))
    words.stream("x", "one ")
    words.stream("x", "two")
    assert words.turns()[-1].text == "one two"
    tab.select("a")
    idle(qtbot, words)
    view = words.view_of("x")
    assert view is not None
    assert view.plain_text() == "one two"


def test_scrolling_far_up_and_down_keeps_the_window_small(tab: ChatTab, qtbot: QtBot) -> None:
    words = opened(tab, "a", 200)
    tab.select("a")
    idle(qtbot, words)
    bar = words.verticalScrollBar()
    made: list[int] = []

    def moved_to(at: int) -> bool:
        up = at < 100
        bar.setValue(bar.value() - 900 if up else bar.value() + 900)
        made.append(words.made())
        seen = int(place(words)[0][1:])
        return seen < at if up else seen > at

    for at in (60, 150):
        qtbot.waitUntil(lambda at=at: moved_to(at), timeout=60_000)  # type: ignore[misc]
    assert max(made) <= WINDOW + SLACK + 24
    seen = place(words)
    idle(qtbot, words)
    assert place(words) == seen
