"""Inspector, presets of it, settings dialog, palette, strip: values in, signals out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QCheckBox, QComboBox, QPushButton
from pytestqt.qtbot import QtBot

from app import settings_controller
from engine.types import Backend, Sampling, SpecMode
from tests.fakes.pictures import png
from ui import shortcuts_page
from ui import strings_history as words
from ui.attachment_strip import AttachmentStrip, thumbnail
from ui.chat_settings_panel import ChatSettingsPanel
from ui.command_palette import Command, CommandPalette, score
from ui.generation_block import GenerationBlock, GenerationValues, GenerationView
from ui.load_block import LoadBlock
from ui.log_dialog import LogDialog, LogText
from ui.number_field import NumberField
from ui.settings_dialog import SettingsDialog, SettingsView
from ui.views import AttachmentView, BackendChoice, LoadChoice, LoadDialogView, SpecChoice

LOAD = LoadDialogView(
    model="demo",
    path="/demo.litertlm",
    backends=(
        BackendChoice(backend=Backend.CPU),
        BackendChoice(backend=Backend.GPU, reason="Not available: no driver"),
    ),
    context_tokens=1024,
    max_context=2048,
)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("0.5", ""),
        ("0,5", ""),
        (" 1 ", ""),
        ("", words.BAD_NUMBER),
        ("abc", words.BAD_NUMBER),
        ("nan", words.BAD_NUMBER),
        ("inf", words.BAD_NUMBER),
        ("1e99", words.BAD_NUMBER),
        ("5.1", "From 0 to 5."),
        ("-1", "From 0 to 5."),
    ],
)
def test_numbers_are_checked_beside_their_field(qtbot: QtBot, text: str, problem: str) -> None:
    field = NumberField("Temperature", 0, 5)
    qtbot.addWidget(field)
    field.set_value(0.8)
    edits: list[bool] = []
    field.edited.connect(lambda: edits.append(True))
    field.field.clear()
    field.field.textEdited.emit("")
    edits.clear()
    field.field.setText(text)
    field.field.textEdited.emit(text)
    assert field.problem.text() == problem
    assert field.field.accessibleDescription() == problem
    assert bool(edits) is (problem == "")
    assert field.value == (float(text.replace(",", ".")) if not problem else 0.8)


def test_whole_and_optional_numbers(qtbot: QtBot) -> None:
    field = NumberField("Seed", 0, 100, whole=True, optional=True)
    qtbot.addWidget(field)
    assert field.value is None
    qtbot.keyClicks(field.field, "1.5")
    assert field.problem.text() == words.BAD_WHOLE
    field.set_value(42)
    assert (field.field.text(), field.whole_value) == ("42", 42)
    field.field.selectAll()
    qtbot.keyClick(field.field, Qt.Key.Key_Delete)
    assert field.value is None
    assert field.valid


def test_generation_changes_are_emitted_together(qtbot: QtBot) -> None:
    block = GenerationBlock()
    qtbot.addWidget(block)
    block.set_view(GenerationView(values=GenerationValues(system="old")))
    changes: list[GenerationValues] = []
    block.changed.connect(changes.append)
    block.system.setPlainText("Be brief.")
    block.top_k.field.selectAll()
    qtbot.keyClicks(block.top_k.field, "1")
    block.seed.field.selectAll()
    qtbot.keyClicks(block.seed.field, "7")
    qtbot.waitUntil(lambda: bool(changes), timeout=30_000)
    assert changes == [GenerationValues(system="Be brief.", sampling=Sampling(top_k=1, seed=7))]


def test_a_bad_value_is_not_emitted(qtbot: QtBot) -> None:
    block = GenerationBlock()
    qtbot.addWidget(block)
    changes: list[GenerationValues] = []
    block.changed.connect(changes.append)
    block.temperature.field.setText("9")
    block.temperature.field.textEdited.emit("9")
    block.flush()
    assert changes == []
    assert block.temperature.problem.text() == "From 0 to 5."


def test_speculation_and_thinking_show_what_counts(qtbot: QtBot) -> None:
    block = GenerationBlock()
    qtbot.addWidget(block)
    block.show()
    block.set_view(GenerationView(speculating=True, supports_thinking=False))
    assert block.no_effect.isVisible()
    assert block.no_thinking.isVisible()
    assert not block.thinking.isVisible()
    block.set_view(GenerationView(supports_thinking=True))
    assert not block.no_effect.isVisible()
    assert block.thinking.isVisible()
    assert not block.budget.isVisible()
    block.thinking.click()
    assert block.budget.isVisible()
    block.flush()
    assert block.values().thinking
    block.set_view(GenerationView())
    assert not block.no_thinking.isVisible()


def test_speculation_is_chosen_where_the_file_has_a_drafter(qtbot: QtBot) -> None:
    block = GenerationBlock()
    qtbot.addWidget(block)
    block.show()
    block.set_view(GenerationView())
    assert not block.spec.isVisible()
    texts = {SpecMode.ON: "1.42× faster here"}
    spec = SpecChoice(available=True, mode=SpecMode.OFF, texts=texts)
    block.set_view(GenerationView(spec=spec))
    assert block.spec.isVisible()
    assert block.spec.currentData() == "off"
    assert block.temperature.name.text() == words.TEMPERATURE
    chosen: list[str] = []
    changes: list[GenerationValues] = []
    block.spec_changed.connect(chosen.append)
    block.changed.connect(changes.append)
    block.spec.setFocus()
    qtbot.keyClick(block.spec, Qt.Key.Key_Down)
    assert chosen == ["on"]
    block.set_view(GenerationView(spec=replace(spec, mode=SpecMode.ON), speculating=True))
    assert block.spec.currentData() == "on"
    assert block.spec_text.text() == "1.42× faster here"
    for field in (block.temperature, block.top_p, block.top_k, block.seed):
        assert "no effect" in field.name.text()
        assert field.field.accessibleDescription() == words.NO_EFFECT_WHY
        assert field.isEnabled()
    assert "no effect" not in block.limit.name.text()
    block.set_view(GenerationView(spec=spec))
    assert block.seed.name.text() == words.SEED
    assert block.seed.field.accessibleDescription() == ""
    block.flush()
    assert changes == []


def test_the_tools_switch_is_there_when_the_model_can(qtbot: QtBot) -> None:
    block = GenerationBlock()
    qtbot.addWidget(block)
    block.show()
    block.set_view(GenerationView(supports_tools=False))
    assert block.no_tools.isVisible()
    assert not block.tools.isVisible()
    block.set_view(GenerationView(supports_tools=True))
    assert not block.no_tools.isVisible()
    changes: list[GenerationValues] = []
    block.changed.connect(changes.append)
    block.tools.click()
    block.flush()
    assert changes == [GenerationValues(tools=True)]


def test_the_log_shows_its_end_and_can_be_copied(qtbot: QtBot) -> None:
    lines = "\n".join(f"line {n} {'x' * 300}" for n in range(500))
    dialog = LogDialog((LogText("Engine", "/logs/engine.log", lines), LogText("Window", "/w", "")))
    qtbot.addWidget(dialog)
    dialog.open()
    bar = dialog.text.verticalScrollBar()
    qtbot.waitUntil(lambda: bar.maximum() > 0 and bar.value() == bar.maximum())
    assert dialog.text.blockCount() == 500
    assert dialog.path.full_text() == "/logs/engine.log"
    button = next(b for b in dialog.findChildren(QPushButton) if b.text() == "Copy")
    button.click()
    assert QApplication.clipboard().text() == lines
    dialog.choice.setCurrentIndex(1)
    assert dialog.text.toPlainText() == "Nothing was logged yet."


def test_load_changes_wait_for_apply(qtbot: QtBot) -> None:
    block = LoadBlock()
    qtbot.addWidget(block)
    block.show()
    block.set_view(LOAD)
    assert not block.pending.isVisible()
    assert block.reason.text() == "GPU: not available: no driver"
    applied: list[LoadChoice] = []
    block.applied.connect(applied.append)
    block.context.field.selectAll()
    qtbot.keyClicks(block.context.field, "512")
    assert block.pending.isVisible()
    assert applied == []
    block.set_view(LOAD)
    assert block.context.field.text() == "512"
    block.revert.click()
    assert block.context.field.text() == "1024"
    assert not block.pending.isVisible()
    block.context.field.selectAll()
    qtbot.keyClicks(block.context.field, "9999")
    assert block.context.problem.text() == "From 256 to 2048."
    assert not block.apply.isEnabled()
    block.context.field.selectAll()
    qtbot.keyClicks(block.context.field, "512")
    block.apply.click()
    assert [a.context_tokens for a in applied] == [512]
    block.set_view(None)
    assert block.none.isVisible()


def test_presets_of_the_panel(qtbot: QtBot) -> None:
    panel = ChatSettingsPanel()
    qtbot.addWidget(panel)
    panel.set_presets(("Brief", "Story"), "Story", "Brief")
    assert panel.presets.currentText() == "Story"
    applied: list[str] = []
    panel.preset_applied.connect(applied.append)
    panel.presets.setCurrentIndex(1)
    panel.presets.activated.emit(1)
    assert applied == ["Brief"]
    default: list[str] = []
    panel.preset_default_set.connect(default.append)
    menu = panel.preset_menu()
    use = next(a for a in menu.actions() if a.text() == words.PRESET_DEFAULT)
    assert use.isChecked()
    use.trigger()
    assert default == [""]
    menu.close()


PLACES = {key: f"/somewhere/{key}" for key in words.PLACES}


def test_settings_act_at_once(qtbot: QtBot) -> None:
    dialog = SettingsDialog(None, SettingsView(places=PLACES, presets=("Brief",)))
    qtbot.addWidget(dialog)
    changes: list[tuple[str, object]] = []
    dialog.changed.connect(lambda name, value: changes.append((name, value)))
    boxes = {b.accessibleName(): b for b in dialog.findChildren(QComboBox)}
    boxes[words.THEME].activated.emit(2)
    boxes[words.TEXT_SIZE].activated.emit(3)
    boxes[words.ENTER_KEY].activated.emit(1)
    boxes[words.DEFAULT_PRESET].activated.emit(1)
    checks = {b.accessibleName(): b for b in dialog.findChildren(QCheckBox)}
    checks[words.LOAD_AT_START].click()
    checks[words.FOOTER].click()
    assert changes == [
        ("theme", "dark"),
        ("text_size", 18),
        ("enter_sends", False),
        ("default_preset", "Brief"),
        ("load_at_start", False),
        ("show_footer", False),
    ]
    assert {name for name, _ in changes} - {"default_preset"} <= settings_controller.FIELDS


def test_settings_search_and_sections(qtbot: QtBot) -> None:
    dialog = SettingsDialog(None, SettingsView(places=PLACES))
    qtbot.addWidget(dialog)
    dialog.show()
    sections = {s.key: s for s in dialog.sections}
    assert [k for k, s in sections.items() if s.isVisible()] == ["appearance"]
    dialog.search.setText("cache")
    visible = [k for k, s in sections.items() if s.isVisible()]
    assert "engine" in visible
    assert "storage" in visible
    assert "appearance" not in visible
    dialog.search.setText("qqq")
    assert dialog.none.isVisible()
    dialog.show_section("shortcuts")
    assert sections["shortcuts"].isVisible()
    assert len(sections["shortcuts"].rows) == len(shortcuts_page.shortcuts())
    dialog.search.setText("hugging face")
    assert [k for k, s in sections.items() if s.isVisible()] == ["privacy"]
    asked: list[str] = []
    dialog.manage_requested.connect(asked.append)
    for managed in sections["privacy"].findChildren(QPushButton):
        managed.click()
    assert asked == ["token", "servers"]
    asked.clear()
    dialog.clear_requested.connect(asked.append)
    dialog.open_folder_requested.connect(asked.append)
    dialog.places["cache"].clear.click()
    dialog.places["logs"].open.click()
    assert asked == ["cache", "logs"]
    dialog.set_sizes({"history": 12_000_000, "logs": None})
    assert dialog.places["history"].size_label.text() == "12 MB"
    assert dialog.places["logs"].size_label.text() == "—"


def test_fuzzy_matching_prefers_word_starts() -> None:
    assert score("exp", "Export conversation") > score("exp", "Unexpected things")
    assert score("nc", "New chat") > 0
    assert score("zq", "New chat") == 0
    assert score("chat new", "New chat") > 0


def test_palette_runs_the_chosen_command(qtbot: QtBot) -> None:
    commands = [Command("a", "New chat", "Ctrl+N"), Command("b", "Export conversation…")]
    palette = CommandPalette(None, commands)
    palette.show()
    qtbot.keyClicks(palette.field, "exp")
    assert palette.list.count() == 1
    with qtbot.waitSignal(palette.chosen) as chosen:
        qtbot.keyClick(palette.field, Qt.Key.Key_Return)
    assert chosen.args == ["b"]


def test_palette_keys_move_and_nothing_matches(qtbot: QtBot) -> None:
    palette = CommandPalette(None, [Command(str(n), f"Command {n}") for n in range(20)])
    palette.show()
    for key, row in ((Qt.Key.Key_Down, 1), (Qt.Key.Key_PageDown, 9), (Qt.Key.Key_Up, 8)):
        qtbot.keyClick(palette.field, key)
        assert palette.list.currentRow() == row
    qtbot.keyClicks(palette.field, "zzz")
    assert palette.none.isVisible()
    qtbot.keyClick(palette.field, Qt.Key.Key_Return)
    assert palette.isVisible()
    palette.reject()


def test_strip_shows_and_removes(qtbot: QtBot, tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(png(300, 100))
    strip = AttachmentStrip()
    qtbot.addWidget(strip)
    assert strip.isHidden()
    strip.set_items(
        [
            AttachmentView(
                id="1", kind="image", name="a.png", bytes=10, path=str(tmp_path / "a.png")
            ),
            AttachmentView(id="2", kind="audio", name="b.wav", bytes=2000),
        ]
    )
    assert not strip.isHidden()
    removed: list[str] = []
    strip.removed.connect(removed.append)
    strip._chips[1].remove.click()
    assert removed == ["2"]
    small = thumbnail(str(tmp_path / "a.png"), 40, 2.0)
    assert (small.width(), small.height()) == (80, 26)
    assert thumbnail(str(tmp_path / "missing.png"), 40, 1.0).isNull()
    strip.set_items([])
    assert strip.isHidden()
