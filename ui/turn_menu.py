"""The menu of one turn: copy, quote, edit or regenerate, details, delete. Main thread only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMenu

from ui import strings

if TYPE_CHECKING:
    from ui.message_view import MessageView


def turn_menu(view: MessageView, link: str = "") -> QMenu:
    """The menu of one turn; `link` is the address under the pointer. Deletes itview."""
    menu = QMenu(view)
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    selected = view.words.selected_text()
    if selected:
        menu.addAction("Copy selection", lambda: view.copied.emit(selected))
    if link:
        menu.addAction("Copy address", lambda: view.copied.emit(link))
    menu.addAction("Copy message", view.copy_text)
    text = selected or view.raw_text()
    menu.addAction(strings.QUOTE, lambda: view.quoted.emit(view.view.node_id, text))
    menu.addSeparator()
    if view.is_user:
        menu.addAction(strings.EDIT, view.start_edit).setEnabled(not view.busy)
    else:
        again = menu.addAction(strings.REGENERATE, lambda: view.act("regenerate"))
        again.setEnabled(not view.busy)
        if view.view.footer is not None and view.view.footer.details:
            menu.addAction(strings.RUN_DETAILS, view.show_details)
    gone = menu.addAction(strings.DELETE_TURN, lambda: view.act("delete"))
    gone.setEnabled(not view.busy)
    return menu
