"""The one observable record that every header shows.

Main thread only. `AppState` joins what the engine slot does (`EngineState`) with what the
chat in front chose; `changed` is emitted after every difference.
"""

from __future__ import annotations

import time

from PySide6.QtCore import QObject, Signal

from app.engine_state import EngineState, Phase
from engine.types import Backend, LoadedModel, Modality, ModelInfo


class AppState(QObject):
    """Facts for headers. Read the properties; write through `set_engine` and `set_chat`."""

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._engine = EngineState()
        self._speculative = False
        self._thinking = False

    @property
    def engine(self) -> EngineState:
        return self._engine

    @property
    def phase(self) -> Phase:
        return self._engine.phase

    @property
    def loaded(self) -> LoadedModel | None:
        return self._engine.loaded

    @property
    def info(self) -> ModelInfo | None:
        return self._engine.loaded.info if self._engine.loaded else None

    @property
    def backend(self) -> Backend | None:
        return self._engine.loaded.options.backend if self._engine.loaded else None

    @property
    def context_tokens(self) -> int | None:
        return self._engine.loaded.context_tokens if self._engine.loaded else None

    @property
    def speculative(self) -> bool:
        """What the next message of the chat in front will use."""
        return self._speculative

    @property
    def thinking(self) -> bool:
        return self._thinking

    @property
    def modalities(self) -> tuple[Modality, ...]:
        """What this load can take in: encoders that were not enabled do not count."""
        loaded = self._engine.loaded
        if loaded is None:
            return ()
        able = [Modality.TEXT]
        if loaded.options.vision and Modality.VISION in loaded.info.modalities:
            able.append(Modality.VISION)
        if loaded.options.audio and Modality.AUDIO in loaded.info.modalities:
            able.append(Modality.AUDIO)
        return tuple(able)

    @property
    def loading_seconds(self) -> float | None:
        if self._engine.phase is not Phase.LOADING or self._engine.load_started is None:
            return None
        return time.monotonic() - self._engine.load_started

    @property
    def memory(self) -> int | None:
        return self._engine.memory

    @property
    def notes(self) -> tuple[str, ...]:
        return self._engine.loaded.notes if self._engine.loaded else ()

    def set_engine(self, engine: EngineState) -> None:
        if engine != self._engine:
            self._engine = engine
            self.changed.emit()

    def set_chat(self, *, speculative: bool, thinking: bool) -> None:
        if (speculative, thinking) != (self._speculative, self._thinking):
            self._speculative, self._thinking = speculative, thinking
            self.changed.emit()
