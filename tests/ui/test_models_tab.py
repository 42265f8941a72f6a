"""The Models tab and its dialogs: what is shown, what is emitted, keyboard and names."""

from __future__ import annotations

from typing import Any

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QFocusEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QPushButton
from pytestqt.qtbot import QtBot

from ui import model_strings as words
from ui.add_model_dialog import AddModelDialog
from ui.cache_page import StorageDialog
from ui.model_details import DetailsDialog
from ui.model_views import (
    CacheRowView,
    DetailsView,
    HubFileView,
    ModelRowView,
    ModelsView,
    RowAction,
    StorageView,
)
from ui.models_tab import ModelsTab
from ui.token_dialog import TokenDialog


def row(key: str, **changes: Any) -> ModelRowView:
    values: dict[str, Any] = {
        "key": key,
        "group": "local",
        "name": key,
        "badges": ("MTP", "text"),
        "facts": ("21 MB", "context 1024"),
        "actions": (RowAction("load", "Load", primary=True),),
        "menu": (RowAction("details", "Details…"), RowAction("delete", "Delete…")),
        "abilities": frozenset({"MTP", "text"}),
    }
    return ModelRowView(**(values | changes))


@pytest.fixture
def tab(qtbot: QtBot) -> ModelsTab:
    made = ModelsTab()
    qtbot.addWidget(made)
    made.resize(900, 700)
    made.show()
    return made


def shown(widget: Any) -> list[str]:
    QApplication.processEvents()
    return [w.text() for w in widget.findChildren(QLabel) if w.isVisible() and w.text()]


def test_groups_and_empty_words(tab: ModelsTab) -> None:
    assert words.LOOKING in shown(tab)
    tab.set_view(ModelsView())
    assert words.EMPTY_LOCAL in shown(tab)
    tab.set_view(ModelsView(rows=(row("a"), row("b", group="catalogue"))))
    assert words.EMPTY_LOCAL not in shown(tab)
    assert words.CATALOGUE in shown(tab)
    assert tab.shown_keys("local") == ["a"]
    assert tab.shown_keys("catalogue") == ["b"]


def test_search_looks_at_names_badges_and_facts(tab: ModelsTab) -> None:
    rows = (
        row("Gemma 4", badges=("vision",)),
        row("Smol", facts=("loaded on CPU",)),
        row("Qwen", group="catalogue", path="litert-community/Qwen"),
    )
    tab.set_view(ModelsView(rows=rows))
    QTest.keyClicks(tab.search, "VISION gemma")
    assert tab.shown_keys("local") == ["Gemma 4"]
    assert tab.shown_keys("catalogue") == []
    tab.search.setText("community")
    assert tab.shown_keys("catalogue") == ["Qwen"]
    tab.search.setText("nothing like it")
    assert words.NO_HITS.format(text="nothing like it") in shown(tab)


def test_sorting(tab: ModelsTab) -> None:
    tab.set_view(
        ModelsView(
            rows=(
                row("b", size=1, used=9.0, order=1),
                row("a", size=2, used=0.0, order=1, speedup=1.6),
                row("z", size=3, used=5.0, order=0, speedup=0.9),
            )
        )
    )
    assert tab.shown_keys("local") == ["z", "a", "b"]  # what is loaded comes first
    tab.set_sort("size")
    assert tab.shown_keys("local") == ["z", "a", "b"]
    tab.set_sort("used")
    assert tab.shown_keys("local") == ["b", "z", "a"]
    tab.set_sort("speedup")
    assert tab.shown_keys("local") == ["a", "z", "b"]
    assert tab.sort_button.accessibleName() == "Sort: measured speedup"


def test_filter(tab: ModelsTab) -> None:
    tab.set_view(ModelsView(rows=(row("a"), row("b", abilities=frozenset({"vision", "fits"})))))
    tab.set_filter("fits")
    assert tab.shown_keys("local") == ["b"]
    tab.set_filter("audio")
    assert words.NO_HITS_FILTER in shown(tab)
    tab.reveal("a")
    assert tab.shown_keys("local") == ["a", "b"]


def test_buttons_tell_key_and_action(tab: ModelsTab, qtbot: QtBot) -> None:
    tab.set_view(ModelsView(rows=(row("a"), row("b"))))
    card = tab.card("b")
    assert card is not None
    button = card.action_button("load")
    assert button is not None
    assert button.accessibleName() == "Load b"
    with qtbot.waitSignal(tab.triggered) as told:
        QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    assert told.args == ["b", "load"]


def test_keyboard_on_a_card(tab: ModelsTab) -> None:
    told: list[tuple[str, str]] = []
    tab.triggered.connect(lambda key, action: told.append((key, action)))
    tab.set_view(ModelsView(rows=(row("a"), row("b", menu=(RowAction("details", "D"),)))))
    for key in ("a", "b"):
        card = tab.card(key)
        assert card is not None
        card.setFocus()
        QTest.keyClick(card, Qt.Key.Key_Return)
        QTest.keyClick(card, Qt.Key.Key_Delete)
    assert told == [("a", "details"), ("a", "delete"), ("b", "details")]


