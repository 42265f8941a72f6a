"""The header's values from the shared state. Pure."""

from __future__ import annotations

from app.engine_state import Phase
from app.load_view import default_context
from app.model_names import display_name
from app.state import AppState
from engine.types import LoadOptions, Modality, ModelInfo
from ui import strings
from ui.views import HeaderView


def header_view(
    state: AppState, picked: LoadOptions | None, info: ModelInfo | None = None
) -> HeaderView:
    """What every tab shows. A model whose engine died is still the one in use: it is loaded
    again with the next message, and a notice tells what happened. `info`: facts of `picked`."""
    if state.phase is Phase.LOADING and state.engine.wanted is not None:
        wanted = state.engine.wanted
        return HeaderView(
            phase="loading",
            model=display_name(wanted.model_path),
            backend=wanted.backend,
            loading_s=state.loading_seconds or 0.0,
            memory=state.memory,
        )
    loaded = state.loaded
    if state.phase is Phase.READY and loaded is not None:
        return HeaderView(
            phase="ready",
            model=display_name(loaded.options.model_path),
            backend=loaded.options.backend,
            context_tokens=loaded.context_tokens,
            speculative=state.speculative,
            thinking=state.thinking,
            modalities=strings.modalities(state.modalities),
        )
    if state.phase is Phase.STOPPED and picked is not None:
        return HeaderView(
            phase="ready",
            model=display_name(picked.model_path),
            backend=picked.backend,
            context_tokens=picked.context_tokens or (default_context(info) if info else None),
            speculative=state.speculative,
            thinking=state.thinking,
            modalities=strings.modalities(_taken(picked, info)) if info else "",
        )
    return HeaderView()


def _taken(options: LoadOptions, info: ModelInfo) -> tuple[Modality, ...]:
    """What a load with these options takes in."""
    off = {Modality.VISION: not options.vision, Modality.AUDIO: not options.audio}
    return tuple(m for m in info.modalities if not off.get(m, False))
