"""The title row of the Benchmark tab: what to measure, how often, on what."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction, QActionGroup, QKeyEvent, QMouseEvent
from PySide6.QtWidgets import (
    QDialog,
    QHBoxLayout,
    QMenu,
    QPlainTextEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from engine.types import Backend
from ui import bench_strings as words
from ui import format as fmt
from ui import strings
from ui.bench_views import BenchChoice, TargetView
from ui.controls import button, label, menu_button, primary_button
from ui.dialog_size import open_at
from ui.file_drops import let_files_through
from ui.layouts import FlowLayout
from ui.theme import theme

RUNS = (1, 3, 5, 10, 20)
DEFAULT_RUNS = 5
PER_CLASS = (1, 2, 3)
DEFAULT_PER_CLASS = 2
CLASSES = ("writing", "rewrite", "summary", "code", "qa", "translation")


class StayMenu(QMenu):
    """Stays open while boxes are ticked, with mouse and keyboard alike."""

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        action = self.activeAction()
        if action is not None and action.isCheckable() and action.isEnabled():
            action.trigger()
            return
        super().mouseReleaseEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        action = self.activeAction()
        if event.key() == Qt.Key.Key_Space and action is not None and action.isCheckable():
            action.trigger()
            return
        super().keyPressEvent(event)


class PromptDialog(QDialog):
    """Asks for the person's own prompt; `accepted_text` on OK."""

    accepted_text = Signal(str)

    def __init__(self, parent: QWidget, text: str) -> None:
        super().__init__(parent)
        self.setWindowTitle(words.OWN_PROMPT_TITLE)
        self.setModal(True)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.field = QPlainTextEdit(text)
        let_files_through(self.field)
        self.field.setProperty("kind", "field")
        self.field.setAccessibleName(words.OWN_PROMPT_TITLE)
        self.field.setTabChangesFocus(True)
        self.field.setMinimumHeight(theme().px(120))
        body = QVBoxLayout(self)
        body.setContentsMargins(24, 20, 24, 20)
        body.setSpacing(12)
        body.addWidget(label(words.OWN_PROMPT_TITLE, "title"))
        body.addWidget(label(words.OWN_PROMPT_TEXT, "muted", wrap=True))
        body.addWidget(self.field, 1)
        row = QHBoxLayout()
        row.addStretch(1)
        row.addWidget(button(strings.CANCEL, "", self.reject))
        done = primary_button(strings.OK, self.accept)
        done.setDefault(True)
        row.addWidget(done)
        body.addLayout(row)
        open_at(self, 480, 300)
        self.accepted.connect(lambda: self.accepted_text.emit(self.field.toPlainText().strip()))


