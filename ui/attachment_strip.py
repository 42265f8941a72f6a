"""The row of images and sounds that will be sent with the next message.

Hidden while empty, so the composer knows whether there is something to send. Thumbnails
are read at their small size only. Main thread.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QImageReader, QPixmap
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from ui import format as fmt
from ui import strings_history as words
from ui.controls import ElidedLabel, icon_button, label
from ui.focus_kept import focus_kept
from ui.icons import icon
from ui.layouts import FlowLayout
from ui.theme import theme
from ui.views import AttachmentView

SIDE = 40


def thumbnail(path: str, side: int, ratio: float) -> QPixmap:
    """A small picture of the file, null when it cannot be read."""
    reader = QImageReader(path)
    reader.setAutoTransform(True)
    size = reader.size()
    if size.isValid():
        box = QSize(round(side * ratio), round(side * ratio))
        fitted = size.scaled(box, Qt.AspectRatioMode.KeepAspectRatio)
        reader.setScaledSize(QSize(max(1, fitted.width()), max(1, fitted.height())))
    image = reader.read()
    if image.isNull():
        return QPixmap()
    out = QPixmap.fromImage(image)
    out.setDevicePixelRatio(ratio)
    return out


class AttachmentChip(QFrame):
    """One file: picture or icon, name, size, remove."""

    removed = Signal(str)

    def __init__(self, view: AttachmentView) -> None:
        super().__init__()
        self.view = view
        self.setProperty("kind", "card")
        self.setProperty("tone", "bad" if view.error else "")
        self.setAccessibleName(f"{view.name}, {view.error or fmt.size(view.bytes)}")
        name = fmt.plain(view.name, 120)
        side = theme().px(SIDE)
        picture = QLabel()
        picture.setFixedSize(side, side)
        picture.setAlignment(Qt.AlignmentFlag.AlignCenter)
        small = QPixmap()
        if view.kind == "image" and view.path:
            small = thumbnail(view.path, side, self.devicePixelRatioF())
        if small.isNull():
            small = icon(view.kind if view.kind in ("image", "audio") else "file").pixmap(20, 20)
        picture.setPixmap(small)
        title = ElidedLabel(name, "strong13")
        title.setMaximumWidth(theme().px(180))
        self.note = label(view.error or fmt.size(view.bytes), "bad" if view.error else "small")
        texts = QVBoxLayout()
        texts.setSpacing(0)
        texts.addWidget(title)
        texts.addWidget(self.note)
        self.remove = icon_button(
            "close",
            words.REMOVE_ATTACHMENT.format(name=name),
            lambda: self.removed.emit(view.id),
            size=12,
        )
        row = QHBoxLayout(self)
        row.setContentsMargins(6, 4, 6, 4)
        row.setSpacing(8)
        row.addWidget(picture)
        row.addLayout(texts)
        row.addWidget(self.remove)


class AttachmentStrip(QWidget):
    """`set_items` shows what is attached; `removed(id)` asks to take one away."""

    removed = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.setAccessibleName(words.ATTACHMENTS)
        self._chips: list[AttachmentChip] = []
        self._flow = FlowLayout(self, gap=8, line_gap=6)
        self.hide()

    def items(self) -> tuple[AttachmentView, ...]:
        return tuple(c.view for c in self._chips)

    def set_items(self, items: Sequence[AttachmentView]) -> None:
        with focus_kept(self):
            self._fill(items)

    def _fill(self, items: Sequence[AttachmentView]) -> None:
        for chip in self._chips:
            self._flow.removeWidget(chip)
            chip.hide()
            chip.deleteLater()
        self._chips = [AttachmentChip(i) for i in items]
        for chip in self._chips:
            chip.removed.connect(self.removed)
            self._flow.addWidget(chip)
            chip.show()
        self.setVisible(bool(items))
        self.updateGeometry()
