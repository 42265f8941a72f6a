"""The switch that lets the model of one chat call tools: a button in its box, a menu entry.

Main thread. Shown only for models that can call tools; the choice is kept with the chat.
"""

from __future__ import annotations

import msgspec
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QPushButton

from app.services import Services
from ui import tool_strings as words
from ui.controls import button
from ui.main_window import MainWindow


class ChatToolsSwitch:
    """One button per open chat, kept in step with the chat and the model."""

    def __init__(self, window: MainWindow, services: Services) -> None:
        self._services = services
        self._buttons: dict[str, QPushButton] = {}
        self._action: QAction = window.on_action("toggle_tools", self._toggle_current)
        chats = services.chats
        for chat in chats.chats:
            self._add(chat.key)
        chats.opened.connect(self._add)
        chats.closed.connect(lambda key: self._buttons.pop(key, None))
        chats.changed.connect(self._show)
        chats.current_changed.connect(lambda _key: self._show_action())
        services.state.changed.connect(self.refresh)

    def refresh(self) -> None:
        """Shows every switch as it is now."""
        for key in self._buttons:
            self._show(key)
        self._show_action()

    def _possible(self) -> bool:
        options = self._services.chat_context.options()
        if options is None:
            return False
        loaded = self._services.state.loaded
        same = loaded is not None and loaded.info.path == options.model_path
        info = loaded.info if loaded and same else self._services.facts.known(options.model_path)
        return info is not None and info.supports_tools

    def _add(self, key: str) -> None:
        page = self._services.chats.page(key)
        if page is None or key in self._buttons:
            return
        switch = button(words.CHAT_SWITCH[False], "", lambda: self._toggle(key))
        switch.setToolTip(words.CHAT_SWITCH_TIP)
        self._buttons[key] = switch
        page.composer.add_button(switch)
        self._show(key)

    def _show(self, key: str) -> None:
        switch, chat = self._buttons.get(key), self._services.chats.chat(key)
        if switch is None or chat is None:
            return
        switch.setText(words.CHAT_SWITCH[chat.settings.tools])
        switch.setVisible(self._possible())
        self._show_action()

    def _show_action(self) -> None:
        chat = self._services.chats.current()
        possible = self._possible()
        self._action.setEnabled(possible and chat is not None)
        self._action.setChecked(possible and chat is not None and chat.settings.tools)

    def _toggle_current(self) -> None:
        chat = self._services.chats.current()
        if chat is not None:
            self._toggle(chat.key)

    def _toggle(self, key: str) -> None:
        chat = self._services.chats.chat(key)
        if chat is not None:
            on = not chat.settings.tools
            chat.change_settings(msgspec.structs.replace(chat.settings, tools=on))
            self._show(key)