def test_keyboard_focus_is_visible(tab: ModelsTab) -> None:
    tab.set_view(ModelsView(rows=(row("a"),)))
    card = tab.card("a")
    assert card is not None
    for reason, seen in (
        (Qt.FocusReason.TabFocusReason, "true"),
        (Qt.FocusReason.MouseFocusReason, "false"),
    ):
        QApplication.sendEvent(card, QFocusEvent(QFocusEvent.Type.FocusIn, reason))
        assert card.property("focused") == seen
        QApplication.sendEvent(card, QFocusEvent(QFocusEvent.Type.FocusOut, reason))
        assert card.property("focused") == "false"


def test_menu_of_a_card(tab: ModelsTab) -> None:
    told: list[tuple[str, str]] = []
    tab.triggered.connect(lambda key, action: told.append((key, action)))
    entries = (RowAction("details", "D"), RowAction("-", ""), RowAction("x", "X", reason="no"))
    tab.set_view(ModelsView(rows=(row("a", menu=entries),)))
    card = tab.card("a")
    assert card is not None
    menu = card.menu()
    first, line, last = menu.actions()
    assert line.isSeparator()
    assert not last.isEnabled()
    first.trigger()
    assert told == [("a", "details")]
    menu.deleteLater()


def test_a_running_download_keeps_widgets_and_focus(tab: ModelsTab) -> None:
    pause, cancel = RowAction("pause", "Pause"), RowAction("cancel", "Cancel")
    busy = row("a", progress=0.1, progress_text="1 of 10 MB", actions=(pause, cancel))
    tab.set_view(ModelsView(rows=(busy, row("b"))))
    card = tab.card("a")
    assert card is not None
    button = card.action_button("pause")
    assert button is not None
    button.setFocus()
    for step in range(2, 9):
        view = row(
            "a",
            progress=step / 10,
            progress_text=f"{step} of 10 MB",
            actions=(pause, cancel),
        )
        tab.set_view(ModelsView(rows=(view, row("b"))))
    assert tab.card("a") is card
    assert card.action_button("pause") is button
    assert "8 of 10 MB" in shown(card)
    assert "8 of 10 MB" in card.accessibleName()
    resume = RowAction("resume", "Resume", primary=True)
    tab.set_view(ModelsView(rows=(row("a", progress=0.8, actions=(resume, cancel)), row("b"))))
    assert button.text() == "Resume"
    assert button is card.action_button("resume")


def test_problem_stands_in_for_facts_and_words_are_plain(tab: ModelsTab) -> None:
    view = row("<b>x</b>", problem="File is <i>incomplete</i>", problem_level="bad", actions=())
    tab.set_view(ModelsView(rows=(view,)))
    assert "File is <i>incomplete</i>" in shown(tab)
    assert "<b>x</b>" in shown(tab)
    assert all(w.textFormat() == Qt.TextFormat.PlainText for w in tab.findChildren(QLabel))


def drop(tab: ModelsTab, paths: list[str]) -> bool:
    mime = QMimeData()
    mime.setUrls([QUrl.fromLocalFile(p) for p in paths])
    action, left = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton
    none = Qt.KeyboardModifier.NoModifier
    enter = QDragEnterEvent(QPoint(5, 5), action, mime, left, none)
    tab.dragEnterEvent(enter)
    if not enter.isAccepted():
        return False
    tab.dropEvent(QDropEvent(QPointF(5, 5), action, mime, left, none))
    return True


def test_dropped_files_are_told(tab: ModelsTab, qtbot: QtBot) -> None:
    with qtbot.waitSignal(tab.files_dropped) as told:
        assert drop(tab, ["/m/a.litertlm", "/m/notes.txt"])
    assert told.args == [["/m/a.litertlm", "/m/notes.txt"]]
    assert words.DROP_HERE not in shown(tab)
    assert not drop(tab, [])


def test_every_control_has_a_name(tab: ModelsTab) -> None:
    tab.set_view(ModelsView(rows=(row("a"), row("b", group="catalogue"))))
    for control in (*tab.findChildren(QPushButton), *tab.findChildren(QLineEdit)):
        assert control.accessibleName() or getattr(control, "text", str)(), control


@pytest.mark.parametrize("width", [560, 800, 1600])
def test_nothing_is_cut(tab: ModelsTab, width: int) -> None:
    view = row("A model with quite a long name " * 4, facts=("a fact " * 10,) * 3)
    tab.set_view(ModelsView(rows=(view,)))
    tab.resize(width, 600)
    for _ in range(5):  # a busy machine turns the loop once per wait
        QTest.qWait(5)
    card = tab.card(view.key)
    assert card is not None
    assert card.width() <= width
    button = card.action_button("load")
    assert button is not None
    assert button.mapTo(tab, QPoint(button.width(), 0)).x() <= width


# ---- dialogs ----


