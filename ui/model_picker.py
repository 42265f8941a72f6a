"""Choosing a model: the demo model, recently used ones, local files, or another file.

Opened without blocking. `picked(card id)` fires for a card, `file_picked(path)` for a file
that was chosen or dropped, `catalogue_requested` for downloads. A file that cannot be a
model is shown with its problem and cannot be picked. Main thread only.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QKeyEvent, QMouseEvent
from PySide6.QtWidgets import (
    QDialog,
    QFileDialog,
    QFrame,
    QHBoxLayout,
    QLineEdit,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from ui import format as fmt
from ui import strings
from ui.controls import ElidedLabel, button, label, pill, primary_button, restyle, section_label
from ui.dialog_size import open_at
from ui.input_method import KeysOfInputMethod
from ui.layouts import FlowLayout
from ui.views import ModelCardView, PickerView

_STRONG_BADGES = ("MTP",)


class ModelCard(QFrame):
    """A model as one focusable row; Enter, Space or a double click picks it."""

    selected = Signal(str)
    picked = Signal(str)

    def __init__(self, view: ModelCardView) -> None:
        super().__init__()
        self.view = view
        self.setProperty("kind", "choice")
        name = fmt.plain(view.name, 80)
        words = [name, *view.badges, view.summary, view.problem]
        self.setAccessibleName(", ".join(w for w in words if w))
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus if view.problem else Qt.FocusPolicy.StrongFocus)
        top = QWidget()
        flow = FlowLayout(top, gap=8)
        flow.addWidget(label(name, "strong"))
        for badge in view.badges:
            flow.addWidget(pill(badge, on=badge in _STRONG_BADGES))
        if view.loaded:
            flow.addWidget(pill("loaded", on=True))
        body = QVBoxLayout(self)
        body.setContentsMargins(16, 10, 16, 10)
        body.setSpacing(3)
        body.addWidget(top)
        line = ElidedLabel(
            fmt.plain(view.problem or view.summary), "bad" if view.problem else "muted"
        )
        body.addWidget(line)

    def set_selected(self, on: bool) -> None:
        restyle(self, checked=on)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if not self.view.problem:
            self.setFocus()
            self.selected.emit(self.view.id)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        if not self.view.problem:
            self.picked.emit(self.view.id)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            self.picked.emit(self.view.id)
        else:
            super().keyPressEvent(event)


class ModelPicker(QDialog):
    """Call `open()`; never `exec()`. `set_view` may come later (folders are scanned aside)."""

    picked = Signal(str)
    file_picked = Signal(str)
    catalogue_requested = Signal()

    def __init__(self, view: PickerView, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(strings.PICK_MODEL)
        self.setModal(True)
        self.setAcceptDrops(True)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._cards: dict[str, ModelCard] = {}
        self._selected = ""
        self.search = QLineEdit()
        self.search.setPlaceholderText("Search")
        self.search.setAccessibleName("Search models")
        self.search.textChanged.connect(self._filter)
        self.search.installEventFilter(self)
        KeysOfInputMethod(self.search)
        head = QHBoxLayout()
        head.addWidget(label(strings.PICK_MODEL, "title"), 1)
        head.addWidget(self.search)
        self._area = QScrollArea()
        self._area.setWidgetResizable(True)
        self._area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.load_button = primary_button(strings.LOAD, self._on_load)
        self.load_button.setDefault(True)
        self.open_button = button(strings.OPEN_FILE, "", self.choose_file)
        self.catalogue_button = button(strings.CATALOGUE, "", self._on_catalogue)
        row = QWidget()
        flow = FlowLayout(row, gap=8, line_gap=8)
        cancel = button(strings.CANCEL, "", self.reject)
        for part in (self.open_button, self.catalogue_button, cancel, self.load_button):
            flow.addWidget(part)
        flow.push_from = 2
        body = QVBoxLayout(self)
        body.setContentsMargins(24, 20, 24, 20)
        body.setSpacing(12)
        body.addLayout(head)
        body.addWidget(self._area, 1)
        body.addWidget(label(strings.DROP_HINT, "small", wrap=True))
        body.addWidget(row)
        open_at(self, 660, 520)
        self.set_view(view)

    def set_view(self, view: PickerView) -> None:
        """Shows cards grouped as they come; keeps the selection where it can."""
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(0, 0, 8, 0)
        column.setSpacing(8)
        self._cards = {}
        self._groups: list[tuple[QWidget, list[ModelCard]]] = []
        group = ""
        for item in view.cards:
            if item.group != group or not self._groups:
                group = item.group
                title = section_label(group or strings.ON_THIS_COMPUTER)
                column.addWidget(title)
                self._groups.append((title, []))
            made = ModelCard(item)
            made.selected.connect(self.select)
            made.picked.connect(self._pick)
            self._cards[item.id] = made
            self._groups[-1][1].append(made)
            column.addWidget(made)
        if not view.cards:
            column.addWidget(label(strings.NO_MODELS, "muted", wrap=True))
        column.addStretch(1)
        self._area.setWidget(page)
        usable = [c.view.id for c in self._cards.values() if not c.view.problem]
        wanted = self._selected if self._selected in usable else view.selected
        self.select(wanted if wanted in usable else next(iter(usable), ""))
        self._filter(self.search.text())

    def selected(self) -> str:
        return self._selected

    def select(self, card_id: str) -> None:
        self._selected = card_id
        for key, made in self._cards.items():
            made.set_selected(key == card_id)
        self.load_button.setEnabled(bool(card_id))

    def choose_file(self) -> None:
        """The system's file dialog, without blocking."""
        dialog = QFileDialog(
            self, strings.OPEN_FILE, "", f"{strings.MODEL_FILES};;{strings.ALL_FILES}"
        )
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(self._on_file)
        dialog.open()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if any(u.isLocalFile() for u in event.mimeData().urls()):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        for url in event.mimeData().urls():
            if url.isLocalFile():
                event.acceptProposedAction()
                self._on_file(url.toLocalFile())
                return

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Down in the search box goes to the first card."""
        press = event if isinstance(event, QKeyEvent) and watched is self.search else None
        if press and press.type() == QEvent.Type.KeyPress and press.key() == Qt.Key.Key_Down:
            shown = [c for c in self._cards.values() if c.isVisible() and not c.view.problem]
            if shown:
                shown[0].setFocus()
                self.select(shown[0].view.id)
            return True
        return super().eventFilter(watched, event)

    def _filter(self, text: str) -> None:
        words = text.casefold().split()
        for title, cards in self._groups:
            any_shown = False
            for made in cards:
                name = made.accessibleName().casefold()
                shown = all(w in name for w in words)
                made.setVisible(shown)
                any_shown = any_shown or shown
            title.setVisible(any_shown)

    def _on_load(self) -> None:
        self._pick(self._selected)

    def _pick(self, card_id: str) -> None:
        if card_id:
            self.picked.emit(card_id)
            self.accept()

    def _on_file(self, path: str) -> None:
        self.file_picked.emit(path)
        self.accept()

    def _on_catalogue(self) -> None:
        self.catalogue_requested.emit()
        self.accept()
