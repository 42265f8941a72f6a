"""The inspector: settings of the chat in front, its presets, and what is loaded.

Main thread. Generation settings go to the chat, load settings to the engine's controller
after *Apply*, presets to the settings file.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING

import msgspec
from PySide6.QtCore import QObject

from app import presets
from app.load_view import load_view
from app.notices import Action, Notice
from engine.types import LoadOptions, ModelInfo, SpecMode
from ui import strings
from ui import strings_history as words
from ui.chat_settings_panel import NARROW, WIDTH, ChatSettingsPanel
from ui.dialogs import ask_text
from ui.generation_block import GenerationValues, GenerationView
from ui.main_window import MainWindow
from ui.theme import theme
from ui.views import LoadChoice, LoadDialogView, SpecChoice

if TYPE_CHECKING:
    from app.services import Services

Run = Callable[[Coroutine[object, object, object]], None]


class InspectorController(QObject):
    """Shown by Ctrl+Alt+I, the menu, and *Sampling* in the box."""

    def __init__(self, window: MainWindow, services: Services, run: Run) -> None:
        super().__init__(window)
        self._window = window
        self._services = services
        self._chats = services.chats
        self._run = run
        self.panel = ChatSettingsPanel()
        self.panel.resize(theme().px(WIDTH), self.panel.height())
        window.chat.set_inspector(self.panel)
        self.panel.close_requested.connect(self.panel.hide)
        self.panel.generation.changed.connect(self._on_generation)
        self.panel.generation.spec_changed.connect(self._on_spec)
        self.panel.load.applied.connect(lambda choice: run(self._apply(choice)))
        self.panel.preset_applied.connect(self._apply_preset)
        self.panel.preset_save_requested.connect(lambda: run(self._save_preset()))
        self.panel.preset_deleted.connect(self._delete_preset)
        self.panel.preset_default_set.connect(
            lambda name: presets.set_default(services.settings, name)
        )
        window.on_action("inspector", self.toggle)
        window.on_action("chat_settings", self.show)
        self._chats.sampling_requested.connect(lambda _key: self.toggle())
        self._chats.current_changed.connect(lambda _key: self.refresh())
        self._chats.changed.connect(self._on_changed)
        services.state.changed.connect(self.refresh)
        services.models.picked_changed.connect(self.refresh)
        services.settings.subscribe(lambda _settings: self.refresh())

    def toggle(self) -> None:
        self.panel.setVisible(not self.panel.isVisible())
        if self.panel.isVisible():
            self.show()

    def show(self) -> None:
        self._window.select_tab("chat")
        self.panel.show()
        self._give_room()
        self.refresh()
        self._run(self._look())
        self.panel.generation.system.setFocus()

    def _give_room(self) -> None:
        splitter = self._window.chat.splitter
        sizes = splitter.sizes()
        wanted = min(theme().px(WIDTH), max(NARROW, sum(sizes) // 3))
        if sizes and sizes[-1] < wanted:
            sizes[-2] = max(1, sizes[-2] - (wanted - sizes[-1]))
            sizes[-1] = wanted
            splitter.setSizes(sizes)

    def _on_changed(self, key: str) -> None:
        chat = self._chats.current()
        if chat is not None and chat.key == key:
            self.refresh()

    def refresh(self) -> None:
        """Shows the chat in front; cheap while hidden."""
        if not self.panel.isVisible():
            return
        settings = self._services.settings.value
        chat = self._chats.current()
        self.panel.setEnabled(chat is not None)
        if chat is not None:
            info = self._chats.info()
            options = self._services.models.picked
            own = chat.settings
            self.panel.set_generation(
                GenerationView(
                    values=GenerationValues(
                        system=own.system,
                        sampling=own.sampling,
                        thinking=own.thinking,
                        thinking_budget=own.thinking_budget,
                        tools=own.tools,
                    ),
                    supports_thinking=None if info is None else info.supports_thinking,
                    supports_tools=None if info is None else info.supports_tools,
                    spec=self._spec(chat.settings.spec, info, options),
                    speculating=options is not None and chat.speculative_for(info, options.backend),
                )
            )
            self.panel.set_presets(
                [p.name for p in settings.presets],
                presets.matching(settings, own),
                settings.default_preset,
            )
        self.panel.set_load(self._load_view())

    def _spec(
        self, mode: SpecMode, info: ModelInfo | None, options: LoadOptions | None
    ) -> SpecChoice:
        """The choice as the box shows it: only for a file with a drafter."""
        if info is None or options is None or not info.supports_mtp:
            return SpecChoice()
        measured = self._services.models.flow.measured(info.path, options.backend)
        return SpecChoice(available=True, mode=mode, texts=measured)

    def _load_view(self) -> LoadDialogView | None:
        options, info = self._services.models.picked, self._chats.info()
        if options is None or info is None:
            return None
        chat = self._chats.current()
        loaded = self._services.state.loaded
        if loaded is not None and loaded.info.path == options.model_path:
            options = msgspec.structs.replace(options, context_tokens=loaded.context_tokens)
        flow = self._services.models.flow
        return load_view(
            info,
            options,
            chat.settings.spec if chat is not None else SpecMode.OFF,
            flow.check,
            flow.measured,
        )

    async def _look(self) -> None:
        """Finds out which backends can work here, then shows it."""
        check = self._services.models.flow.check
        await asyncio.get_running_loop().run_in_executor(self._services.executor, check.look)
        self.refresh()

    def _on_generation(self, values: GenerationValues) -> None:
        chat = self._chats.current()
        if chat is not None:
            chat.change_settings(
                msgspec.structs.replace(
                    chat.settings,
                    system=values.system,
                    sampling=values.sampling,
                    thinking=values.thinking,
                    thinking_budget=values.thinking_budget,
                    tools=values.tools,
                )
            )

    def _on_spec(self, mode: str) -> None:
        chat = self._chats.current()
        if chat is not None:
            self._chats.set_spec(chat.key, SpecMode(mode))

    async def _apply(self, choice: LoadChoice) -> None:
        options = self._services.models.picked
        if options is not None:
            wanted = msgspec.structs.replace(
                options,
                backend=choice.backend,
                context_tokens=choice.context_tokens,
                threads=choice.threads,
                cache=choice.cache,
            )
            await self._services.models.switch(wanted)
            self.refresh()

    def _apply_preset(self, name: str) -> None:
        chat = self._chats.current()
        preset = presets.find(self._services.settings.value, name)
        if chat is not None and preset is not None:
            chat.change_settings(presets.applied(preset, chat.settings))

    async def _save_preset(self) -> None:
        self.panel.generation.flush()
        chat = self._chats.current()
        if chat is None:
            return
        current = presets.matching(self._services.settings.value, chat.settings)
        name = await ask_text(self._window, words.PRESET_SAVE, words.PRESET_NAME, current)
        if name and presets.save(self._services.settings, name, chat.settings):
            self.refresh()

    def _delete_preset(self, name: str) -> None:
        store = self._services.settings
        was_default = store.value.default_preset == name
        gone = presets.delete(store, name)
        if gone is None:
            return

        def undo() -> None:
            presets.save(store, gone.name, gone.settings)
            if was_default:
                presets.set_default(store, gone.name)

        self._services.notices.post(
            Notice(
                "preset_deleted",
                words.DELETED.format(title=name),
                actions=(Action(strings.UNDO, undo, primary=True),),
                seconds=12,
            )
        )
