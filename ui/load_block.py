"""Load settings of the inspector: backend, context, threads, cache; Apply or Revert.

What is changed here waits: nothing happens before *Apply*, because it loads the model
again. Shows a `LoadDialogView`, emits a `LoadChoice`. Main thread.
"""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QStandardItemModel
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QVBoxLayout, QWidget

from engine.types import Backend
from ui import format as fmt
from ui import strings
from ui import strings_history as words
from ui.controls import button, label, primary_button
from ui.number_field import NumberField
from ui.views import LoadChoice, LoadDialogView

MOST_CONTEXT = 1_048_576


class LoadBlock(QWidget):
    """`applied(LoadChoice)` after *Apply* with valid values."""

    applied = Signal(LoadChoice)

    def __init__(self) -> None:
        super().__init__()
        self._view: LoadDialogView | None = None
        self.none = label(words.LOAD_NONE, "muted", wrap=True)
        self.backend = QComboBox()
        self.backend.setAccessibleName(strings.BACKEND)
        self.reason = label("", "small", wrap=True)
        self.context = NumberField(
            f"{strings.CONTEXT} ({words.TOKENS})", 256, MOST_CONTEXT, whole=True
        )
        self.threads = NumberField(
            strings.THREADS, 1, 256, whole=True, optional=True, placeholder=strings.THREADS_AUTO
        )
        self.cache = QComboBox()
        self.cache.setAccessibleName(strings.CACHE)
        for box in (self.backend, self.cache):
            box.setSizeAdjustPolicy(
                QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
            )
            box.setMinimumContentsLength(7)
        self.pending = label(words.PENDING, "warn", wrap=True)
        self.apply = primary_button(words.APPLY, self._on_apply)
        self.revert = button(words.REVERT, "", self._on_revert)
        self._lay_out()
        for field in (self.context, self.threads):
            field.edited.connect(self._refresh)
            field.field.textEdited.connect(lambda _="": self._refresh())
        self.backend.currentIndexChanged.connect(lambda _=0: self._refresh())
        self.cache.currentIndexChanged.connect(lambda _=0: self._refresh())
        self.set_view(None)

    def _lay_out(self) -> None:
        body = QVBoxLayout(self)
        body.setContentsMargins(0, 0, 0, 0)
        body.setSpacing(8)
        body.addWidget(label(words.LOAD_BLOCK, "strong"))
        body.addWidget(label(words.LOAD_BLOCK_HINT, "small", wrap=True))
        body.addWidget(self.none)
        self._fields = QWidget()
        inner = QVBoxLayout(self._fields)
        inner.setContentsMargins(0, 0, 0, 0)
        inner.setSpacing(8)
        inner.addLayout(_row(strings.BACKEND, self.backend))
        inner.addWidget(self.reason)
        inner.addWidget(self.context)
        inner.addWidget(self.threads)
        inner.addLayout(_row(strings.CACHE, self.cache))
        inner.addWidget(self.pending)
        buttons = QHBoxLayout()
        buttons.setSpacing(8)
        buttons.addStretch(1)
        buttons.addWidget(self.revert)
        buttons.addWidget(self.apply)
        inner.addLayout(buttons)
        body.addWidget(self._fields)

    def set_view(self, view: LoadDialogView | None) -> None:
        """Shows what is loaded now; changes not applied for the same model are kept."""
        keep = self.choice() if self.changed and view and self._view else None
        same = view is not None and self._view is not None and view.path == self._view.path
        self._view = view
        self.none.setVisible(view is None)
        self._fields.setVisible(view is not None)
        if view is None:
            return
        self._fill(view)
        if keep is not None and same:
            self.backend.setCurrentIndex(max(0, self.backend.findData(keep.backend.value)))
            self.context.set_value(keep.context_tokens)
            self.threads.set_value(keep.threads or None)
            self.cache.setCurrentIndex(max(0, self.cache.findData(keep.cache)))
        self._refresh()

    def _fill(self, view: LoadDialogView) -> None:
        for box in (self.backend, self.cache):
            box.blockSignals(True)
            box.clear()
        for choice in view.backends:
            self.backend.addItem(strings.BACKENDS[choice.backend], choice.backend.value)
            model = self.backend.model()
            if choice.reason and isinstance(model, QStandardItemModel):
                item = model.item(self.backend.count() - 1)
                item.setEnabled(False)
                item.setToolTip(fmt.tip(choice.reason))
        for key in view.caches:
            self.cache.addItem(strings.CACHE_CHOICES.get(key, key), key)
        if view.cache not in view.caches:
            self.cache.addItem(view.cache, view.cache)
        self.backend.setCurrentIndex(max(0, self.backend.findData(view.backend.value)))
        self.cache.setCurrentIndex(max(0, self.cache.findData(view.cache)))
        for box in (self.backend, self.cache):
            box.blockSignals(False)
        reasons = [
            f"{strings.BACKENDS[c.backend]}: {c.reason[:1].lower()}{c.reason[1:]}"
            for c in view.backends
            if c.reason
        ]
        self.reason.setText("\n".join(reasons))
        self.reason.setVisible(bool(reasons))
        self.context.set_range(view.min_context, view.max_context or MOST_CONTEXT)
        self.context.set_value(view.context_tokens)
        self.threads.set_range(1, view.max_threads)
        self.threads.set_value(view.threads or None)

    def choice(self) -> LoadChoice | None:
        """What the fields say; None without a model."""
        if self._view is None:
            return None
        return LoadChoice(
            path=self._view.path,
            backend=Backend(self.backend.currentData() or self._view.backend.value),
            spec=self._view.spec.mode,
            context_tokens=self.context.whole_value or self._view.context_tokens,
            threads=self.threads.whole_value or 0,
            cache=str(self.cache.currentData() or self._view.cache),
        )

    @property
    def changed(self) -> bool:
        """True while something waits for *Apply*."""
        view, choice = self._view, self.choice()
        if view is None or choice is None:
            return False
        now = (view.backend, view.context_tokens, view.threads, view.cache)
        wanted = (choice.backend, choice.context_tokens, choice.threads, choice.cache)
        return now != wanted or not (self.context.valid and self.threads.valid)

    def _refresh(self) -> None:
        changed = self.changed
        self.pending.setVisible(changed)
        self.apply.setVisible(changed)
        self.revert.setVisible(changed)
        self.apply.setEnabled(self.context.valid and self.threads.valid)

    def _on_apply(self) -> None:
        choice = self.choice()
        if choice is not None and self.context.valid and self.threads.valid:
            self.applied.emit(choice)

    def _on_revert(self) -> None:
        if self._view is not None:
            self._fill(self._view)
            self._refresh()


def _row(name: str, field: QComboBox) -> QHBoxLayout:
    row = QHBoxLayout()
    row.setSpacing(8)
    words_of = label(name)
    words_of.setBuddy(field)
    row.addWidget(words_of, 1)
    row.addWidget(field, 0, Qt.AlignmentFlag.AlignRight)
    return row
