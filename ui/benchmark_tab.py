"""The Benchmark tab: compare speculation off and on, read results, keep a history.

Shows values and emits signals; `app.benchmark_controller` fills it. It is made when the tab is
first opened; pyqtgraph comes with the first picture. Main thread only.
"""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QFileDialog,
    QHBoxLayout,
    QProgressBar,
    QScrollArea,
    QSplitter,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from ui import bench_strings as words
from ui.bench_history import BenchHistory
from ui.bench_result import ResultPane
from ui.bench_setup import BenchSetup
from ui.bench_views import HistoryView, ProgressView, ResultView, TargetView
from ui.controls import Card, announce, button, label, primary_button
from ui.theme import theme

NARROW = 860
"""Below this width (at text size 1) result and history do not fit side by side."""


class ProgressCard(Card):
    """A running comparison with its Cancel."""

    cancel_requested = Signal()

    def __init__(self) -> None:
        super().__init__(gap=8)
        self.title = label("", "strong", wrap=True)
        self.text = label("", "muted", wrap=True)
        self.bar = QProgressBar()
        self.bar.setTextVisible(False)
        self.bar.setAccessibleName(words.PROGRESS_NAME)
        self.cancel = button(words.CANCEL, "danger", self.cancel_requested.emit)
        lines = QVBoxLayout()
        lines.setSpacing(4)
        lines.addWidget(self.title)
        lines.addWidget(self.text)
        row = QHBoxLayout()
        row.setSpacing(16)
        row.addLayout(lines, 1)
        row.addWidget(self.cancel)
        self.body.addLayout(row)
        self.body.addWidget(self.bar)

    def show_progress(self, view: ProgressView) -> None:
        self.title.setText(view.title)
        self.text.setText(view.text)
        self.bar.setRange(0, 0 if view.share is None else 1000)
        self.bar.setValue(round((view.share or 0) * 1000))
        self.cancel.setEnabled(not view.stopping)
        self.cancel.setText(words.STOPPING if view.stopping else words.CANCEL)


class EmptyState(QWidget):
    """What to do when nothing was measured yet."""

    measure_requested = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.reason = label("", "muted", wrap=True)
        self.measure = primary_button(words.MEASURE, self.measure_requested.emit)
        text = label(words.EMPTY_TEXT, "muted", wrap=True)
        title = label(words.EMPTY_TITLE, "title")
        self._parts = (title, text, self.reason, self.measure)
        body = QVBoxLayout(self)
        body.addStretch(2)
        for widget in (title, text, self.reason):
            widget.setAlignment(Qt.AlignmentFlag.AlignHCenter)
            widget.setMaximumWidth(theme().px(460))
            line = QHBoxLayout()
            line.addStretch(1)
            line.addWidget(widget, 20)
            line.addStretch(1)
            body.addLayout(line)
        body.addSpacing(8)
        body.addWidget(self.measure, 0, Qt.AlignmentFlag.AlignHCenter)
        body.addStretch(3)

    def set_running(self, running: bool) -> None:
        """While the first comparison runs there is nothing to say here."""
        for part in self._parts:
            part.setVisible(not running)


