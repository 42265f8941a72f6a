"""The sidebar, the find bar: grouping, keys, menus, search, sizes, many conversations."""

from __future__ import annotations

import time

import pytest
from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QLineEdit, QMainWindow
from pytestqt.qtbot import QtBot

from ui import strings_history as words
from ui.find_bar import FindBar
from ui.sidebar import Sidebar
from ui.sidebar_model import ChatItem, Heading, HitItem, grouped

NOON = time.mktime((2026, 6, 15, 12, 0, 0, 0, 0, -1))
DAY = 86400.0


def item(name: str, age: float = 0.0, pinned: bool = False, title: str = "") -> ChatItem:
    return ChatItem(id=name, title=title or f"title {name}", updated=NOON - age, pinned=pinned)


def shown(side: Sidebar) -> list[str]:
    model = side.model
    return [str(model.data(model.index(row))) for row in range(model.rowCount())]


@pytest.fixture
def side(qtbot: QtBot) -> Sidebar:
    made = Sidebar()
    qtbot.addWidget(made)
    made.resize(248, 600)
    made.show()
    return made


def now_item(name: str, **more: object) -> ChatItem:
    return ChatItem(id=name, title=f"title {name}", updated=time.time(), **more)  # type: ignore[arg-type]


def test_groups_follow_days_and_pins() -> None:
    rows = grouped(
        [
            item("old", 40 * DAY),
            item("week", 3 * DAY),
            item("yesterday", 13 * 3600),
            item("morning", 11 * 3600),
            item("pin", 90 * DAY, pinned=True),
            item("now"),
        ],
        NOON,
    )
    names = [r.text if isinstance(r, Heading) else r.id for r in rows]
    assert names == [
        words.GROUP_PINNED,
        "pin",
        words.GROUP_TODAY,
        "now",
        "morning",
        words.GROUP_YESTERDAY,
        "yesterday",
        words.GROUP_WEEK,
        "week",
        words.GROUP_OLDER,
        "old",
    ]
    assert grouped([], NOON) == []


def test_click_and_enter_open_and_headings_do_nothing(side: Sidebar, qtbot: QtBot) -> None:
    side.set_items([now_item("a"), now_item("b")])
    opened: list[str] = []
    side.chat_opened.connect(opened.append)
    row = side.list.visualRect(side.model.index_of("b")).center()
    qtbot.mouseClick(side.list.viewport(), Qt.MouseButton.LeftButton, pos=row)
    heading = side.list.visualRect(side.model.index(0)).center()
    qtbot.mouseClick(side.list.viewport(), Qt.MouseButton.LeftButton, pos=heading)
    side.list.setCurrentIndex(side.model.index_of("a"))
    qtbot.keyClick(side.list, Qt.Key.Key_Return)
    assert opened == ["b", "a"]


def test_delete_key_and_rename_in_place(side: Sidebar, qtbot: QtBot) -> None:
    side.set_items([now_item("a")])
    side.set_current("a")
    with qtbot.waitSignal(side.delete_requested) as deleted:
        qtbot.keyClick(side.list, Qt.Key.Key_Delete)
    assert deleted.args == ["a"]
    window = QMainWindow()
    qtbot.addWidget(window)
    window.setCentralWidget(side)
    other: list[bool] = []
    action = window.addAction("Rename conversation")
    action.setShortcut("F2")
    action.triggered.connect(lambda: other.append(True))
    window.show()
    window.activateWindow()
    side.list.setFocus()
    qtbot.keyClick(side.list, Qt.Key.Key_F2)
    editor = side.list.findChild(QLineEdit)
    assert editor is not None
    assert other == []
    qtbot.keyClick(editor, Qt.Key.Key_Escape)
    with qtbot.waitSignal(side.rename_requested) as renamed:
        side.model.setData(side.model.index_of("a"), "  Better\nname ")
    assert renamed.args == ["a", "Better name"]
    assert not side.model.setData(side.model.index_of("a"), "   ")
    window.takeCentralWidget()
    side.setParent(None)


def test_menu_offers_everything(side: Sidebar) -> None:
    asked: list[tuple[object, ...]] = []
    side.pin_requested.connect(lambda *a: asked.append(a))
    side.export_requested.connect(lambda *a: asked.append(a))
    side.delete_requested.connect(lambda *a: asked.append(a))
    menu = side.menu_for(item("a", pinned=True))
    texts = {a.text(): a for a in menu.actions() if a.text()}
    assert words.RENAME in texts
    assert words.PIN not in texts
    for text in (
        words.UNPIN,
        words.EXPORT_MARKDOWN,
        words.EXPORT_JSON,
        words.SAVE_PDF,
        words.DELETE,
    ):
        texts[text].trigger()
    assert asked == [("a", False), ("a", "markdown"), ("a", "json"), ("a", "pdf"), ("a",)]
    menu.close()


