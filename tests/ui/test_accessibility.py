"""The whole real window for people who do not see it well or use no mouse.

Processes look at every tab and dialog (`drive_looking`), one per way of Tab and per factor of the
screen; the tests judge what they found.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAccessible, QColor, QTextCursor
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from tests.ui import looking
from ui import strings
from ui.code_highlighter import _TINTS
from ui.controls import button, icon_button
from ui.conversation_page import ConversationPage
from ui.main_window import MainWindow
from ui.message_body import MessageBody
from ui.theme import DARK, LIGHT, Tokens, theme
from ui.views import NoticeView, TabView, TurnView

ROOT = Path(__file__).resolve().parents[2]
MAY_LACK_TAB = ("CommandPalette", "Jump to latest")
"""The palette's list is moved from its field; the button comes and goes while Tab walks."""

Report = dict[str, list[str]]


ROOMS = {"1": "1,2", "1.25": "0.85", "1.5": "1.5", "2": "1"}
"""Factors of a screen that has room for 800×600 in each, and the sizes of text looked at there."""

PLACES = {
    "chat", "chat-notice-find", "chat-panel", "chat-sidebar",
    "models", "models-downloads", "tools", "tools-consent", "tools-structured",
    "benchmark", "benchmark-result", "benchmark-running",
    "settings-0", "settings-1", "settings-2", "settings-3", "settings-4", "settings-5",
    "palette", "switch_model", "load_settings", "shortcuts", "about", "about-licences", "logs",
    "servers", "add-model", "add-model-found", "details", "token", "storage", "crash", "question",
    "prompt", "load", "picker",
}  # fmt: skip


def look(folder: Path, mode: str, factor: str = "1", scales: str = "1") -> Report:
    """What one process finds."""
    folder.mkdir()
    target, screen = folder / "report.json", folder / "screen.json"
    wide, high = round(800 * float(factor)), round(600 * float(factor))
    if mode == "walk":
        wide, high = 1600, 1000
    one = {"name": "s", "x": 0, "y": 0, "width": wide, "height": high, "logicalDpi": 96,
           "logicalBaseDpi": 96, "dpr": 1}  # fmt: skip
    screen.write_text(json.dumps({"synchronousWindowSystemEvents": False, "screens": [one]}))
    env = dict(
        os.environ, TANDEM_HOME=str(folder / "home"), TANDEM_TEST_REPORT=str(target),
        TANDEM_TEST_SCALES=scales, QT_SCALE_FACTOR=factor,
        QT_QPA_PLATFORM=f"offscreen:configfile={screen}",
    )  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", "tests.ui.drive_looking", mode],
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


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Report]:
    """By "walk" or the factor; they wait more than they work, so three at a time."""
    folder = tmp_path_factory.mktemp("looking")
    with ThreadPoolExecutor(3) as some:
        jobs = {"walk": some.submit(look, folder / "walk", "walk")}
        for factor, scales in ROOMS.items():
            jobs[factor] = some.submit(look, folder / factor, "room", factor, scales)
        return {name: job.result() for name, job in jobs.items()}


@pytest.fixture(scope="module")
def report(reports: dict[str, Report]) -> Report:
    return {f"{n} {place}": v for n, r in reports.items() for place, v in r.items()}


def findings(report: Report, *starts: str) -> list[str]:
    return sorted(
        {
            f"{place}: {line}"
            for place, lines in report.items()
            for line in lines
            if not place.endswith((" announced", " keyboard")) and line.startswith(starts)
            and not any(word in line for word in MAY_LACK_TAB)
        }
    )  # fmt: skip


def test_the_look_saw_everything(reports: dict[str, Report]) -> None:
    assert set(reports["walk"]) >= PLACES
    for factor, scales in ROOMS.items():
        for scale in map(float, scales.split(",")):
            tag = f"-{round(scale * 100)}-{'dark' if scale > 1 else 'light'}"
            assert set(reports[factor]) >= {f"{place}{tag}" for place in PLACES}


def test_every_control_has_a_name_and_a_role(report: Report) -> None:
    assert findings(report, "no name", "markup", "role") == []


def test_tab_comes_everywhere_and_leaves_again(report: Report) -> None:
    assert findings(report, "no Tab", "trap", "nothing takes") == []


def test_the_focus_is_seen_wherever_tab_comes(report: Report) -> None:
    assert findings(report, "focus is not seen") == []


def test_words_and_pictures_stand_out_as_they_are_painted(report: Report) -> None:
    """Looked at where letters are large: 200 % of the text in dark, a factor of 2 in light."""
    assert findings(report, "faint") == []


def test_nothing_is_cut_at_800_by_600(report: Report) -> None:
    """Words are whole or told in a tooltip, nothing lies over another, no page is wider than its
    window, no dialog larger than the screen, at every factor and from 85 % to 200 % of the text."""
    assert findings(report, "width", "height", "only", "over each", "shortened", "larger") == []


def test_the_end_of_an_answer_is_said(report: Report) -> None:
    assert report["walk announced"] == [strings.ANNOUNCE_FINISHED, strings.ANNOUNCE_STOPPED]


def test_everything_works_by_keys_alone(report: Report) -> None:
    assert report["walk keyboard"] == []


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
    "muted": ("bg", "side", "panel", "user", "code", "accent_soft", "bad_soft", "warn_soft",
              "line"),
    "accent": ("bg", "side", "panel", "user", "code", "accent_soft", "warn_soft", "line"),
    "on_accent": ("accent", "accent_hover"),
    "bad": ("bg", "side", "panel", "code", "bad_soft", "warn_soft", "line"),
    "warn": ("bg", "panel", "code", "warn_soft", "accent_soft", "bad_soft"),
    "pill_text": ("pill", "panel"),
}  # fmt: skip
"""Every colour of words and what it stands on: in the style sheet, in what lists, charts and code
paint themselves, under the mouse, in a hit of a search."""

SEEN_ON = {"accent": ("bg", "panel"), "faint": ("bg", "panel"), "bar": ("bg", "panel", "code"),
           "muted": ("panel",), "warn": ("panel",), "bad": ("panel",)}  # fmt: skip
"""What is no words: the ring of the focus, what cannot be used now, bars and lines of charts."""


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
    pale = {
        f"{front} on {back}"
        for front, backs in SEEN_ON.items()
        for back in backs
        if contrast(getattr(tokens, front), getattr(tokens, back)) < 3
    }
    assert pale == set()


def test_the_style_sheet_uses_no_other_pair() -> None:
    sheet = (ROOT / "resources" / "styles" / "tandem.qss").read_text(encoding="utf-8")
    for rule in re.findall(r"\{([^}]*)\}", sheet):
        fronts = re.findall(r"(?:^|[\s;])(?:placeholder-text-|selection-)?color: @(\w+)", rule)
        ground = re.search(r"(?:^|[\s;])background: @(\w+)", rule)
        for front in set(fronts) - {"faint"}:
            assert front in READ_ON, rule
            if ground:
                assert ground[1] in READ_ON[front], rule


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
