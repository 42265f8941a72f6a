"""The Tools tab offscreen: what is shown and what is emitted."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QLabel, QLineEdit, QPlainTextEdit
from pytestqt.qtbot import QtBot

from engine.types import Constraint, ConstraintKind
from ui import tool_strings as words
from ui.theme import theme
from ui.tool_servers_dialog import ServersDialog
from ui.tool_views import (
    AskView,
    ConsentView,
    FormResultView,
    LogEntryView,
    ServerView,
    ToolGroupView,
    ToolView,
)
from ui.tools_tab import ToolsTab

LEFT = Qt.MouseButton.LeftButton


def group(*tools: ToolView, **fields: object) -> ToolGroupView:
    return ToolGroupView(source="t", title="Group", tools=tools, **fields)  # type: ignore[arg-type]


def tool(name: str = "calculate", **fields: object) -> ToolView:
    made = {"description": "Works out.", "schema": '{"type": "object"}', **fields}
    return ToolView(name=name, **made)  # type: ignore[arg-type]


@pytest.fixture
def tab(qtbot: QtBot) -> ToolsTab:
    theme().apply(mode="light", scale=1.0)
    made = ToolsTab()
    qtbot.addWidget(made)
    made.resize(1000, 700)
    made.show()
    return made


def test_tools_show_and_tell(tab: ToolsTab, qtbot: QtBot) -> None:
    tab.tools.set_groups((group(tool(), tool("read", files=("a.txt",))),))
    row = tab.tools.rows["calculate"]
    assert row.on.isChecked()
    assert row.ask.isChecked()
    assert not row.schema.isVisible()
    row.show_schema.click()
    assert row.schema.isVisible()
    assert row.schema.toPlainText() == '{"type": "object"}'
    with qtbot.waitSignal(tab.tools.enabled_changed) as told:
        row.on.click()
    assert told.args == ["calculate", False]
    assert not row.ask.isEnabled()
    with qtbot.waitSignal(tab.tools.ask_changed) as told:
        tab.tools.rows["read"].ask.click()
    assert told.args == ["read", False]
    buttons = tab.tools.rows["read"].findChildren(QAbstractButton)
    with qtbot.waitSignal(tab.tools.file_removed) as told:
        next(b for b in buttons if b.accessibleName() == "Remove a.txt").click()
    assert told.args == ["read", "a.txt"]
    with qtbot.waitSignal(tab.tools.file_wanted):
        next(b for b in buttons if b.text() == words.CHOOSE_FILE).click()


def test_a_switch_does_not_rebuild_the_list(tab: ToolsTab) -> None:
    tab.tools.set_groups((group(tool()),))
    row = tab.tools.rows["calculate"]
    tab.tools.set_groups((group(tool(ask=False, enabled=False)),))
    assert tab.tools.rows["calculate"] is row
    assert not row.on.isChecked()
    assert not row.ask.isChecked()
    tab.tools.set_groups((group(tool(), tool("new")),))
    assert list(tab.tools.rows) == ["calculate", "new"]


def test_failed_server_says_why(tab: ToolsTab) -> None:
    tab.tools.set_groups((group(tool()), group(phase="failed", reason="It ended.")))
    texts = [label.text() for label in tab.tools.findChildren(QLabel)]
    assert "failed" in texts
    assert "It ended." in texts


def test_asking(tab: ToolsTab, qtbot: QtBot) -> None:
    page = tab.ask
    tab.set_view(AskView())
    with qtbot.waitSignal(page.asked) as told:
        page.suggestions[0].click()
    assert told.args == [words.SUGGESTIONS[0][1]]
    page.input.setText("  What?  ")
    with qtbot.waitSignal(page.asked) as told:
        qtbot.keyClick(page.input, Qt.Key.Key_Return)
    assert told.args == ["What?"]
    assert page.input.text() == ""
    tab.set_view(AskView(state="busy"))
    assert page.send.text() == words.STOP
    assert page.input.isEnabled(), "the focus stays in the box"
    page.input.setText("Next?")
    with qtbot.assertNotEmitted(page.asked):
        qtbot.keyClick(page.input, Qt.Key.Key_Return)
    with qtbot.waitSignal(page.stopped):
        page.send.click()
    tab.set_view(AskView(state="stopping"))
    assert not page.send.isEnabled()


def test_log_lines(tab: ToolsTab) -> None:
    log = tab.ask.log
    assert log.empty.isVisible()
    log.put(LogEntryView(key="1", kind="you", text="What is <b>7*6</b>?"))
    log.put(LogEntryView(key="2", kind="call", name="calculate", text='{"expression": "7*6"}'))
    log.put(LogEntryView(key="3", kind="result", text='{"result": 42}', seconds=0.25))
    log.put(LogEntryView(key="4", kind="model", text="It"))
    log.put(LogEntryView(key="4", kind="model", text="It is 42.", seconds=1.5, numbers="9 tok/s"))
    log.put(LogEntryView(key="5", kind="result", text="Refused.", state="refused"))
    log.put(LogEntryView(key="6", kind="model_no_call", text="Hi."))
    assert log.texts() == [
        "You: What is <b>7*6</b>?",
        '→ calculate({"expression": "7*6"})',
        '← {"result": 42}',
        "Model: It is 42.",
        "← refused: Refused.",
        "Model (no tool call): Hi.",
    ]
    assert not log.empty.isVisible()
    assert log.entries["3"].seconds.text() == "0.25 s"
    assert log.entries["4"].numbers.text() == "9 tok/s"
    assert log.entries["1"].text.textFormat() == Qt.TextFormat.PlainText
    assert log.entries["4"].accessibleName() == "Model: It is 42."
    tab.ask.clear.click()
    assert log.texts() == []
    assert log.empty.isVisible()


def test_log_page_is_as_tall_as_its_text_and_follows_the_end(tab: ToolsTab, qtbot: QtBot) -> None:
    log = tab.ask.log
    for number in range(60):
        log.put(LogEntryView(key=str(number), kind="model", text="word " * 60))
    bar = log.verticalScrollBar()
    qtbot.waitUntil(lambda: bar.maximum() > 0 and bar.value() == bar.maximum(), timeout=30_000)
    last = log.entries["59"]
    bottom = last.mapTo(log.viewport(), last.rect().bottomLeft()).y()
    assert 0 <= log.viewport().height() - bottom < 80
    bar.setValue(0)
    log.put(LogEntryView(key="new", kind="model", text="word " * 60))
    qtbot.wait(20)
    assert bar.value() == 0, "a reader further up is left alone"
    tab.resize(560, 500)
    qtbot.waitUntil(lambda: last.width() < 540, timeout=30_000)
    assert last.text.height() >= last.text.heightForWidth(last.text.width())


@pytest.mark.parametrize(("index", "answer"), [(0, "once"), (1, "always"), (2, "refuse")])
def test_consent_is_inline(tab: ToolsTab, qtbot: QtBot, index: int, answer: str) -> None:
    log = tab.ask.log
    log.set_consent(ConsentView(id="c1", name="greet", source="srv", arguments='{"a": 1}'))
    card = log.consent
    assert card is not None
    assert "greet" in card.accessibleName()
    assert "srv" in card.accessibleName()
    assert any('{"a": 1}' in label.text() for label in card.findChildren(QLabel))
    chosen = list(card.buttons.values())[index]
    assert not chosen.isDefault()
    with qtbot.waitSignal(tab.ask.consent_answered) as told:
        chosen.click()
    assert told.args == ["c1", answer]
    log.set_consent(None)
    assert log.consent is None


@pytest.mark.parametrize("problem", ["no_model", "no_support", "no_tools"])
def test_why_nothing_can_be_asked(tab: ToolsTab, qtbot: QtBot, problem: str) -> None:
    tab.set_view(AskView(problem=problem, model="Demo"))
    assert tab.ask.problem.isVisible()
    assert tab.ask.problem.title.text()
    assert not tab.ask.send.isEnabled()
    assert not tab.ask.suggestions[0].isEnabled()
    if problem == "no_support":
        assert "Demo" in tab.ask.problem.title.text()
        tab.ask.problem.structured.click()
        assert tab.pages.currentIndex() == 1
        assert tab.structured.send.isEnabled(), "structured answers need no tool support"
    if problem == "no_model":
        with qtbot.waitSignal(tab.model_wanted):
            tab.ask.problem.model.click()


def test_structured_page(tab: ToolsTab, qtbot: QtBot) -> None:
    page = tab.structured
    tab.show_page(1)
    tab.set_view(AskView())
    assert page.constraint().kind is ConstraintKind.JSON_SCHEMA
    with qtbot.waitSignal(page.form_changed) as told:
        page.fields.kinds["regex"].click()
    assert told.args[0].kind is ConstraintKind.REGEX
    page.fields.text.setPlainText("yes|no\n")
    page.input.setText("Is it?")
    with qtbot.waitSignal(page.sent) as told:
        page.send.click()
    assert told.args == ["Is it?", Constraint(ConstraintKind.REGEX, "yes|no")]
    page.set_form_problem("The regex is empty.")
    assert page.fields.problem.isVisible()
    with qtbot.assertNotEmitted(page.sent):
        qtbot.keyClick(page.input, Qt.Key.Key_Return)
    page.set_form_problem("")
    page.set_result(FormResultView(text="yes", sentence="Valid.", valid=True, note="Off."))
    assert page.verdict.text() == words.CHECKED_VALID
    assert page.verdict.isVisible()
    assert page.note.isVisible()
    page.set_result(FormResultView(text="ye", sentence="Not valid.", valid=False))
    assert page.verdict.text() == words.CHECKED_INVALID
    page.set_result(FormResultView(sentence="No model.", failed=True))
    assert not page.verdict.isVisible()
    for action in page.fields.examples.menu().actions():
        action.trigger()
        assert page.fields.text.toPlainText()
        assert page.input.text()


def test_servers_dialog(qtbot: QtBot) -> None:
    dialog = ServersDialog()
    qtbot.addWidget(dialog)
    dialog.set_servers((ServerView(name="old", command="x", phase="failed", reason="It ended."),))
    dialog.show()
    assert any(w.text() == "It ended." for w in dialog.rows["old"].findChildren(QLabel))
    form = dialog.form
    for name, command, env, problem in (
        ("", "x", "", words.NAME_MISSING),
        ("old", "x", "", words.NAME_TAKEN),
        ("new", " ", "", words.COMMAND_MISSING),
        ("new", "x", "nonsense", words.ENV_WRONG),
    ):
        form.name.setText(name)
        form.command.setText(command)
        form.env.setPlainText(env)
        with qtbot.assertNotEmitted(dialog.added):
            form.add.click()
        assert form.problem.text() == problem
        assert form.problem.isVisible()
    form.args.setPlainText("-m\nweather server\n")
    form.env.setPlainText("KEY=a=b\n")
    with qtbot.waitSignal(dialog.added) as told:
        form.add.click()
    view = told.args[0]
    assert (view.name, view.command, view.args, view.env) == (
        "new",
        "x",
        ("-m", "weather server"),
        (("KEY", "a=b"),),
    )
    assert form.name.text() == ""
    buttons = dialog.rows["old"].findChildren(QAbstractButton)
    for text, signal in (
        (words.REMOVE, dialog.removed),
        (words.RESTART, dialog.restarted),
        (words.SHOW_LOG, dialog.log_wanted),
    ):
        with qtbot.waitSignal(signal) as told:
            next(b for b in buttons if b.text() == text).click()
        assert told.args == ["old"]


def test_everything_has_a_name(tab: ToolsTab) -> None:
    tab.tools.set_groups((group(tool(), tool("read", files=("a.txt",))),))
    for box in tab.findChildren(QLineEdit) + tab.findChildren(QPlainTextEdit):
        assert box.accessibleName(), box
    for out in tab.findChildren(QAbstractButton):
        assert out.text() or out.accessibleName(), out


@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize(
    ("width", "height", "scale"), [(1280, 700, 1.0), (800, 520, 1.0), (1280, 700, 2.0)]
)
def test_nothing_is_cut(qtbot: QtBot, mode: str, width: int, height: int, scale: float) -> None:
    theme().apply(mode=mode, scale=scale)
    try:
        made = ToolsTab()
        qtbot.addWidget(made)
        made.resize(width, height)
        made.show()
        made.tools.set_groups((group(tool(), tool("read", files=("a.txt",))),))
        made.ask.log.put(LogEntryView(key="1", kind="call", name="x", text="y" * 500))
        for _ in range(5):  # a busy machine turns the loop once per wait
            qtbot.wait(5)
        assert made.width() == width, "the content asks for more than the window has"
        for area in (made.tools, made.ask.log):
            page = area.widget()
            assert page.width() <= area.viewport().width()
        for out in made.findChildren(QAbstractButton):
            if out.isVisible() and out.text():
                assert out.width() >= out.minimumSizeHint().width(), out.text()
    finally:
        theme().apply(mode="light", scale=1.0)
