"""The inspector on the right (Ctrl+Alt+I): load settings and generation settings.

Two separate blocks: *Load* waits for Apply, *Generation* acts from the next message on and
can be kept as a preset. Shows plain values, emits what a person changes. Main thread.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QObject, QSize, Qt, Signal
from PySide6.QtWidgets import (
    QApplication,
    QComboBox,
    QFrame,
    QHBoxLayout,
    QMenu,
    QScrollArea,
    QStyle,
    QVBoxLayout,
    QWidget,
)

from ui import strings_history as words
from ui.controls import hline, icon_button, label
from ui.generation_block import GenerationBlock, GenerationView
from ui.load_block import LoadBlock
from ui.views import LoadDialogView

WIDTH = 320
NARROW = 400
"""Large text must not push the conversation away: the panel never needs more than this."""


class _Area(QScrollArea):
    """Scrolls up and down only, so it is never narrower than what it holds."""

    def minimumSizeHint(self) -> QSize:
        content = self.widget()
        held = content.minimumSizeHint().width() if content is not None else 0
        bar = QApplication.style().pixelMetric(QStyle.PixelMetric.PM_ScrollBarExtent)
        return QSize(held + bar, super().minimumSizeHint().height())

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest:
            self.updateGeometry()
        return super().eventFilter(watched, event)


class ChatSettingsPanel(QFrame):
    """`load.applied` and `generation.changed` carry the edits; presets are named here."""

    preset_applied = Signal(str)
    preset_save_requested = Signal()
    preset_deleted = Signal(str)
    preset_default_set = Signal(str)
    """"" means: new chats start without a preset."""
    close_requested = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("sidebar")
        self.setAccessibleName(words.CHAT_SETTINGS)
        self.load = LoadBlock()
        self.generation = GenerationBlock()
        self.presets = QComboBox()
        self.presets.setAccessibleName(words.PRESET)
        self.presets.setSizeAdjustPolicy(
            QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
        )
        self.presets.setMinimumContentsLength(4)
        self.presets.activated.connect(self._on_preset)
        self.more = icon_button("more", f"{words.PRESET}…", self._on_more)
        self._default = ""
        self._lay_out()
        self.set_presets((), "", "")

    def _lay_out(self) -> None:
        content = QWidget()
        body = QVBoxLayout(content)
        body.setContentsMargins(16, 12, 16, 16)
        body.setSpacing(16)
        preset = QHBoxLayout()
        preset.setSpacing(6)
        name = label(words.PRESET)
        name.setBuddy(self.presets)
        preset.addWidget(name)
        preset.addWidget(self.presets, 1)
        preset.addWidget(self.more)
        body.addLayout(preset)
        body.addWidget(self.generation)
        body.addWidget(hline())
        body.addWidget(self.load)
        body.addStretch(1)
        area = _Area()
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        area.setWidget(content)
        area.setWidgetResizable(True)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setFrameShape(QFrame.Shape.NoFrame)
        head = QHBoxLayout()
        head.setContentsMargins(16, 10, 10, 0)
        head.addWidget(label(words.CHAT_SETTINGS, "title"), 1)
        self.close_button = icon_button("close", words.FIND_CLOSE, self.close_requested.emit)
        self.close_button.setToolTip("Ctrl+Alt+I")
        head.addWidget(self.close_button)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.setSpacing(4)
        outer.addLayout(head)
        outer.addWidget(area, 1)

    def set_generation(self, view: GenerationView) -> None:
        self.generation.set_view(view)

    def set_load(self, view: LoadDialogView | None) -> None:
        self.load.set_view(view)

    def set_presets(self, names: Sequence[str], current: str, default: str) -> None:
        """All presets, the one the conversation equals ("" none), the one of new chats."""
        self._default = default
        self.presets.blockSignals(True)
        self.presets.clear()
        self.presets.addItem(words.PRESET_NONE, "")
        for name in names:
            shown = words.PRESET_IS_DEFAULT.format(name=name) if name == default else name
            self.presets.addItem(shown, name)
        self.presets.setCurrentIndex(max(0, self.presets.findData(current)))
        self.presets.blockSignals(False)

    def _on_preset(self, index: int) -> None:
        name = str(self.presets.itemData(index) or "")
        if name:
            self.preset_applied.emit(name)

    def preset_menu(self) -> QMenu:
        """Save, use for new chats, delete."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        current = str(self.presets.currentData() or "")
        menu.addAction(words.PRESET_SAVE, self.preset_save_requested.emit)
        use = menu.addAction(words.PRESET_DEFAULT)
        use.setCheckable(True)
        use.setChecked(current == self._default)
        use.triggered.connect(lambda on: self.preset_default_set.emit(current if on else ""))
        delete = menu.addAction(words.PRESET_DELETE, lambda: self.preset_deleted.emit(current))
        delete.setEnabled(bool(current))
        return menu

    def _on_more(self) -> None:
        self.preset_menu().popup(self.more.mapToGlobal(self.more.rect().bottomLeft()))
