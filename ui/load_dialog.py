"""How to load a model: backend, speculation (only with a drafter), context, threads, cache.

Opened without blocking; `chosen(LoadChoice)` fires when the person presses Load, `measure`
when they ask for a measurement. A backend that cannot work is disabled with its reason.
Main thread only.
"""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QGridLayout,
    QHBoxLayout,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from engine.types import Backend, SpecMode
from ui import format as fmt
from ui import strings
from ui.choice_cards import ChoiceRow
from ui.controls import ElidedLabel, button, label, primary_button
from ui.dialog_size import open_at, room
from ui.layouts import FlowLayout
from ui.tool_page import PageArea, TallPage
from ui.turn_parts import Disclosure
from ui.views import LoadChoice, LoadDialogView

_SHORT = {SpecMode.OFF: "Off", SpecMode.ON: "On", SpecMode.AUTO: "Auto"}


class LoadDialog(QDialog):
    """Call `open()`; never `exec()`. Deletes itself when closed."""

    chosen = Signal(object)
    measure_requested = Signal()

    def __init__(self, view: LoadDialogView, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._view = view
        name = fmt.plain(view.model, 60)
        title = strings.LOAD_TITLE.format(model=name)
        self.setWindowTitle(title)
        self.setModal(True)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._page = TallPage()
        area = PageArea()
        area.setWidget(self._page)
        area.setFrameShape(PageArea.Shape.NoFrame)
        self._outer = QVBoxLayout(self)
        self._outer.setContentsMargins(25, 22, 25, 22)
        self._outer.setSpacing(8)
        self._outer.addWidget(area, 1)
        body = self._page.body
        body.setContentsMargins(0, 0, 0, 0)
        body.setSpacing(8)
        body.addWidget(ElidedLabel(title, "title"))
        body.addWidget(ElidedLabel(view.summary or view.path, "muted"))
        body.addSpacing(4)
        self.backends = self._backend_row(view)
        body.addWidget(label(strings.BACKEND, "strong13"))
        body.addWidget(self.backends)
        self.spec: ChoiceRow | None = None
        if view.spec.available:
            self._add_spec(body, view)
        if view.note:
            body.addWidget(label(view.note, "warn", wrap=True))
        body.addSpacing(2)
        body.addWidget(self._advanced(view))
        self._last = self._last_row(view)
        self._outer.addWidget(self._last)
        open_at(self, 640, 100, least=(480, 0))
        self._fit()
        self.load_button.setFocus()

    def _backend_row(self, view: LoadDialogView) -> ChoiceRow:
        row = ChoiceRow(strings.BACKEND)
        usable: list[Backend] = []
        for choice in view.backends:
            title = strings.BACKENDS[choice.backend]
            row.add(str(choice.backend), title, choice.reason or choice.text, not choice.reason)
            if not choice.reason:
                usable.append(choice.backend)
        if usable:
            row.set_value(str(view.backend if view.backend in usable else usable[0]))
        return row

    def _add_spec(self, body: QVBoxLayout, view: LoadDialogView) -> None:
        self.spec = ChoiceRow(strings.SPECULATIVE)
        for mode in SpecMode:
            self.spec.add(str(mode), _SHORT[mode], view.spec.text_of(mode))
        self.backends.changed.connect(self._on_backend)
        self._on_backend(self.backends.value())
        self.spec.set_value(str(view.spec.mode))
        head = QHBoxLayout()
        head.addWidget(label(strings.SPECULATIVE, "strong13"))
        head.addStretch(1)
        head.addWidget(button(strings.MEASURE, "flat", self._on_measure))
        body.addLayout(head)
        body.addWidget(self.spec)
        body.addWidget(label(strings.SPEC_EXPLAINED, "muted", wrap=True))

    def _on_backend(self, value: str) -> None:
        """What was measured belongs to one backend: the other one has texts of its own."""
        texts = self._view.spec_texts.get(Backend(value)) if value else None
        if self.spec is None or texts is None:
            return
        for mode in SpecMode:
            self.spec.card(str(mode)).set_text(texts.get(mode, strings.NOT_MEASURED))

    def _advanced(self, view: LoadDialogView) -> Disclosure:
        box = QWidget()
        grid = QGridLayout(box)
        grid.setContentsMargins(6, 2, 0, 6)
        grid.setHorizontalSpacing(12)
        self.threads = QSpinBox()
        self.threads.setRange(0, view.max_threads)
        self.threads.setSpecialValueText(strings.THREADS_AUTO)
        self.threads.setValue(view.threads)
        self.threads.lineEdit().setTextMargins(8, 0, 0, 0)
        self.threads.setAccessibleName(strings.THREADS)
        self.cache = QComboBox()
        self.cache.setAccessibleName(strings.CACHE)
        for key in view.caches:
            self.cache.addItem(strings.CACHE_CHOICES.get(key, key), key)
        self.cache.setCurrentIndex(max(0, self.cache.findData(view.cache)))
        for row, (text, field) in enumerate(
            ((strings.THREADS, self.threads), (strings.CACHE, self.cache))
        ):
            name = label(text, "muted")
            name.setBuddy(field)
            grid.addWidget(name, row, 0)
            grid.addWidget(field, row, 1, Qt.AlignmentFlag.AlignLeft)
        grid.setColumnStretch(1, 1)
        out = Disclosure(strings.ADVANCED, box)
        out.toggled_by_person.connect(lambda _: self._fit())
        return out

    def _last_row(self, view: LoadDialogView) -> QWidget:
        self.context = QSpinBox()
        self.context.lineEdit().setTextMargins(8, 0, 0, 0)
        self.context.setAccessibleName(strings.CONTEXT)
        self.context.setRange(view.min_context, view.max_context or 1_000_000)
        self.context.setSingleStep(512)
        self.context.setSuffix(" tokens")
        self.context.setValue(view.context_tokens)
        name = label(strings.CONTEXT, "strong13")
        name.setBuddy(self.context)
        self.load_button = primary_button(strings.LOAD, self._on_load)
        self.load_button.setDefault(True)
        self.load_button.setEnabled(bool(self.backends.value()))
        row = QWidget()
        flow = FlowLayout(row, gap=8, line_gap=8)
        ends = QWidget()  # the two buttons go to the next line together
        pair = QHBoxLayout(ends)
        pair.setContentsMargins(0, 0, 0, 0)
        pair.setSpacing(8)
        pair.addWidget(button(strings.CANCEL, "", self.reject))
        pair.addWidget(self.load_button)
        for part in (name, self.context, label(strings.CONTEXT_HINT, "muted"), ends):
            flow.addWidget(part)
        flow.push_from = 3
        return row

    def _fit(self) -> None:
        """As tall as everything in it, or as the screen; then the page scrolls."""
        margins = self._outer.contentsMargins()
        wide = self.width() - margins.left() - margins.right()
        tall = self._page.body.totalHeightForWidth(wide) + self._last.heightForWidth(wide)
        tall += margins.top() + margins.bottom() + self._outer.spacing()
        self.resize(self.width(), min(tall, room(self).height()))

    def choice(self) -> LoadChoice:
        """What is chosen right now."""
        spec = SpecMode(self.spec.value()) if self.spec is not None else SpecMode.OFF
        return LoadChoice(
            path=self._view.path,
            backend=Backend(self.backends.value()),
            spec=spec,
            context_tokens=self.context.value(),
            threads=self.threads.value(),
            cache=str(self.cache.currentData()),
        )

    def _on_load(self) -> None:
        self.context.interpretText()
        self.threads.interpretText()
        self.chosen.emit(self.choice())
        self.accept()

    def _on_measure(self) -> None:
        self.measure_requested.emit()
        self.reject()
