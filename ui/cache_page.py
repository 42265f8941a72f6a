"""Where models and the engine's caches live, how much they take, and clearing them.

A dialog that shows a `StorageView` and emits what a person wants. Main thread only.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QDialog,
    QFrame,
    QHBoxLayout,
    QScrollArea,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from ui import model_strings as words
from ui import strings
from ui.choice_cards import ChoiceRow
from ui.controls import ElidedLabel, button, hline, label
from ui.dialog_size import open_at
from ui.focus_kept import focus_kept
from ui.model_views import CacheRowView, StorageView


class StorageDialog(QDialog):
    """`mode_chosen(mode)`, `cap_chosen(GB)`, `clear_requested(key)` ("" clears all),
    `add_folder_requested`, `remove_folder_requested(path)`, `show_requested(path)`."""

    mode_chosen = Signal(str)
    cap_chosen = Signal(int)
    clear_requested = Signal(str)
    add_folder_requested = Signal()
    remove_folder_requested = Signal(str)
    show_requested = Signal(str)

    def __init__(self, view: StorageView, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(words.STORAGE_TITLE)
        self._view = view
        self._made: list[QWidget] = []
        page = QWidget()
        body = QVBoxLayout(page)
        body.setContentsMargins(24, 20, 24, 12)
        body.setSpacing(10)
        body.addWidget(label(words.STORAGE_TITLE, "title"))
        self._folders = QVBoxLayout()
        self._folders.setSpacing(6)
        body.addLayout(self._head(words.FOLDERS, words.ADD_FOLDER, self.add_folder_requested.emit))
        body.addLayout(self._folders)
        body.addWidget(hline())
        head = self._head(words.CACHE, words.CLEAR_ALL, lambda: self.clear_requested.emit(""))
        body.addLayout(head)
        body.addWidget(label(words.CACHE_TEXT, "muted", wrap=True))
        self.modes = ChoiceRow(words.CACHE)
        for mode in view.modes:
            title, text = words.CACHE_MODES[mode]
            self.modes.add(mode, title, text)
        self.modes.changed.connect(self.mode_chosen)
        body.addWidget(self.modes)
        body.addLayout(self._cap_row())
        self._total = label("", "strong13")
        body.addWidget(self._total)
        self._rows = QVBoxLayout()
        self._rows.setSpacing(6)
        body.addLayout(self._rows)
        body.addStretch(1)
        self._note = label("", "muted", wrap=True)
        self._build_frame(page)
        self.set_view(view)

    def _build_frame(self, page: QWidget) -> None:
        scroll = QScrollArea()
        scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        scroll.setWidgetResizable(True)
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        scroll.setWidget(page)
        close = button(strings.CLOSE, "primary", self.accept)
        foot = QHBoxLayout()
        foot.setContentsMargins(24, 0, 24, 16)
        foot.addWidget(self._note, 1)
        foot.addWidget(close)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(scroll, 1)
        outer.addLayout(foot)
        open_at(self, 680, 560, least=(420, 300))
        close.setDefault(True)

    def _head(self, title: str, action: str, slot: object) -> QHBoxLayout:
        row = QHBoxLayout()
        row.addWidget(label(title, "strong"))
        row.addStretch(1)
        out = button(action, "small")
        out.clicked.connect(lambda _=False: slot())  # type: ignore[operator]
        if action == words.CLEAR_ALL:
            self.clear_all_button = out
        row.addWidget(out)
        return row

    def _cap_row(self) -> QHBoxLayout:
        self.cap = QSpinBox()
        self.cap.setRange(0, 9999)
        self.cap.setSuffix(" GB")
        self.cap.setSpecialValueText(words.CAP_NONE)
        self.cap.setAccessibleName(words.CAP)
        self.cap.editingFinished.connect(lambda: self.cap_chosen.emit(self.cap.value()))
        row = QHBoxLayout()
        row.setSpacing(8)
        row.addWidget(label(words.CAP, "muted"))
        row.addWidget(self.cap)
        row.addStretch(1)
        return row

    def view(self) -> StorageView:
        return self._view

    def set_view(self, view: StorageView) -> None:
        with focus_kept(self):
            self._fill(view)

    def _fill(self, view: StorageView) -> None:
        self._view = view
        for old in self._made:
            old.setParent(None)
            old.deleteLater()
        self._made = []
        own = self._folder_row(view.own_folder, words.OWN_FOLDER, removable=False)
        self._place(self._folders, [own, *(self._folder_row(f, "", True) for f in view.folders)])
        self._place(self._rows, [self._cache_row(row) for row in view.rows])
        self.modes.set_value(view.mode)
        if view.mode == "folder" and view.cache_folder:
            self.modes.card("folder").set_text(view.cache_folder)
        if not self.cap.hasFocus():
            self.cap.setValue(view.cap_gb)
        self._total.setText(
            words.CACHE_TOTAL.format(size=view.total) if view.rows else words.CACHE_EMPTY
        )
        self.clear_all_button.setEnabled(any(r.clearable for r in view.rows))
        self._note.setText(view.note)

    def row_texts(self) -> list[str]:
        """What the cache list says, for tests."""
        return [f"{r.name} {r.size} {r.note}".strip() for r in self._view.rows]

    def _place(self, target: QVBoxLayout, widgets: Sequence[QWidget]) -> None:
        for widget in widgets:
            target.addWidget(widget)
            widget.show()  # not only when the layout comes to it: it may get the focus
            self._made.append(widget)

    def _folder_row(self, path: str, note: str, removable: bool) -> QWidget:
        out = QWidget()
        row = QHBoxLayout(out)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(8)
        row.addWidget(ElidedLabel(path), 1)
        if note:
            row.addWidget(label(note, "muted"))
        show = button(words.SHOW_FOLDER, "flat13", lambda: self.show_requested.emit(path))
        show.setAccessibleName(f"{words.SHOW_FOLDER} {path}")
        row.addWidget(show)
        if removable:
            remove = button(
                words.REMOVE_FOLDER, "flat13", lambda: self.remove_folder_requested.emit(path)
            )
            remove.setAccessibleName(f"{words.REMOVE_FOLDER} {path}")
            row.addWidget(remove)
        return out

    def _cache_row(self, view: CacheRowView) -> QWidget:
        out = QWidget()
        row = QHBoxLayout(out)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(8)
        row.addWidget(ElidedLabel(view.name, mode=Qt.TextElideMode.ElideRight), 1)
        if view.note:
            row.addWidget(label(view.note, "muted"))
        row.addWidget(label(view.size, "muted"))
        clear = button(words.CLEAR, "flat13", lambda: self.clear_requested.emit(view.key))
        clear.setAccessibleName(f"{words.CLEAR} {view.name}")
        clear.setVisible(view.clearable)
        row.addWidget(clear)
        return out
