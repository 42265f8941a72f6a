"""Everything the controllers share, made once by the composition root (`app.gui`).

Main thread. A vertical adds its own store or controller to the fields kept for it; nobody
else writes them.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from app.chat_context import ChatContext
from app.engine_service import EngineService
from app.history import History
from app.lifecycle import Lifecycle
from app.model_facts import ModelFacts
from app.notices import Notices
from app.paths import Paths
from app.settings import SettingsStore
from app.state import AppState

if TYPE_CHECKING:
    from app.chat_controller import ChatController
    from app.engine_controller import EngineController


@dataclass
class Services:
    """`executor` is for short blocking work (file headers, settings); long work needs a
    thread of its own. `chats` and `models` are set before any vertical is attached."""

    paths: Paths
    settings: SettingsStore
    notices: Notices
    state: AppState
    engine: EngineService
    history: History
    facts: ModelFacts
    lifecycle: Lifecycle
    loop: asyncio.AbstractEventLoop
    executor: Executor
    chat_context: ChatContext
    chats: ChatController
    models: EngineController
    auto: Any = None
    library: Any = None
    benchmarks: Any = None
    tools: Any = None
    presets: Any = None
