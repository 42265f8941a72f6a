"""Layouts of Python and Qt under deletion: no wrapper of an item outlives Qt's item.

A stale one crashes the program at the deletion of whatever gets the address next.
"""

from __future__ import annotations

import gc

import pytest
import shiboken6
from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtWidgets import QApplication, QLabel, QLayout, QLayoutItem, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from tests.ui.test_models_tab import row
from ui.composer import Composer
from ui.layouts import FlowLayout
from ui.model_views import ModelsView
from ui.models_tab import ModelsTab
from ui.tool_page import SnugPage
from ui.views import ComposerView


def made_by_qt() -> list[QLayoutItem]:
    """Items of layouts that Qt made and Python still knows: Qt deletes them unheard."""
    gc.collect()
    items = [o for o in gc.get_objects() if isinstance(o, QLayoutItem)]
    return [o for o in items if not isinstance(o, QLayout) and not shiboken6.createdByPython(o)]


def new(before: list[QLayoutItem]) -> list[QLayoutItem]:
    known = {id(o) for o in before}
    return [o for o in made_by_qt() if id(o) not in known]


def settle() -> None:
    QApplication.processEvents()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


def test_the_look_finds_what_it_looks_for(qtbot: QtBot) -> None:
    widget = QWidget()
    qtbot.addWidget(widget)
    before = made_by_qt()
    layout = QVBoxLayout(widget)
    layout.addWidget(QLabel("words"))
    layout.itemAt(0)
    assert len(new(before)) == 1


def test_pages_that_measure_and_sort_know_no_items_of_qt(qtbot: QtBot) -> None:
    before = made_by_qt()
    tab = ModelsTab()
    qtbot.addWidget(tab)
    tab.show()
    for keys in ("abc", "cab", "b", ""):
        tab.set_view(ModelsView(rows=tuple(row(key) for key in keys)))
        settle()
    page, composer = SnugPage(), Composer()
    for widget in (page, composer):
        qtbot.addWidget(widget)
        widget.show()
    page.body.addWidget(QLabel("words"))
    inner = QVBoxLayout()
    page.body.addLayout(inner)
    inner.addWidget(QLabel("more words"))
    plain = page.heightForWidth(300)
    page.body.addWidget(QLabel("even more words"))
    settle()
    assert page.heightForWidth(300) > plain > 0
    composer.set_attachment_strip(QLabel("strip"))
    composer.set_view(ComposerView(can_send=True))
    composer.set_text("x")
    composer.set_compact(True)
    composer._on_submitted()
    assert not new(before)


def test_a_flow_gives_its_items_back(qtbot: QtBot) -> None:
    widget = QWidget()
    qtbot.addWidget(widget)
    flow = FlowLayout(widget)
    labels = [QLabel(str(number)) for number in range(4)]
    for label in labels:
        flow.addWidget(label)
    widget.show()
    assert flow.widgets() == labels
    flow.removeWidget(labels[0])
    labels[1].deleteLater()
    settle()
    assert flow.widgets() == labels[2:]
    labels[2].setParent(None)
    assert flow.widgets() == labels[3:]
    assert flow.count() == 1


def test_a_flow_is_placed_again_only_after_a_change(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    placed: list[int] = []
    place = FlowLayout._place

    def count(self: FlowLayout, *args: object) -> None:
        placed.append(self.count())
        place(self, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(FlowLayout, "_place", count)
    widget = QWidget()
    qtbot.addWidget(widget)
    flow = FlowLayout(widget)
    words = QLabel("words")
    flow.addWidget(words)
    widget.resize(400, 60)
    widget.show()
    settle()
    before = len(placed)
    flow.setGeometry(flow.geometry())
    assert len(placed) == before
    at = words.width()
    words.setText("many more words than before")
    settle()
    assert len(placed) > before
    assert words.width() > at
    other = QLabel("one more")
    flow.addWidget(other)
    settle()
    assert other.x() > words.x() + words.width()
    words.hide()
    settle()
    assert other.x() == 0
