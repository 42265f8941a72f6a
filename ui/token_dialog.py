"""Asks for the Hugging Face token, only when it is needed. Main thread only.

The field hides what is typed and is emptied as soon as the token was handed on; the dialog
keeps no copy.
"""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QDialog, QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from ui import model_strings as words
from ui import strings
from ui.controls import announce, button, flat_button, label, primary_button, restyle
from ui.dialog_size import room
from ui.theme import theme


class TokenDialog(QDialog):
    """`save_requested(text)` carries the token once; `remove_requested`, `page_requested`."""

    save_requested = Signal(str)
    remove_requested = Signal()
    page_requested = Signal()

    def __init__(self, host: str, keeping: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(words.TOKEN_TITLE)
        self.setModal(True)
        self.field = QLineEdit()
        self.field.setEchoMode(QLineEdit.EchoMode.Password)
        self.field.setPlaceholderText("hf_…")
        self.field.setAccessibleName(words.TOKEN_FIELD)
        self.field.setInputMethodHints(
            Qt.InputMethodHint.ImhSensitiveData | Qt.InputMethodHint.ImhNoPredictiveText
        )
        self.save_button = primary_button(words.TOKEN_SAVE, self._on_save)
        self.save_button.setEnabled(False)
        self.field.textChanged.connect(self._on_text)
        self.field.returnPressed.connect(self._on_save)
        self.remove_button = button(words.TOKEN_REMOVE, "danger", self.remove_requested.emit)
        self._note = label("", "muted", wrap=True)
        line = QHBoxLayout()
        line.setSpacing(8)
        line.addWidget(self.field, 1)
        line.addWidget(self.save_button)
        foot = QHBoxLayout()
        foot.setSpacing(8)
        foot.addWidget(self.remove_button)
        foot.addStretch(1)
        foot.addWidget(button(strings.CLOSE, "", self.reject))
        body = QVBoxLayout(self)
        body.setContentsMargins(24, 20, 24, 20)
        body.setSpacing(12)
        body.addWidget(label(words.TOKEN_TITLE, "title"))
        body.addWidget(label(words.TOKEN_TEXT.format(host=host), "", wrap=True))
        page = flat_button(words.TOKEN_PAGE, self.page_requested.emit)
        body.addWidget(page, 0, Qt.AlignmentFlag.AlignLeft)
        body.addLayout(line)
        body.addWidget(self._note)
        body.addLayout(foot)
        self.setMinimumWidth(min(theme().px(460), room(self).width()))
        self.set_keeping(keeping)
        self.field.setFocus()

    def set_keeping(self, keeping: str, sentence: str = "") -> None:
        """Where a token lives now: "nowhere", "keyring" or "session"."""
        text = " ".join(s for s in (sentence, words.TOKEN_KEPT[keeping]) if s)
        self._say(text, "warn" if keeping == "session" else "muted")
        self.remove_button.setVisible(keeping != "nowhere")
        self.field.setEnabled(True)

    def set_busy(self) -> None:
        self._say(words.TOKEN_TESTING, "muted")
        self.field.setEnabled(False)
        self.save_button.setEnabled(False)

    def set_problem(self, sentence: str) -> None:
        self._say(sentence, "bad")
        self.field.setEnabled(True)
        self.field.setFocus()
        announce(self, sentence, assertive=True)

    def note(self) -> str:
        return self._note.text()

    def _say(self, text: str, kind: str) -> None:
        self._note.setText(text)
        restyle(self._note, kind=kind)

    def _on_text(self, text: str) -> None:
        self.save_button.setEnabled(bool(text.strip()))

    def _on_save(self) -> None:
        text = self.field.text().strip()
        if text:
            self.field.clear()
            self.save_requested.emit(text)
