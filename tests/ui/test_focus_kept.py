"""The keyboard's place is kept while lists under it are made anew."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtWidgets import QDialog, QPushButton, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from tests.ui import looking
from ui.cache_page import StorageDialog
from ui.choice_cards import ChoiceRow
from ui.focus_kept import focus_kept
from ui.model_views import CacheRowView, StorageView
from ui.tool_servers_dialog import ServersDialog
from ui.tool_views import ServerView

ROWS = tuple(CacheRowView(key=str(n), name=f"model {n}", size="1 MB") for n in range(3))


def named(top: QWidget, name: str) -> QPushButton:
    found = [b for b in top.findChildren(QPushButton) if looking.name_of(b) == name]
    return found[-1]


def at(top: QDialog) -> str:
    found = top.focusWidget()
    return looking.name_of(found) if found is not None else ""


def test_caches_that_change_leave_the_focus_where_it_is(qtbot: QtBot) -> None:
    view = StorageView(own_folder="/models", rows=ROWS, total="3 MB")
    dialog = StorageDialog(view)
    qtbot.addWidget(dialog)
    dialog.show()
    named(dialog, "Clear model 1").setFocus()
    dialog.set_view(replace(view, note="looked again"))
    assert at(dialog) == "Clear model 1"
    dialog.set_view(replace(view, rows=(ROWS[0], ROWS[2]), note="one is gone"))
    assert at(dialog) == "Clear model 2", "what stands in its place"


def test_a_server_that_changes_its_state_leaves_the_focus(qtbot: QtBot) -> None:
    dialog = ServersDialog()
    qtbot.addWidget(dialog)
    server = ServerView(name="mine", command="x", phase="starting")
    dialog.set_servers((server,))
    dialog.show()
    named(dialog, "Show log: mine").setFocus()
    dialog.set_servers((replace(server, phase="ready", tools=2),))
    assert at(dialog) == "Show log: mine"
    dialog.form.command.setFocus()
    dialog.set_servers(())
    assert dialog.focusWidget() is dialog.form.command, "what stays keeps it"


def test_a_focus_elsewhere_is_left_alone(qtbot: QtBot) -> None:
    top = QWidget()
    qtbot.addWidget(top)
    body = QVBoxLayout(top)
    part, other = QWidget(), QPushButton("other")
    body.addWidget(part)
    body.addWidget(other)
    inner = QVBoxLayout(part)
    inner.addWidget(QPushButton("one"))
    top.show()
    other.setFocus()
    with focus_kept(part):
        inner.addWidget(QPushButton("two"))
    assert top.focusWidget() is other


@pytest.mark.parametrize(
    ("keys", "value"), [("Down Down", "c"), ("Down Up", "a"), ("Up Down", "b")]
)
def test_arrows_choose_a_card_whichever_way_they_point(qtbot: QtBot, keys: str, value: str) -> None:
    row = ChoiceRow("Choice")
    qtbot.addWidget(row)
    for key in "abcd":
        row.add(key, key, enabled=key != "d")
    row.set_value("a")
    row.show()
    row.card("a").radio.setFocus()
    chosen: list[str] = []
    row.changed.connect(chosen.append)
    for key in keys.split():
        focus = row.focusWidget()
        assert focus is not None
        qtbot.keyClick(focus, getattr(looking.Qt.Key, f"Key_{key}"))
    assert row.value() == value
    assert chosen[-1] == value
    qtbot.keyClick(row.focusWidget(), looking.Qt.Key.Key_Down)
    assert row.value() != "d"