class BenchmarkTab(QWidget):
    """`compare_requested(BenchChoice)`; `copy_requested` and `save_requested` carry the kind
    ("row", "table", "command"; "csv", "json", "png", "svg")."""

    compare_requested = Signal(object)
    cancel_requested = Signal()
    target_chosen = Signal(str, str)
    open_requested = Signal()
    result_selected = Signal(str)
    filter_changed = Signal(str, str)
    baseline_requested = Signal(str, bool)
    delete_requested = Signal(str)
    notes_changed = Signal(str, str)
    copy_requested = Signal(str)
    save_requested = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.setup = BenchSetup()
        self.progress = ProgressCard()
        self.empty = EmptyState()
        self.result = ResultPane()
        self.history = BenchHistory()
        self.message = label("", "warn", wrap=True)
        self.message.hide()
        self.hint = label("", "muted", wrap=True)
        self.hint.hide()
        self.progress.hide()
        self._result: ResultView | None = None
        self._pages = QStackedWidget()
        self._pages.addWidget(self.empty)
        self._pages.addWidget(self.result)
        self._build()
        self._connect()

    def _build(self) -> None:
        left = QWidget()
        body = QVBoxLayout(left)
        body.setContentsMargins(28, 20, 12, 20)
        body.setSpacing(14)
        body.addWidget(self.setup)
        body.addWidget(self.message)
        body.addWidget(self.progress)
        body.addWidget(self._pages, 1)
        body.addWidget(self.hint)
        scroll = QScrollArea()
        scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        scroll.setWidgetResizable(True)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setWidget(left)
        side = QWidget()
        column = QVBoxLayout(side)
        column.setContentsMargins(12, 26, 28, 20)
        column.addWidget(self.history)
        side.setMinimumWidth(200)
        self._side = column
        self.splitter = QSplitter(Qt.Orientation.Horizontal)
        self.splitter.addWidget(scroll)
        self.splitter.addWidget(side)
        self.splitter.setStretchFactor(0, 1)
        self.splitter.setSizes([970, 310])
        self.splitter.setChildrenCollapsible(False)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.addWidget(self.splitter)

    def _connect(self) -> None:
        self.setup.compare_requested.connect(self.compare_requested)
        self.setup.target_chosen.connect(self.target_chosen)
        self.setup.open_requested.connect(self.open_requested)
        self.empty.measure_requested.connect(self.setup.compare)
        self.progress.cancel_requested.connect(self.cancel_requested)
        self.history.selected.connect(self.result_selected)
        self.history.filter_changed.connect(self.filter_changed)
        self.history.baseline_requested.connect(lambda i: self.baseline_requested.emit(i, True))
        self.history.delete_requested.connect(self.delete_requested)
        self.result.copy_requested.connect(self.copy_requested)
        self.result.save_requested.connect(self.save_requested)
        self.result.baseline_requested.connect(
            lambda on: self.baseline_requested.emit(self._result.id if self._result else "", on)
        )
        self.result.notes_changed.connect(
            lambda text: self.notes_changed.emit(self._result.id if self._result else "", text)
        )

    def resizeEvent(self, event: QResizeEvent) -> None:
        """In a narrow window (or with large text) the history goes below the result."""
        super().resizeEvent(event)
        narrow = self.width() < theme().px(NARROW)
        wanted = Qt.Orientation.Vertical if narrow else Qt.Orientation.Horizontal
        if self.splitter.orientation() is not wanted:
            self.splitter.setOrientation(wanted)
            high = self.height()
            self.splitter.setSizes([high * 2 // 3, high // 3] if narrow else [970, 310])
            left, top, right, bottom = (28, 10, 28, 10) if narrow else (12, 26, 28, 20)
            self._side.setContentsMargins(left, top, right, bottom)

    # What the controller shows

    def set_target(self, view: TargetView) -> None:
        """What Compare would measure, and why it cannot."""
        self.setup.set_target(view)
        self.empty.measure.setEnabled(not view.problem and self.progress.isHidden())
        self.empty.reason.setText(view.problem)

    def set_history(self, view: HistoryView) -> None:
        self.history.set_view(view)

    def set_result(self, view: ResultView | None) -> None:
        """Shows a comparison, or the empty state for None."""
        self._result = view
        if view is not None:
            self.result.show_result(view)
        self._pages.setCurrentWidget(self.empty if view is None else self.result)

    def set_progress(self, view: ProgressView | None) -> None:
        """Shows a running comparison; None when none runs."""
        running = view is not None
        changed = running is self.progress.isHidden()
        if view is not None:
            self.progress.show_progress(view)
        self.progress.setVisible(running)
        if changed:
            self.setup.set_running(running)
            self.empty.set_running(running)
            announce(self, words.STARTED if running else words.ENDED)

    def set_message(self, text: str) -> None:
        """A sentence under the title row; "" takes it away."""
        self.message.setText(text)
        self.message.setVisible(bool(text))
        if text:
            announce(self, text)

    def set_hint(self, text: str) -> None:
        """What chats reached, below everything else; "" hides it."""
        self.hint.setText(text)
        self.hint.setVisible(bool(text))

    def ask_file(self, suffix: str, name: str) -> QFileDialog:
        """Opens the standard save dialog; connect to `fileSelected`."""
        dialog = QFileDialog(self, words.EXPORT, name)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix(suffix)
        dialog.setNameFilter(f"*.{suffix}")
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.open()
        return dialog
