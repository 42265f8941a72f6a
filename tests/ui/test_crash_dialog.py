"""The problem report's dialog and what the program offers after a crash."""

from __future__ import annotations

import zipfile
from functools import partial
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.crash_report import AppCrash
from tests.e2e.scenarios import Person
from tests.fakes.scripted_engine import Crash, Say, ScriptedEngine
from tests.fakes.window_run import Run, run_window
from ui import strings_report as words
from ui.crash_dialog import CrashDialog

TOKEN = "hf_AbCdEfGhIjKlMnOpQrSt"


def test_parts_can_be_read_before_they_are_saved(qtbot: QtBot) -> None:
    dialog = CrashDialog(None, words.CAUSES["memory"], True)
    qtbot.addWidget(dialog)
    dialog.open()
    dialog.set_files((("report.json", "{}"), ("app.log", "line")))
    assert dialog.preview.toPlainText() == "{}"
    dialog.part.setCurrentIndex(1)
    dialog.set_files((("report.json", "{}"), ("app.log", "line"), ("conversation-1.md", "hello")))
    assert dialog.preview.toPlainText() == "line"
    assert "not enough memory" in dialog.cause.text()
    with qtbot.waitSignal(dialog.include_changed) as told:
        dialog.include.click()
    assert told.args == [True]
    with qtbot.waitSignal(dialog.save_requested):
        dialog.save.click()


def test_without_cause_and_text_nothing_is_shown_of_them(qtbot: QtBot) -> None:
    dialog = CrashDialog(None, "", False)
    qtbot.addWidget(dialog)
    dialog.open()
    assert not dialog.cause.isVisible()
    assert not dialog.include.isVisible()


@pytest.fixture
def run(qapp: QApplication, tandem_home: Path) -> Run:
    return partial(run_window, qapp)


def test_an_engine_crash_can_be_saved_with_text_only_when_ticked(run: Run, tmp_path: Path) -> None:
    engine = ScriptedEngine([[Say("secret answer"), Crash()]])

    async def body(me: Person) -> None:
        await me.ready()
        await me.ask("secret question")
        await me.until(lambda: me.notice() == "crashed")
        await me.press(words.SAVE_REPORT)
        report = me.program.report
        await me.until(lambda: report.dialog is not None)
        assert me.notice() == "crashed", "the offer to restart stays"
        for ticked in (False, True):
            if ticked:
                assert report.dialog is not None
                report.dialog.include.click()
                await me.until(lambda: "conversation-1.md" in report._files)
            target = tmp_path / f"report-{ticked}"
            files = dict(report._files)
            assert await report.write(target, files)
            with zipfile.ZipFile(target.with_name(target.name + ".zip")) as zipped:
                whole = "".join(zipped.read(n).decode() for n in zipped.namelist())
            assert ("secret question" in whole) is ticked
            assert '"exit": "' in whole
            if not ticked:
                report.open()
                await me.until(lambda: report.dialog is not None)

    run(engine, body)


def test_the_start_after_a_crash_offers_the_report(run: Run) -> None:
    async def body(me: Person) -> None:
        await me.ready()
        me.program.report.app_crashed(AppCrash(f"Fatal Python error: Aborted\n {TOKEN}"))
        assert me.notice() == "app_crashed"
        me.window.action("save_report").trigger()
        report = me.program.report
        await me.until(lambda: report.dialog is not None)
        assert "crash.txt" in report._files
        assert not any(TOKEN in text for text in report._files.values())
        assert report.dialog is not None
        report.dialog.reject()
        await me.until(lambda: report.dialog is None)

    run(ScriptedEngine(), body)
