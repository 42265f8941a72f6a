"""The whole real window for people who do not see it well or use no mouse.

One process looks at every tab and dialog (`drive_looking`); the tests judge what it found.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAccessible, QColor, QInputMethodEvent, QTextCursor
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from tests.ui import looking
from ui import strings
from ui.code_highlighter import _TINTS
from ui.composer import Composer
from ui.controls import button, icon_button
from ui.conversation_page import ConversationPage
from ui.main_window import MainWindow
from ui.message_body import MessageBody
from ui.theme import DARK, LIGHT, Tokens, theme
from ui.views import ComposerView, NoticeView, TabView, TurnView

ROOT = Path(__file__).resolve().parents[2]
MAY_LACK_TAB = ("CommandPalette", "Jump to latest")
"""The palette's list is moved from its field; the button comes and goes while Tab walks."""

Report = dict[str, list[str]]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    folder = tmp_path_factory.mktemp("looking")
    target = folder / "report.json"
    env = dict(os.environ, TANDEM_HOME=str(folder / "home"), TANDEM_TEST_REPORT=str(target))
    env.update(QT_QPA_PLATFORM="offscreen")
    done = subprocess.run(
        [sys.executable, "-m", "tests.ui.drive_looking", "both"],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        timeout=115,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    found: Report = json.loads(target.read_text())
    return found


def findings(report: Report, *starts: str) -> list[str]:
    return sorted(
        {
            f"{place}: {line}"
            for place, lines in report.items()
            for line in lines
            if place not in ("announced", "keyboard") and line.startswith(starts)
            and not any(word in line for word in MAY_LACK_TAB)
        }
    )  # fmt: skip


def test_the_look_saw_everything(report: Report) -> None:
    places = {name.split("-200")[0].split("-100")[0] for name in report}
    assert {"chat", "models", "tools", "benchmark", "settings-0", "settings-5", "palette",
            "switch_model", "load_settings", "about", "servers", "add-model", "details", "token",
            "storage", "crash", "question"} <= places  # fmt: skip
    assert {"chat-200-dark", "chat-100-light"} <= set(report)


def test_every_control_has_a_name_and_a_role(report: Report) -> None:
    assert findings(report, "no name", "markup", "role") == []


def test_tab_comes_everywhere_and_leaves_again(report: Report) -> None:
    assert findings(report, "no Tab", "trap", "nothing takes") == []


def test_nothing_is_cut_at_800_by_600(report: Report) -> None:
    """At 100 % in light and at 200 % in dark."""
    assert findings(report, "width", "height", "only", "over each", "shortened") == []
    dialogs = [f for f in findings(report, "") if " is " in f and "×" in f]
    assert dialogs == [], "dialogs stay within the screen"


def test_the_end_of_an_answer_is_said(report: Report) -> None:
    assert report["announced"] == [strings.ANNOUNCE_FINISHED, strings.ANNOUNCE_STOPPED]


def test_everything_works_by_keys_alone(report: Report) -> None:
    assert report["keyboard"] == []


@pytest.fixture
def window(qtbot: QtBot) -> MainWindow:
    theme().apply(mode="light", scale=1.0)
    made = MainWindow()
    made.allow_close()
    qtbot.addWidget(made)
    made.resize(1000, 700)
    made.show()
    return made


def conversation(window: MainWindow, qtbot: QtBot) -> ConversationPage:
    page = window.chat.add_conversation(TabView(key="a", title="First"))
    page.set_turns(
        [
            TurnView(node_id="u", role="user", text="hello <b>you</b>"),
            TurnView(node_id="a", role="assistant", text="**bold** and `code`\n\n- one\n- two"),
        ]
    )
    qtbot.waitUntil(lambda: not page.transcript._dirty)
    return page


def test_one_item_per_message_with_plain_text(window: MainWindow, qtbot: QtBot) -> None:
    conversation(window, qtbot)
    items = [
        item
        for item in looking.tree(QAccessible.queryAccessibleInterface(window))
        if item.role() == QAccessible.Role.ListItem
    ]
    names = [item.text(QAccessible.Text.Name) for item in items]
    assert names == [f"{strings.YOU}: hello <b>you</b>", "Answer: bold and code\none\ntwo"]
    lists = [
        item.text(QAccessible.Text.Name)
        for item in looking.tree(QAccessible.queryAccessibleInterface(window))
        if item.role() == QAccessible.Role.List
    ]
    assert "Conversation" in lists


def test_failures_are_said_at_once(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[tuple[str, bool]] = []

    def announce(_widget: object, text: str, assertive: bool = False) -> None:
        said.append((text, assertive))

    monkeypatch.setattr("ui.conversation_page.announce", announce)
    monkeypatch.setattr("ui.notice_bar.announce", announce)
    page = ConversationPage("k")
    qtbot.addWidget(page)
    page.append_turn(TurnView(node_id="a", role="assistant", status="streaming"))
    page.update_turn(
        TurnView(node_id="a", role="assistant", status="failed", error="The engine stopped.")
    )
    assert said
    assert "The engine stopped." in said[-1][0]
    assert said[-1][1]
    window = MainWindow()
    window.allow_close()
    qtbot.addWidget(window)
    window.show_notice(NoticeView(id="n", headline="Gone", text="It is gone.", level="bad"))
    assert said[-1] == ("Gone. It is gone.", True)


def test_focus_is_a_ring_of_two_pixels(window: MainWindow, qtbot: QtBot) -> None:
    for mode in ("light", "dark"):
        theme().apply(mode=mode)
        accent = QColor(theme().tokens.accent)
        for made in (button("Word", "small"), button("Word", "flat"), icon_button("more", "More")):
            made.setParent(window)
            made.resize(made.sizeHint())
            made.move(QPoint(40, 40))
            made.show()
            window.activateWindow()
            before = made.grab().toImage()
            made.setFocus(Qt.FocusReason.TabFocusReason)
            qtbot.waitUntil(made.hasFocus)
            after = made.grab().toImage()
            middle = after.width() // 2
            assert after.pixelColor(middle, 0) == accent
            assert after.pixelColor(middle, 1) == accent
            assert before.pixelColor(middle, 1) != accent
            assert after.size() == before.size(), "nothing moves when the focus comes"
            made.setParent(None)
            made.deleteLater()
    theme().apply(mode="light")


def test_an_input_method_keeps_its_keys(qtbot: QtBot) -> None:
    composer = Composer()
    composer.set_view(ComposerView(can_send=True))
    qtbot.addWidget(composer)
    composer.show()
    sent: list[str] = []
    composer.message_sent.connect(sent.append)
    edit = composer.edit
    edit.setFocus()
    QApplication.sendEvent(edit, QInputMethodEvent("にほ", []))
    qtbot.keyClick(edit, Qt.Key.Key_Return)
    assert sent == []
    done = QInputMethodEvent("", [])
    done.setCommitString("日本")
    QApplication.sendEvent(edit, done)
    qtbot.keyClick(edit, Qt.Key.Key_Return)
    assert sent == ["日本"]


def contrast(one: str, two: str) -> float:
    def light(color: QColor) -> float:
        parts = (color.redF(), color.greenF(), color.blueF())
        lin = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * lin[0] + 0.7152 * lin[1] + 0.0722 * lin[2]

    high, low = sorted((light(QColor(one)), light(QColor(two))), reverse=True)
    return (high + 0.05) / (low + 0.05)


READ_ON = {
    "text": ("bg", "side", "panel", "user", "code", "accent_soft", "selection", "bad_soft",
             "warn_soft", "line"),
    "muted": ("bg", "side", "panel", "code", "accent_soft"),
    "accent": ("bg", "side", "panel", "code", "accent_soft"),
    "on_accent": ("accent", "accent_hover"),
    "bad": ("bg", "panel", "code", "bad_soft"),
    "warn": ("bg", "panel", "code", "warn_soft"),
    "pill_text": ("pill",),
}  # fmt: skip
"""Every colour of words and what it stands on, links and hits of a search included."""


@pytest.mark.parametrize("tokens", [LIGHT, DARK], ids=["light", "dark"])
def test_words_are_readable(tokens: Tokens) -> None:
    weak = {
        f"{front} on {back}: {ratio:.2f}"
        for front, backs in READ_ON.items()
        for back in backs
        if (ratio := contrast(getattr(tokens, front), getattr(tokens, back))) < 4.5
    }
    assert weak == set()
    for _, tint in _TINTS:
        assert contrast(getattr(tokens, tint), tokens.code) >= 4.5, f"code in {tint}"
    for back in ("bg", "panel"):
        assert contrast(tokens.faint, getattr(tokens, back)) >= 3, "what cannot be used is seen"
        assert contrast(tokens.accent, getattr(tokens, back)) >= 3, "the focus ring is seen"


def test_another_theme_repaints_old_messages(window: MainWindow, qtbot: QtBot) -> None:
    page = conversation(window, qtbot)
    view = page.transcript.view_of("a")
    assert view is not None

    def color() -> str:
        document = view.findChildren(MessageBody)[0].document()
        if document.characterCount() < 5:  # being made anew
            return ""
        cursor = QTextCursor(document)
        cursor.setPosition(2)
        return cursor.charFormat().foreground().color().name().upper()

    assert color() == LIGHT.text.upper()
    theme().apply(mode="dark")
    qtbot.waitUntil(lambda: color() == DARK.text.upper())
    theme().apply(mode="light")
    qtbot.waitUntil(lambda: color() == LIGHT.text.upper())


def test_reduced_motion_stops_what_moves(qtbot: QtBot) -> None:
    app = QApplication.instance()
    assert isinstance(app, QApplication)
    theme().apply(reduced_motion=True)
    for effect in (Qt.UIEffect.UI_AnimateCombo, Qt.UIEffect.UI_AnimateMenu,
                   Qt.UIEffect.UI_FadeMenu, Qt.UIEffect.UI_AnimateTooltip):  # fmt: skip
        assert not app.isEffectEnabled(effect)
    theme().apply(reduced_motion=False)