def test_details(qtbot: QtBot) -> None:
    view = DetailsView(
        key="/m",
        name="Smol",
        badges=("MTP",),
        groups=((words.GROUP_FILE, (("Path", "/m"),)), ("Licence", (("Licence", "Apache-2.0"),))),
        sections=(("TFLiteModel", "tf_lite_mtp_drafter", "3 MB"),),
        template="{{ messages }}",
    )
    dialog = DetailsDialog(view)
    qtbot.addWidget(dialog)
    dialog.show()
    texts = shown(dialog)
    assert {"/m", "Apache-2.0", "tf_lite_mtp_drafter", "3 MB"} <= set(texts)
    with qtbot.waitSignal(dialog.checksum_requested) as told:
        QTest.mouseClick(dialog.checksum_button(), Qt.MouseButton.LeftButton)
    assert told.args == ["/m"]
    from dataclasses import replace

    dialog.set_view(replace(view, checksum_busy=True))
    assert not dialog.checksum_button().isEnabled()
    dialog.set_view(replace(view, checksum="abc"))
    assert dialog.checksum_text() == "abc"
    assert not dialog.checksum_button().isVisible()


def test_adding_from_the_hub(qtbot: QtBot) -> None:
    dialog = AddModelDialog()
    qtbot.addWidget(dialog)
    dialog.show()
    assert not dialog.find_button.isEnabled()
    QTest.keyClicks(dialog.field, "o/r")
    with qtbot.waitSignal(dialog.list_requested) as told:
        QTest.keyClick(dialog.field, Qt.Key.Key_Return)
    assert told.args == ["o/r"]
    assert dialog.isVisible()
    dialog.set_busy("Asking…")
    assert not dialog.find_button.isEnabled()
    files = [
        HubFileView(file="a.litertlm", size="1 GB", fit="fits"),
        HubFileView(file="b.litertlm", size="2 GB", state="already here"),
    ]
    dialog.set_files("2 model files in o/r", files)
    assert "already here" in shown(dialog)
    fetch = [b for b in dialog.findChildren(QPushButton) if b.text() == words.DOWNLOAD]
    assert [b.accessibleName() for b in fetch] == ["Download a.litertlm"]
    with qtbot.waitSignal(dialog.download_requested) as told:
        QTest.mouseClick(fetch[0], Qt.MouseButton.LeftButton)
    assert told.args == ["a.litertlm"]
    dialog.set_problem("No.", [RowAction("token", "Token…")])
    way = next(b for b in dialog.findChildren(QPushButton) if b.text() == "Token…")
    with qtbot.waitSignal(dialog.way_on) as told:
        QTest.mouseClick(way, Qt.MouseButton.LeftButton)
    assert told.args == ["token"]
    assert dialog.find_button.isEnabled()


def test_token_is_hidden_and_not_kept(qtbot: QtBot) -> None:
    dialog = TokenDialog("huggingface.co", "nowhere")
    qtbot.addWidget(dialog)
    dialog.show()
    assert dialog.field.echoMode() is QLineEdit.EchoMode.Password
    assert not dialog.remove_button.isVisible()
    QTest.keyClicks(dialog.field, "hf_abc")
    with qtbot.waitSignal(dialog.save_requested) as told:
        QTest.keyClick(dialog.field, Qt.Key.Key_Return)
    assert told.args == ["hf_abc"]
    assert dialog.field.text() == ""
    dialog.set_busy()
    dialog.set_problem("no good")
    assert dialog.note() == "no good"
    assert dialog.field.isEnabled()
    dialog.set_keeping("session", "It works.")
    assert dialog.note() == f"It works. {words.TOKEN_KEPT['session']}"
    assert dialog.remove_button.isVisible()


def test_storage(qtbot: QtBot) -> None:
    view = StorageView(
        own_folder="/home/me/models",
        folders=("/more",),
        mode="disk",
        cap_gb=5,
        total="3 GB",
        rows=(
            CacheRowView(key="k", name="Smol", size="2 GB"),
            CacheRowView(key="u", name="Demo", size="1 GB", note="in use", clearable=False),
        ),
    )
    dialog = StorageDialog(view)
    qtbot.addWidget(dialog)
    dialog.show()
    assert dialog.cap.value() == 5
    assert dialog.row_texts() == ["Smol 2 GB", "Demo 1 GB in use"]
    named = {b.accessibleName(): b for b in dialog.findChildren(QPushButton) if b.isVisible()}
    assert "Clear Demo" not in named
    with qtbot.waitSignal(dialog.clear_requested) as told:
        QTest.mouseClick(named["Clear Smol"], Qt.MouseButton.LeftButton)
    assert told.args == ["k"]
    with qtbot.waitSignal(dialog.remove_folder_requested) as told:
        QTest.mouseClick(named["Remove /more"], Qt.MouseButton.LeftButton)
    assert told.args == ["/more"]
    with qtbot.waitSignal(dialog.mode_chosen) as told:
        dialog.modes.card("no").radio.click()
    assert told.args == ["no"]
    with qtbot.waitSignal(dialog.cap_chosen) as told:
        dialog.cap.setValue(9)
        dialog.cap.editingFinished.emit()
    assert told.args == [9]
