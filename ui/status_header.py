"""The line on top of every tab: what is loaded, in one order everywhere.

`MODEL · BACKEND · context N tokens · speculative on|off`, in the chat with `thinking` and the
modalities. It loses its middle when there is no room and keeps the whole text for the
tooltip and for screen readers.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QSize, Qt, Signal
from PySide6.QtGui import QFont, QFontMetricsF, QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QSizePolicy, QWidget

from ui import strings
from ui.controls import button
from ui.format import DOT, tip
from ui.theme import theme
from ui.views import HeaderView

_SEPARATOR = "  ·  "


class HeaderText(QLabel):
    """Draws the parts: the model in semibold, the rest muted, `speculative on` in accent."""

    def __init__(self, extras: bool) -> None:
        super().__init__()
        self._extras = extras
        self._view = HeaderView()
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.set_view(self._view)

    def set_view(self, view: HeaderView) -> None:
        self._view = view
        text = view.text(self._extras)
        if text != self.text():
            self.setText(text)
            self.setToolTip(tip(text))

    def minimumSizeHint(self) -> QSize:
        return QSize(80, theme().px(20))

    def sizeHint(self) -> QSize:
        return QSize(super().sizeHint().width() + 60, theme().px(20))

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.StyleChange:
            self.updateGeometry()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        bold, plain = theme().font(13, 600), theme().font(13)
        parts = list(self._view.parts(self._extras))
        runs = self._runs(parts, bold, plain)
        width = sum(QFontMetricsF(f).horizontalAdvance(t) for t, f, _ in runs)
        if width > self.width():
            room = self.width() - (width - QFontMetricsF(bold).horizontalAdvance(parts[0]))
            if room > 60 and len(parts) > 1:
                mode = Qt.TextElideMode.ElideMiddle
                parts[0] = QFontMetricsF(bold).elidedText(parts[0], mode, room)
                runs = self._runs(parts, bold, plain)
            else:
                mode = Qt.TextElideMode.ElideMiddle
                line = QFontMetricsF(plain).elidedText(DOT.join(parts), mode, self.width())
                runs = [(line, plain, "text")]
        x = 0.0
        metrics = QFontMetricsF(plain)
        base = (self.height() + metrics.ascent() - metrics.descent()) / 2
        for text, font, token in runs:
            painter.setFont(font)
            painter.setPen(theme().color(token))
            painter.drawText(round(x), round(base), text)
            x += QFontMetricsF(font).horizontalAdvance(text)

    def _runs(self, parts: list[str], bold: QFont, plain: QFont) -> list[tuple[str, QFont, str]]:
        ready = self._view.phase == "ready"
        out: list[tuple[str, QFont, str]] = []
        for index, part in enumerate(parts):
            if index:
                out.append((_SEPARATOR if ready else DOT, plain, "muted"))
            if index == 0:
                out.append((part, bold, "text" if self._view.phase != "none" else "muted"))
            elif part == "speculative on":
                out.append((part, bold, "accent"))
            else:
                out.append((part, plain, "muted"))
        return out


class StatusHeader(QFrame):
    """`set_view` shows the state; the button switches the model or cancels a load."""

    switch_requested = Signal()
    cancel_requested = Signal()

    def __init__(self, extras: bool = False, margin: int = 20) -> None:
        super().__init__()
        self.setObjectName("header")
        self._view = HeaderView()
        self.text = HeaderText(extras)
        self._extras = extras
        self._button = button(strings.CHOOSE_MODEL, "flat13", self._on_clicked)
        self._row = QHBoxLayout(self)
        self._right = margin - 6
        self._row.setContentsMargins(margin, 4, self._right, 4)
        self._row.setSpacing(12)
        self._row.addWidget(self.text, 1)
        self._row.addWidget(self._button)
        theme().changed.connect(self._fit)
        self._fit()

    def set_compact(self, on: bool) -> None:
        """Less room above and below, in a small window."""
        edge = 0 if on else 4
        self._row.setContentsMargins(self._row.contentsMargins().left(), edge, self._right, edge)
        self.setMinimumHeight(theme().px(24 if on else 35))

    def add_left(self, widget: QWidget) -> None:
        """Puts a small control before the text (the folded sidebar's button)."""
        self._row.insertWidget(0, widget)

    def add_right(self, widget: QWidget) -> None:
        """Puts a small control after the text, before the model button."""
        self._row.insertWidget(self._row.count() - 1, widget)

    def view(self) -> HeaderView:
        return self._view

    def text_shown(self) -> str:
        """The whole line, also when it is elided on screen."""
        return self._view.text(self._extras)

    def set_view(self, view: HeaderView) -> None:
        self._view = view
        self.text.set_view(view)
        self.text.update()
        wanted = {"loading": strings.CANCEL, "ready": strings.SWITCH_MODEL}
        self._button.setText(wanted.get(view.phase, strings.CHOOSE_MODEL))

    def _fit(self) -> None:
        self.setMinimumHeight(max(theme().px(35), self._button.sizeHint().height() + 8))

    def _on_clicked(self) -> None:
        if self._view.phase == "loading":
            self.cancel_requested.emit()
        else:
            self.switch_requested.emit()
