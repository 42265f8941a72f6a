"""The form a chat's answers must have, chosen by the person: a menu entry, a button, a dialog.

Main thread. The button stands in the box only while a form is set, so that nobody forgets
it. A form lasts until it is taken away or the program ends; it is not part of the history.
"""

from __future__ import annotations

from PySide6.QtWidgets import QMenu, QPushButton

from app.services import Services
from app.tools.regex_wire import NotSpellable
from app.tools.structured import to_wire
from engine.types import Constraint
from ui import tool_strings as words
from ui.controls import menu_button
from ui.form_dialog import FormDialog
from ui.main_window import MainWindow


class ChatForms:
    """One form per open chat, at most."""

    def __init__(self, window: MainWindow, services: Services) -> None:
        self._window = window
        self._services = services
        self._forms: dict[str, Constraint] = {}
        self._buttons: dict[str, QPushButton] = {}
        chats = services.chats
        for chat in chats.chats:
            self._add(chat.key)
        chats.opened.connect(self._add)
        chats.closed.connect(self._forget)
        services.chat_context.form_for = self._forms.get
        window.on_action("answer_form", self._ask_for_current)

    def choose(self, key: str, form: Constraint | None) -> None:
        """Sets the form of a chat's next messages; None: free text."""
        if form is None:
            self._forms.pop(key, None)
        else:
            self._forms[key] = form
        self._show(key)

    def ask(self, key: str) -> FormDialog:
        """Opens the dialog for one chat."""
        dialog = FormDialog(self._window, self._forms.get(key))
        dialog.form_changed.connect(lambda form: dialog.set_problem(self._problem(form)))
        dialog.chosen.connect(lambda form: self.choose(key, form))
        dialog.set_problem(self._problem(dialog.constraint()))
        dialog.open()
        return dialog

    def _problem(self, form: Constraint) -> str:
        options = self._services.chat_context.options()
        info = self._services.facts.known(options.model_path) if options else None
        try:
            to_wire(form, info)
        except NotSpellable as problem:
            return str(problem)
        return ""

    def _ask_for_current(self) -> None:
        chat = self._services.chats.current()
        if chat is not None:
            self.ask(chat.key)

    def _add(self, key: str) -> None:
        page = self._services.chats.page(key)
        if page is None or key in self._buttons:
            return
        menu = QMenu(page)
        menu.addAction(words.CHANGE_FORM, lambda: self.ask(key))
        menu.addAction(words.NO_FORM, lambda: self.choose(key, None))
        self._buttons[key] = menu_button("", menu)
        page.composer.add_button(self._buttons[key])
        self._show(key)

    def _forget(self, key: str) -> None:
        self._buttons.pop(key, None)
        self._forms.pop(key, None)

    def _show(self, key: str) -> None:
        shown, form = self._buttons.get(key), self._forms.get(key)
        if shown is None:
            return
        text = words.FORM_BUTTON.format(kind=words.FORM_KINDS[form.kind]) if form else ""
        shown.setText(f"{text} ▾")
        shown.setAccessibleName(text)
        shown.setToolTip(words.FORM_TIP)
        shown.setVisible(form is not None)
