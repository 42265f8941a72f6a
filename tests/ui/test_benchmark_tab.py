"""The Benchmark tab as a person sees it: states, buttons, pictures, keyboard."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QContextMenuEvent, QImage, QPainter
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QApplication, QMenu, QPushButton
from pytestqt.qtbot import QtBot

from engine.types import Backend
from ui import bench_strings as words
from ui.bench_plot import EXPORT_SCALE, HEADING
from ui.bench_views import (
    BarRow,
    BenchChoice,
    HistoryRow,
    HistoryView,
    Line,
    Picture,
    ProgressView,
    ResultView,
    TargetView,
)
from ui.benchmark_tab import BenchmarkTab
from ui.theme import theme

TARGET = TargetView(models=(("/m/a", "Model A"), ("/m/b", "Model B")), path="/m/a", name="Model A")


def result(record_id: str = "one", **changes: object) -> ResultView:
    values: dict[str, object] = {
        "id": record_id,
        "value": "1.60×",
        "tone": "accent",
        "headline": words.VERDICTS["faster"],
        "detail": "95 % interval 1.51 – 1.69",
        "bars": (
            BarRow(label="Code", off=50.0, on=100.0, off_std=1.0, on_std=3.0, text="50.0 → 100.0"),
            BarRow(label="Q&A", off=51.0, on=74.0, text="51.0 → 74.0 tok/s"),
        ),
        "pictures": (
            Picture(
                key="depth",
                title="Over depth",
                x_label="x",
                y_label="y",
                level=1.0,
                lines=(Line(label="a", x=(0, 50), y=(1.5, 1.2), low=(1.4, 1.1), high=(1.6, 1.3)),),
            ),
            Picture(key="history", title="h", x_label="", y_label="", lines=(), empty="nothing"),
        ),
        "head": words.TABLE_HEAD,
        "rows": (("CPU",) + ("1",) * 8, ("Code",) + ("2",) * 8),
        "report": "the whole report",
        "command": "tandem bench",
    }
    return ResultView(**(values | changes))  # type: ignore[arg-type]


@pytest.fixture
def tab(qtbot: QtBot) -> BenchmarkTab:
    theme().apply(mode="light", scale=1.0)
    made = BenchmarkTab()
    qtbot.addWidget(made)
    made.resize(1280, 700)
    made.show()
    made.set_target(TARGET)
    return made


def click(qtbot: QtBot, target: QPushButton) -> None:
    qtbot.mouseClick(target, Qt.MouseButton.LeftButton)


def test_empty_state_offers_to_measure(tab: BenchmarkTab, qtbot: QtBot) -> None:
    tab.set_result(None)
    assert tab.empty.isVisible()
    with qtbot.waitSignal(tab.compare_requested) as asked:
        click(qtbot, tab.empty.measure)
    assert asked.args == [
        BenchChoice(
            workloads=("writing", "rewrite", "summary", "code", "qa", "translation"),
            per_class=2,
            runs=5,
        )
    ]


def test_ticked_boxes_are_what_is_asked(tab: BenchmarkTab) -> None:
    tab.setup.set_workloads(("code",))
    tab.setup.set_own_prompt("Hello there")
    tab.setup.depth_sweep.setChecked(True)
    next(a for a in tab.setup.runs_menu.actions() if a.text() == "10 runs").trigger()
    choice = tab.setup.choice()
    assert (choice.workloads, choice.runs) == (("code",), 10)
    assert (choice.own_prompt, choice.depth, choice.synthetic) == ("Hello there", True, False)
    assert tab.setup.workloads_button.text().startswith("Workloads: 2")


def test_compare_is_disabled_with_its_reason(tab: BenchmarkTab) -> None:
    tab.set_target(TargetView(path="/m/a", name="A", problem="No drafter here."))
    assert not tab.setup.compare_button.isEnabled()
    assert tab.setup.compare_button.toolTip() == "No drafter here."
    assert not tab.empty.measure.isEnabled()
    assert tab.empty.reason.text() == "No drafter here."
    tab.set_target(TARGET)
    tab.setup.set_workloads(())
    assert not tab.setup.compare_button.isEnabled()
    assert tab.setup.compare_button.toolTip() == words.NOTHING_CHOSEN


def test_choosing_a_backend_keeps_the_model(tab: BenchmarkTab, qtbot: QtBot) -> None:
    menu = tab.setup.target_button.menu()
    with qtbot.waitSignal(tab.target_chosen) as chosen:
        next(a for a in menu.actions() if a.text() == "GPU").trigger()
    assert chosen.args == ["/m/a", Backend.GPU.value]
    with qtbot.waitSignal(tab.target_chosen) as chosen:
        next(a for a in menu.actions() if a.text() == "Model B").trigger()
    assert chosen.args == ["/m/b", Backend.CPU.value]


def test_progress_and_cancel(tab: BenchmarkTab, qtbot: QtBot) -> None:
    tab.set_progress(ProgressView(title="Comparing", text="12 of 72", share=0.25))
    assert tab.progress.isVisible()
    assert tab.progress.bar.value() == 250
    assert not tab.setup.compare_button.isEnabled()
    with qtbot.waitSignal(tab.cancel_requested):
        click(qtbot, tab.progress.cancel)
    tab.set_progress(ProgressView(title="Comparing", text="", stopping=True))
    assert not tab.progress.cancel.isEnabled()
    tab.set_progress(None)
    assert not tab.progress.isVisible()
    assert tab.setup.compare_button.isEnabled()


def test_verdict_is_in_words_not_only_in_colour(tab: BenchmarkTab) -> None:
    tab.set_result(result(tone="bad", value="0.89×", headline=words.VERDICTS["slower"]))
    card = tab.result.verdict
    assert card.headline.text() == "Slower here: leave it off."
    assert "Slower here" in card.accessibleName()
    assert card.property("tone") == "bad"


def test_table_is_brief_until_details(tab: BenchmarkTab, qtbot: QtBot) -> None:
    tab.set_result(result())
    assert tab.result.table.rowCount() == 1
    click(qtbot, tab.result.details)
    assert tab.result.table.rowCount() == 2
    assert tab.result.report.toPlainText() == "the whole report"
    assert tab.result.report.isVisible()


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_bars_are_drawn_in_the_colours_of_the_theme(tab: BenchmarkTab, mode: str) -> None:
    tab.set_result(result())
    theme().apply(mode=mode)
    image = tab.result.plot.image()
    colours = {
        image.pixelColor(x, y).name()
        for x in range(0, image.width(), 2)
        for y in range(0, image.height(), 2)
    }
    for token in ("panel", "accent", "bar"):
        assert theme().color(token).name() in colours, token


def test_longer_bar_for_the_faster_leg(tab: BenchmarkTab, qtbot: QtBot) -> None:
    tab.set_result(result())
    for _ in range(5):  # the layout settles; a busy machine turns the loop once per wait
        qtbot.wait(10)
    accent, bar = (theme().color(t).name() for t in ("accent", "bar"))
    image = tab.result.plot.image()
    ends = {accent: 0, bar: 0}
    starts = {accent: image.width(), bar: image.width()}
    # The first class only: 50 off, 100 on. Text and deviations have other colours.
    top = EXPORT_SCALE * theme().px(HEADING)
    for y in range(top, top + (image.height() - top) * 40 // 100, 2):
        for x in range(image.width()):
            name = image.pixelColor(x, y).name()
            if name in ends:
                ends[name] = max(ends[name], x)
                starts[name] = min(starts[name], x)
    lengths = {name: ends[name] - starts[name] for name in ends}
    assert lengths[accent] == pytest.approx(2 * lengths[bar], rel=0.05)


def test_no_picture_no_pyqtgraph(tab: BenchmarkTab) -> None:
    """It and NumPy take 40 MB: they come with the first picture, into its place."""
    assert tab.result._plot is None
    tab.set_result(result(bars=(), pictures=()))
    assert tab.result._plot is None
    assert tab.result.no_picture.text() == words.NO_BARS
    tab.set_result(result("two"))
    assert tab.result._plot is not None
    column = tab.result.layout()
    assert column is not None
    assert column.indexOf(tab.result.plot) == column.indexOf(tab.result.no_picture) - 1
    assert tab.result.plot.isVisible()
    assert not tab.result.no_picture.isVisible()


def test_pictures_switch_and_say_when_there_is_none(tab: BenchmarkTab, qtbot: QtBot) -> None:
    tab.set_result(result())
    tabs = {b.text(): b for b in tab.result.findChildren(QPushButton)}
    click(qtbot, tabs["Over depth"])
    assert tab.result.plot.isVisible()
    click(qtbot, tabs["Over time"])
    assert not tab.result.plot.isVisible()
    assert tab.result.no_picture.text() == "nothing"
    tab.set_result(result("two"))
    assert tab.result.picture() == "history", "the kind of picture stays"


@pytest.mark.parametrize("picture", ["bars", "depth"])
def test_export_as_png_and_svg(
    tab: BenchmarkTab, qtbot: QtBot, tmp_path: Path, picture: str
) -> None:
    tab.set_result(result())
    tabs = {b.text(): b for b in tab.result.findChildren(QPushButton)}
    click(qtbot, tabs[words.PICTURES[picture]])
    png, svg = tmp_path / "p.png", tmp_path / "p.svg"
    tab.result.plot.save(str(png))
    tab.result.plot.save(str(svg))
    assert png.read_bytes().startswith(b"\x89PNG")
    text = svg.read_text()
    assert "<svg" in text
    assert theme().color("accent").name() in text.lower()
    with pytest.raises(OSError, match="cannot write"):
        tab.result.plot.save(str(tmp_path / "none" / "p.png"))


@pytest.mark.parametrize("picture", ["bars", "depth"])
def test_svg_shows_the_same_as_png(tab: BenchmarkTab, tmp_path: Path, picture: str) -> None:
    """Heading, key, axes, lines and dots in the same places, and nothing of it as pixels."""
    tab.set_result(result(heading="Model A · CPU, 2 threads"))
    tab.result._choose(picture)
    QApplication.processEvents()
    svg = tmp_path / "p.svg"
    tab.result.save_picture(str(svg))
    assert "<image" not in svg.read_text()
    png = tab.result.plot.image("Model A · CPU, 2 threads")
    drawn = QImage(png.size(), QImage.Format.Format_RGB32)
    drawn.fill(theme().color("bad"))
    painter = QPainter(drawn)
    QSvgRenderer(str(svg)).render(painter)
    painter.end()
    small = QSize(png.width() // 8, png.height() // 8)
    scaled = [
        i.scaled(small, mode=Qt.TransformationMode.SmoothTransformation) for i in (png, drawn)
    ]
    greys = [[i.pixelColor(x, y).lightness() for x in range(i.width()) for y in range(i.height())]
             for i in scaled]  # fmt: skip
    assert sum(g < 250 for g in greys[0]) > 100, "there is something to see"
    assert sum(abs(a - b) > 60 for a, b in zip(*greys, strict=True)) < 0.01 * len(greys[0])


def test_key_says_what_colours_and_lines_mean(tab: BenchmarkTab) -> None:
    tab.set_result(result())
    assert tab.result.key.accessibleName() == "off; on; thin lines: ± standard deviation"
    assert tab.result.key.isVisible()
    tab.result._choose("history")
    assert not tab.result.key.isVisible(), "no picture, no key"


def test_nothing_in_the_table_is_cut(tab: BenchmarkTab) -> None:
    """Long numbers make their column wider; where all of them do not fit it scrolls."""
    cells = ("CPU, 2 cores", "1481.0 ± 104.7", "1421.2 ± 192.9", "0.88×", "0.02 s", "0.02 s",
             "47.0 %", "12 of 12", "152 → 158 MB")  # fmt: skip
    tab.set_result(result(rows=(cells,)))
    table = tab.result.table
    QApplication.processEvents()
    for width in (1280, 900):
        tab.resize(width, 700)
        QApplication.processEvents()
        for column, text in enumerate(cells):
            needs = table.fontMetrics().horizontalAdvance(text) + 8
            assert table.columnWidth(column) >= needs, (width, text)


@pytest.mark.qt_log_ignore("grabbing the keyboard", extend=True)
def test_history_selection_baseline_delete(tab: BenchmarkTab, qtbot: QtBot) -> None:
    rows = tuple(
        HistoryRow(id=i, title=f"Model {i}", subtitle="CPU · today 16:02", value="1.60×")
        for i in ("one", "two")
    )
    tab.set_history(HistoryView(rows=rows, models=("Model one", "Model two"), selected="one"))
    tab.set_result(result("one"))
    tab.history.list.setFocus()
    with qtbot.waitSignal(tab.result_selected) as chosen:
        qtbot.keyClick(tab.history.list, Qt.Key.Key_Down)
    assert chosen.args == ["two"]
    with qtbot.waitSignal(tab.delete_requested) as gone:
        qtbot.keyClick(tab.history.list, Qt.Key.Key_Delete)
    assert gone.args == ["two"]
    middle = tab.history.list.visualItemRect(tab.history.list.item(0)).center()
    view, key = tab.history.list.viewport(), QContextMenuEvent.Reason.Keyboard
    QApplication.sendEvent(view, QContextMenuEvent(key, middle, view.mapToGlobal(middle)))
    with qtbot.waitSignal(tab.delete_requested) as gone:
        tab.history.findChildren(QMenu)[-1].actions()[-1].trigger()
    assert gone.args == ["two"], "the menu key is about the chosen one, wherever that stands"
    with qtbot.waitSignal(tab.baseline_requested) as wanted:
        click(qtbot, tab.result.baseline)
    assert wanted.args == ["one", True]
    tab.set_result(result("one", baseline=True))
    assert tab.result.baseline.text() == words.REMOVE_BASELINE
    text = tab.history.list.item(0).text()
    assert "Model one" in text
    assert "1.60×" in text


def test_note_is_saved_when_editing_ends(tab: BenchmarkTab, qtbot: QtBot) -> None:
    tab.set_result(result(notes="old"))
    tab.result.notes.setText("after the update")
    with qtbot.waitSignal(tab.notes_changed) as changed:
        qtbot.keyClick(tab.result.notes, Qt.Key.Key_Return)
    assert changed.args == ["one", "after the update"]


@pytest.mark.parametrize(("width", "scale"), [(780, 1.0), (1280, 2.0)])
def test_narrow_or_large_text_puts_the_history_below(
    tab: BenchmarkTab, qtbot: QtBot, width: int, scale: float
) -> None:
    theme().apply(scale=scale)
    tab.set_result(result())
    tab.resize(width, 600)
    qtbot.waitUntil(lambda: tab.splitter.orientation() is Qt.Orientation.Vertical, timeout=30_000)
    assert tab.setup.compare_button.width() >= tab.setup.compare_button.sizeHint().width()
    theme().apply(scale=1.0)


def test_every_button_has_a_name(tab: BenchmarkTab) -> None:
    tab.set_result(result())
    for found in tab.findChildren(QPushButton):
        assert found.accessibleName() or found.text()
