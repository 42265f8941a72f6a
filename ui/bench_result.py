"""The left side of the Benchmark tab: verdict, pictures, table and actions of one result."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHBoxLayout,
    QHeaderView,
    QLineEdit,
    QMenu,
    QPlainTextEdit,
    QPushButton,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from ui import bench_strings as words
from ui import format as fmt
from ui.bench_key import PictureKey
from ui.bench_views import ResultView
from ui.controls import Card, button, label, menu_button, restyle
from ui.file_drops import let_files_through
from ui.layouts import FlowLayout
from ui.theme import theme

if TYPE_CHECKING:
    from ui.bench_plot import Plot

SPARE = 2


class VerdictCard(Card):
    """The number and the verdict in words; the colour only repeats them."""

    def __init__(self) -> None:
        super().__init__(margin=18)
        self.number = label("", "number")
        self.headline = label("", "strong", wrap=True)
        self.detail = label("", "muted", wrap=True)
        lines = QVBoxLayout()
        lines.setSpacing(2)
        lines.addWidget(self.headline)
        lines.addWidget(self.detail)
        row = QHBoxLayout()
        row.setSpacing(18)
        row.addWidget(self.number)
        row.addLayout(lines, 1)
        self.body.addLayout(row)

    def show_result(self, view: ResultView) -> None:
        self.number.setText(view.value)
        self.headline.setText(view.headline)
        self.detail.setText(view.detail)
        restyle(self, tone=view.tone)
        restyle(self.number, level={"bad": "bad", "": "plain"}.get(view.tone, ""))
        self.setAccessibleName(f"{view.value} {view.headline} {view.detail}")


class ResultTable(QTableWidget):
    """Numbers right of names; as tall as its rows. Ctrl+C copies the row as text."""

    def __init__(self) -> None:
        super().__init__()
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setShowGrid(False)
        self.setProperty("kind", "ring")
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setTabKeyNavigation(False)  # a table's default: Tab would never leave it
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.verticalHeader().hide()
        self.setAccessibleName(words.TABLE_NAME)
        self.setStyleSheet("QTableWidget::item { padding: 0 4px; }")

    def show_result(self, view: ResultView, *, every: bool) -> None:
        """Fills the table: only the brief rows, or `every` one."""
        rows = view.rows if every else view.rows[: view.brief]
        self.clear()
        self.setColumnCount(len(view.head))
        self.setRowCount(len(rows))
        self.setHorizontalHeaderLabels(list(view.head))
        left = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        header = self.horizontalHeader()
        header.setHighlightSections(False)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        for column in range(len(view.head)):
            title = self.horizontalHeaderItem(column)
            if title is not None:
                title.setTextAlignment(right if column else left)
        for r, cells in enumerate(rows):
            for c, text in enumerate(cells):
                item = QTableWidgetItem(text)
                item.setTextAlignment(right if c else left)
                if r < len(view.tips) and c < len(view.tips[r]):
                    item.setToolTip(fmt.tip(view.tips[r][c]))
                bold = r == 0 and view.head[c] == words.SPEEDUP
                item.setFont(theme().font(13, 600 if bold else 400))
                self.setItem(r, c, item)
        self.fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.fit()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.StyleChange, QEvent.Type.FontChange):
            self.fit()

    def fit(self) -> None:
        """As tall as its rows, so that the page scrolls and not the table; columns as wide as
        their words and an equal share of what is left. Where that is nothing, it scrolls
        sideways."""
        high, count = theme().px(29), self.columnCount()
        for row in range(self.rowCount()):
            self.setRowHeight(row, high)
        wanted = [
            max(self.sizeHintForColumn(c), self.horizontalHeader().sectionSizeHint(c)) + SPARE
            for c in range(count)
        ]
        left = self.viewport().width() - sum(wanted)
        for column, width in enumerate(wanted):
            self.setColumnWidth(column, width + max(0, left) // count)
        bar = self.horizontalScrollBar().sizeHint().height() if left < 0 else 0
        head = self.horizontalHeader().sizeHint().height()
        self.setFixedHeight(head + high * self.rowCount() + 2 * self.frameWidth() + bar)


class ResultPane(QWidget):
    """Everything about one comparison. Signals carry what the person asked for."""

    copy_requested = Signal(str)
    save_requested = Signal(str)
    baseline_requested = Signal(bool)
    notes_changed = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self._view: ResultView | None = None
        self._key = "bars"
        self.verdict = VerdictCard()
        self.partial = label("", "warn", wrap=True)
        self._plot: Plot | None = None
        self.key = PictureKey()
        self.no_picture = label("", "muted", wrap=True)
        self.table = ResultTable()
        self.foot = label("", "muted", wrap=True)
        self.notes = QLineEdit()
        let_files_through(self.notes)
        self.report = QPlainTextEdit()
        self._tabs: dict[str, QPushButton] = {}
        self._body = body = QVBoxLayout(self)
        body.setContentsMargins(0, 0, 0, 0)
        body.setSpacing(12)
        body.addWidget(self.verdict)
        body.addWidget(self.partial)
        body.addWidget(self._picture_row())
        body.addWidget(self.no_picture)
        body.addWidget(self.table)
        body.addWidget(self._actions())
        body.addWidget(self._notes_row())
        body.addWidget(self.report)
        body.addStretch(1)

    def _picture_row(self) -> QWidget:
        place = QWidget()
        row = FlowLayout(place, gap=2, line_gap=4)
        for key, title in words.PICTURES.items():
            tab = button(title, "flat13", partial(self._choose, key))
            tab.setCheckable(True)
            self._tabs[key] = tab
            row.addWidget(tab)
        row.addWidget(self.key)
        row.push_from = len(self._tabs)
        return place

    def _actions(self) -> QWidget:
        place = QWidget()
        row = FlowLayout(place, gap=8, line_gap=8)
        self.copy_row = button(words.COPY_ROW, "", lambda: self.copy_requested.emit("row"))
        menu = QMenu(place)
        for key, text in (("table", words.COPY_TABLE), ("command", words.COPY_COMMAND)):
            menu.addAction(text, partial(self.copy_requested.emit, key))
        menu.addSeparator()
        for key, text in (
            ("csv", words.EXPORT_CSV),
            ("json", words.EXPORT_JSON),
            ("png", words.EXPORT_PNG),
            ("svg", words.EXPORT_SVG),
        ):
            menu.addAction(text, partial(self.save_requested.emit, key))
        self.export = menu_button(words.EXPORT, menu)
        self.baseline = button(words.SET_BASELINE, "", self._on_baseline)
        self.details = button(words.DETAILS, "flat13", self._on_details)
        self.details.setCheckable(True)
        for widget in (self.copy_row, self.export, self.baseline, self.details, self.foot):
            row.addWidget(widget)
        row.push_from = 4
        return place

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_foot()

    def _fit_foot(self) -> None:
        """One line where there is room for it: a label that may wrap wants less than it could
        use, and one that may not would widen the page."""
        wide = self.foot.fontMetrics().horizontalAdvance(self.foot.text()) + 8
        self.foot.setWordWrap(wide > self.width())

    def _notes_row(self) -> QLineEdit:
        self.notes.setPlaceholderText(words.NOTES_HINT)
        self.notes.setAccessibleName(words.NOTES_NAME)
        self.notes.editingFinished.connect(self._on_notes)
        self.report.setReadOnly(True)
        self.report.setProperty("kind", "field")
        self.report.setAccessibleName(words.DETAILS)
        self.report.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.report.setMinimumHeight(theme().px(300))
        self.report.hide()
        return self.notes

    def show_result(self, view: ResultView) -> None:
        """Shows a comparison; the chosen kind of picture stays."""
        other = self._view is None or self._view.id != view.id
        self._view = view
        self.verdict.show_result(view)
        lines = [t for t in (view.partial, view.warning) if t]
        self.partial.setText("\n".join(lines))
        self.partial.setVisible(bool(lines))
        self.table.show_result(view, every=self.details.isChecked())
        self.foot.setText(view.foot)
        self._fit_foot()
        self.baseline.setText(words.REMOVE_BASELINE if view.baseline else words.SET_BASELINE)
        if other or not self.notes.hasFocus():
            self.notes.setText(view.notes)
        self.report.setFont(theme().font(12, mono=True))
        self.report.setPlainText(view.report)
        self._choose(self._key)

    def save_picture(self, path: str) -> None:
        """Writes the picture shown with its heading; raises OSError."""
        self.plot.save(path, self._view.heading if self._view else "")

    def view(self) -> ResultView | None:
        return self._view

    @property
    def plot(self) -> Plot:
        """The pictures; made when the first is shown, since pyqtgraph and NumPy take 40 MB."""
        if self._plot is None:
            from ui.bench_plot import Plot

            self._plot = Plot()
            self._body.insertWidget(self._body.indexOf(self.no_picture), self._plot)
        return self._plot

    def picture(self) -> str:
        """Key of the picture shown."""
        return self._key

    def _choose(self, key: str) -> None:
        view = self._view
        self._key = key
        for name, tab in self._tabs.items():
            tab.setChecked(name == key)
        if view is None:
            return
        empty = ""
        if key == "bars":
            if view.bars or self._plot is not None:
                self.plot.show_bars(view.bars)
            empty = "" if view.bars else words.NO_BARS
        else:
            picture = next((p for p in view.pictures if p.key == key), None)
            if picture is not None and not picture.empty:
                self.plot.show_picture(picture)
            else:
                empty = picture.empty if picture else words.NO_BARS
        if self._plot is not None:
            self._plot.setVisible(not empty)
            self.key.show_key(*(self._plot.key() if not empty else ((), "")))
        self.no_picture.setText(empty)
        self.no_picture.setVisible(bool(empty))

    def _on_baseline(self) -> None:
        if self._view is not None:
            self.baseline_requested.emit(not self._view.baseline)

    def _on_details(self) -> None:
        self.report.setVisible(self.details.isChecked())
        if self._view is not None:
            self.table.show_result(self._view, every=self.details.isChecked())

    def _on_notes(self) -> None:
        if self._view is not None and self.notes.text() != self._view.notes:
            self.notes_changed.emit(self.notes.text())