def test_search_shows_hits_and_goes_back(side: Sidebar, qtbot: QtBot) -> None:
    side.set_items([now_item("a"), now_item("b")])
    with qtbot.waitSignal(side.search_changed) as searched:
        qtbot.keyClicks(side.search, "csv")
    assert searched.args == ["csv"]
    side.set_hits("old question", [HitItem(id="b", title="stale")])
    assert "stale" not in shown(side)
    side.set_hits("csv", [HitItem(id="b", title="B", node="n", snippet="a csv", marks=((2, 3),))])
    assert shown(side) == [words.GROUP_RESULTS, "B"]
    opened: list[tuple[object, ...]] = []
    side.hit_opened.connect(lambda *a: opened.append(a))
    qtbot.keyClick(side.search, Qt.Key.Key_Down)
    qtbot.keyClick(side.list, Qt.Key.Key_Return)
    assert opened == [("b", "n", "csv")]
    side.set_hits("csv", [])
    assert side.empty.isVisible()
    assert "csv" in side.empty.text()
    qtbot.keyClick(side.search, Qt.Key.Key_Escape)
    assert side.search.text() == ""
    assert len(shown(side)) == 3


def test_the_chat_in_front_stays_marked_while_the_list_changes(side: Sidebar) -> None:
    side.set_items([now_item("a"), now_item("b")])
    side.set_current("a")
    side.put(now_item("c"))
    assert side.list.currentIndex() == side.model.index_of("a")
    side.remove("b")
    assert side.list.currentIndex() == side.model.index_of("a")
    side.set_current("")
    assert side.list.currentIndex() == QModelIndex()


def test_a_growing_answer_does_not_rebuild_the_list(side: Sidebar, qtbot: QtBot) -> None:
    side.set_items([now_item("a"), item("b", 400 * DAY)])
    resets: list[bool] = []
    side.model.modelReset.connect(lambda: resets.append(True))
    side.put(now_item("a", busy=True))
    side.put(now_item("a", busy=False))
    assert resets == []
    side.put(ChatItem(id="b", title="b", updated=time.time() + 1))
    assert resets == [True]


def test_titles_cannot_break_the_list(side: Sidebar) -> None:
    side.set_items([now_item("a"), ChatItem(id="x", title="a\nb\0\u202ec\ud800", updated=1)])
    assert all("\n" not in text and "\u202e" not in text for text in shown(side))
    side.grab()


def test_screen_readers_get_names(side: Sidebar) -> None:
    side.set_items([now_item("a", pinned=True)])
    index = side.model.index_of("a")
    spoken = side.model.data(index, Qt.ItemDataRole.AccessibleTextRole)
    assert spoken == f"title a, {words.PINNED_WORD}"
    assert side.search.accessibleName() == words.SEARCH_CHATS
    assert side.list.accessibleName() == words.CONVERSATIONS


def test_ten_thousand_conversations(side: Sidebar) -> None:
    began = time.perf_counter()
    side.set_items([item(str(n), n * 3000.0) for n in range(10_000)])
    side.list.scrollToBottom()
    side.grab()
    assert side.model.rowCount() > 10_000
    assert time.perf_counter() - began < 10


def test_find_bar_searches_steps_and_closes(qtbot: QtBot) -> None:
    bar = FindBar()
    qtbot.addWidget(bar)
    steps: list[str] = []
    bar.next_requested.connect(lambda: steps.append("next"))
    bar.previous_requested.connect(lambda: steps.append("back"))
    bar.open()
    with qtbot.waitSignal(bar.query_changed) as asked:
        qtbot.keyClicks(bar.field, "word")
    assert asked.args == ["word"]
    bar.set_count(2, 17)
    assert bar.count.text() == "2 of 17"
    qtbot.keyClick(bar.field, Qt.Key.Key_Return)
    qtbot.keyClick(bar.field, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    assert steps == ["next", "back"]
    bar.set_count(0, 0)
    assert bar.count.text() == words.FIND_NONE
    assert bar.field.property("invalid") == "true"
    assert not bar.forward.isEnabled()
    with qtbot.waitSignal(bar.closed):
        qtbot.keyClick(bar.field, Qt.Key.Key_Escape)
    assert bar.isHidden()
    bar.open("again")
    assert bar.field.text() == "again"


def test_backspace_in_the_search_box_deletes_nothing(side: Sidebar, qtbot: QtBot) -> None:
    side.set_items([now_item("a")])
    gone: list[str] = []
    side.delete_requested.connect(gone.append)
    side.search.setFocus()
    qtbot.keyClicks(side.search, "ab")
    event = QKeyEvent(QKeyEvent.Type.KeyPress, Qt.Key.Key_Backspace, Qt.KeyboardModifier.NoModifier)
    side.search.event(event)
    assert gone == []
    assert side.search.text() == "a"
