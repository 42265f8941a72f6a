"""Questions without nested event loops: dialogs are opened, the answer comes as a signal or future.

Never `exec()`: a nested loop would run while coroutines wait (qasync). `ask` is for
coroutines; `AskDialog.answered` for everything else. Main thread only.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QDialog,
    QFileDialog,
    QHBoxLayout,
    QLineEdit,
    QPlainTextEdit,
    QVBoxLayout,
    QWidget,
)

from ui import format as fmt
from ui import strings
from ui.controls import button, label
from ui.dialog_size import room
from ui.input_method import KeysOfInputMethod
from ui.theme import theme
from ui.views import NoticeAction


class AskDialog(QDialog):
    """A question with buttons. `answered(id)` fires exactly once; "" means closed or Esc.

    The last action is the rightmost button; the primary one (or the last) is the default.
    """

    answered = Signal(str)

    def __init__(
        self,
        parent: QWidget | None,
        title: str,
        text: str,
        actions: Sequence[NoticeAction],
        details: str = "",
    ) -> None:
        super().__init__(parent)
        title, text = fmt.plain(title), fmt.words(text)
        self.setWindowTitle(title)
        self.setModal(True)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._answer = ""
        body = QVBoxLayout(self)
        body.setContentsMargins(24, 20, 24, 20)
        body.setSpacing(12)
        body.addWidget(label(title, "title", wrap=True))
        if text:
            words = label(text, "", wrap=True)
            words.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            body.addWidget(words)
        if details:
            box = QPlainTextEdit(fmt.clean_text(details))
            box.setReadOnly(True)
            box.setProperty("kind", "field")
            box.setAccessibleName(strings.DETAILS)
            box.setMaximumHeight(theme().px(160))
            body.addWidget(box)
        self._extra = QVBoxLayout()
        body.addLayout(self._extra)
        row = QHBoxLayout()
        row.setSpacing(8)
        row.addStretch(1)
        self.buttons = {}
        for action in actions:
            out = button(action.label, "primary" if action.primary else "")
            out.clicked.connect(lambda _=False, i=action.id: self._choose(i))
            row.addWidget(out)
            self.buttons[action.id] = out
            if action.primary or action is actions[-1]:
                out.setDefault(True)
        body.addLayout(row)
        most = room(self).width()
        self.setMinimumWidth(min(theme().px(380), most))
        self.setMaximumWidth(min(theme().px(560), most))
        self.finished.connect(lambda _: self.answered.emit(self._answer))

    def add(self, widget: QWidget) -> None:
        """Puts a control between the text and the buttons."""
        self._extra.addWidget(widget)

    def _choose(self, action_id: str) -> None:
        self._answer = action_id
        self.accept()


async def ask(
    parent: QWidget | None,
    title: str,
    text: str,
    actions: Sequence[NoticeAction],
    details: str = "",
) -> str:
    """Shows a question and waits; the id of the chosen action, "" when it was closed."""
    future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    dialog = AskDialog(parent, title, text, actions, details)

    def finish(answer: str) -> None:
        if not future.done():
            future.set_result(answer)

    dialog.answered.connect(finish)
    dialog.open()
    try:
        return await future
    except asyncio.CancelledError:
        dialog.reject()
        raise


async def confirm(parent: QWidget | None, title: str, text: str, yes: str) -> bool:
    """A yes/Cancel question; `yes` is the verb on the primary button."""
    actions = (NoticeAction("no", strings.CANCEL), NoticeAction("yes", yes, primary=True))
    return await ask(parent, title, text, actions) == "yes"


async def ask_text(parent: QWidget | None, title: str, text: str, value: str = "") -> str | None:
    """Asks for one line; None when cancelled."""
    future: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
    actions = (NoticeAction("no", strings.CANCEL), NoticeAction("yes", strings.OK, primary=True))
    dialog = AskDialog(parent, title, text, actions)
    field = QLineEdit(value)
    KeysOfInputMethod(field)
    field.setAccessibleName(title)
    field.selectAll()
    dialog.add(field)
    field.setFocus()

    def finish(answer: str) -> None:
        if not future.done():
            future.set_result(field.text() if answer == "yes" else None)

    dialog.answered.connect(finish)
    dialog.open()
    return await future


async def ask_file(
    parent: QWidget | None,
    title: str,
    filters: str,
    *,
    folder: str = "",
    save_as: str = "",
    many: bool = False,
) -> list[str]:
    """The system's file dialog without blocking; an empty list when cancelled.

    `save_as` proposes a name and makes it a save dialog.
    """
    future: asyncio.Future[list[str]] = asyncio.get_running_loop().create_future()
    dialog = QFileDialog(parent, title, folder, filters)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    if save_as:
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.selectFile(save_as)
    else:
        mode = QFileDialog.FileMode
        dialog.setFileMode(mode.ExistingFiles if many else mode.ExistingFile)

    def finish(result: int) -> None:
        if not future.done():
            future.set_result(dialog.selectedFiles() if result else [])

    dialog.finished.connect(finish)
    dialog.open()
    return await future