class BenchSetup(QWidget):
    """Emits `compare_requested(BenchChoice)`, `target_chosen(path, backend value)`."""

    compare_requested = Signal(object)
    target_chosen = Signal(str, str)
    open_requested = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._target = TargetView()
        self._running = False
        self._own = ""
        self.runs = DEFAULT_RUNS
        self.per_class = DEFAULT_PER_CLASS
        self._target_menu = QMenu(self)
        self.target_button = menu_button(words.TARGET_NONE, self._target_menu)
        self._boxes: dict[str, QAction] = {}
        self.workloads_menu = self._make_workloads()
        self.workloads_button = menu_button("", self.workloads_menu)
        self.runs_menu = self._make_runs()
        self.runs_button = menu_button("", self.runs_menu)
        self.compare_button = primary_button(words.COMPARE, self.compare)
        self.compare_button.setAccessibleName(words.COMPARE_LONG)
        flow = FlowLayout(self, gap=8, line_gap=8)
        flow.addWidget(label(words.TITLE, "title"))
        for widget in (
            self.target_button,
            self.workloads_button,
            self.runs_button,
            self.compare_button,
        ):
            flow.addWidget(widget)
        flow.push_from = 1
        self._refresh()

    def _make_workloads(self) -> QMenu:
        menu = StayMenu(self)
        for key in CLASSES:
            self._boxes[key] = self._box(menu, words.WORKLOADS[key], on=True)
        menu.addSeparator()
        self._own_action = menu.addAction(words.OWN_PROMPT, self._on_own)
        self._own_action.setCheckable(False)
        per = menu.addMenu(words.PER_CLASS)
        group = QActionGroup(self)
        for count in PER_CLASS:
            action = per.addAction(str(count), partial(self._set_per_class, count))
            action.setCheckable(True)
            action.setChecked(count == self.per_class)
            group.addAction(action)
        menu.addSeparator()
        self.depth_sweep = self._box(menu, words.DEPTH_SWEEP)
        self.synthetic = self._box(menu, words.SYNTHETIC)
        return menu

    def _box(self, menu: QMenu, text: str, *, on: bool = False) -> QAction:
        action = menu.addAction(text)
        action.setCheckable(True)
        action.setChecked(on)
        action.toggled.connect(lambda _: self._refresh())
        return action

    def _make_runs(self) -> QMenu:
        menu = QMenu(self)
        group = QActionGroup(self)
        for count in RUNS:
            action = menu.addAction(_runs(count), partial(self._set_runs, count))
            action.setCheckable(True)
            action.setChecked(count == self.runs)
            group.addAction(action)
        return menu

    def choice(self) -> BenchChoice:
        """What is ticked now."""
        return BenchChoice(
            workloads=tuple(key for key, box in self._boxes.items() if box.isChecked()),
            per_class=self.per_class,
            runs=self.runs,
            own_prompt=self._own,
            depth=self.depth_sweep.isChecked(),
            synthetic=self.synthetic.isChecked(),
        )

    def compare(self) -> None:
        """Asks for the comparison if it can run."""
        if self.compare_button.isEnabled():
            self.compare_requested.emit(self.choice())

    def set_workloads(self, keys: tuple[str, ...]) -> None:
        for key, box in self._boxes.items():
            box.setChecked(key in keys)

    def set_target(self, view: TargetView) -> None:
        self._target = view
        menu = self._target_menu
        menu.clear()
        models, backends = QActionGroup(menu), QActionGroup(menu)
        for path, name in view.models:
            action = menu.addAction(fmt.plain(name, 60), partial(self._choose, path, None))
            action.setCheckable(True)
            action.setChecked(path == view.path)
            action.setToolTip(fmt.tip(path))
            models.addAction(action)
        menu.addAction(words.OPEN_FILE, self.open_requested.emit)
        menu.addSeparator()
        for backend in view.backends:
            name = strings.BACKENDS[backend]
            action = menu.addAction(name, partial(self._choose, "", backend))
            action.setCheckable(True)
            action.setChecked(backend is view.backend)
            backends.addAction(action)
        self._refresh()

    def set_running(self, running: bool) -> None:
        self._running = running
        self._refresh()

    def set_own_prompt(self, text: str) -> None:
        self._own = text
        self._refresh()

    def _choose(self, path: str, backend: Backend | None) -> None:
        self.target_chosen.emit(path or self._target.path, (backend or self._target.backend).value)

    def _set_runs(self, count: int) -> None:
        self.runs = count
        self._refresh()

    def _set_per_class(self, count: int) -> None:
        self.per_class = count
        self._refresh()

    def _on_own(self) -> None:
        self.workloads_menu.close()
        dialog = PromptDialog(self, self._own)
        dialog.accepted_text.connect(self.set_own_prompt)
        dialog.open()

    def _refresh(self) -> None:
        if not hasattr(self, "compare_button"):
            return
        view, choice = self._target, self.choice()
        count = len(choice.workloads) + bool(self._own)
        count += choice.synthetic
        self._text(self.workloads_button, words.WORKLOADS_BUTTON.format(count=count))
        self._text(self.runs_button, _runs(self.runs))
        name = f"{fmt.plain(view.name, 28)} · {strings.BACKENDS[view.backend]}"
        self._text(self.target_button, name if view.name else words.TARGET_NONE)
        self._own_action.setText(f"{words.OWN_PROMPT}{' ✓' if self._own else ''}")
        problem = view.problem or ("" if count else words.NOTHING_CHOSEN)
        self.compare_button.setEnabled(not problem and not self._running)
        self.compare_button.setToolTip(fmt.tip(problem or words.COMPARE_LONG))
        for control in (self.target_button, self.workloads_button, self.runs_button):
            control.setEnabled(not self._running)

    def _text(self, target: QPushButton, text: str) -> None:
        target.setText(f"{text} ▾")
        target.setAccessibleName(text)


def _runs(count: int) -> str:
    return words.ONE_RUN if count == 1 else words.RUNS_BUTTON.format(runs=count)
