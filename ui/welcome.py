"""What a window without a conversation shows: the first steps, or a new chat."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QLabel, QSizePolicy, QVBoxLayout, QWidget

from ui import strings
from ui.controls import button, label, primary_button
from ui.icons import app_icon
from ui.layouts import Column, FlowLayout
from ui.theme import theme


class Welcome(QWidget):
    """Offers the demo model, a file, a download. `set_ready(True)` offers a new chat instead."""

    demo_requested = Signal()
    open_requested = Signal()
    download_requested = Signal()
    new_chat_requested = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setProperty("kind", "panel")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        picture = QLabel()
        picture.setPixmap(app_icon().pixmap(theme().px(56)))
        picture.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        picture.setAccessibleName(strings.APP_NAME)
        self._title = label(strings.WELCOME_TITLE, "title")
        self._title.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self._text = label(strings.WELCOME_TEXT, "", wrap=True)
        self._text.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self.demo = primary_button(strings.TRY_DEMO, self.demo_requested.emit)
        self.open = button(strings.OPEN_FILE, "", self.open_requested.emit)
        self.download = button(strings.DOWNLOAD_MODEL, "", self.download_requested.emit)
        self.new_chat = primary_button("New chat", self.new_chat_requested.emit)
        self.new_chat.hide()
        row = QWidget()
        row.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)
        flow = FlowLayout(row, gap=8, line_gap=8)
        for widget in (self.demo, self.open, self.download, self.new_chat):
            flow.addWidget(widget)
        body = QVBoxLayout(self)
        body.setContentsMargins(24, 24, 24, 24)
        body.setSpacing(14)
        body.addStretch(2)
        body.addWidget(picture)
        body.addWidget(self._title)
        body.addWidget(Column(self._text, theme().px(500), 0))
        body.addWidget(row, 0, Qt.AlignmentFlag.AlignHCenter)
        body.addStretch(3)
        private = label(strings.PRIVACY_LINE, "small")
        body.addWidget(private, 0, Qt.AlignmentFlag.AlignHCenter)

    def set_ready(self, ready: bool) -> None:
        """True: a model is there, so the next step is a conversation."""
        self._title.setText(strings.EMPTY_CHAT_TITLE if ready else strings.WELCOME_TITLE)
        self._text.setText(strings.EMPTY_CHAT_TEXT if ready else strings.WELCOME_TEXT)
        self.new_chat.setVisible(ready)
        for widget in (self.demo, self.open, self.download):
            widget.setVisible(not ready)
