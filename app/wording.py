"""Turns errors of the engine side into words, with the names a sentence needs. No Qt."""

from __future__ import annotations

from pathlib import Path

from app.model_names import display_name
from engine.errors import EngineError
from engine.types import Backend, ErrorInfo, LoadOptions, ModelInfo
from ui import error_words, strings

_SAFE = " Your conversation is safe."


def explain(
    error: EngineError | ErrorInfo,
    options: LoadOptions | None = None,
    info: ModelInfo | None = None,
) -> error_words.ErrorText:
    """Headline, sentence and raw detail. Names in the error itself win over the options'."""
    plain = error.info() if isinstance(error, EngineError) else error
    params: dict[str, str] = {}
    if options is not None:
        path = Path(options.model_path)
        params = {
            "path": str(path),
            "name": display_name(path) if info else path.name,
            "model": display_name(path),
            "backend": backend_name(options.backend),
        }
    if plain.detail:
        params["reason"] = error_words.one_line(plain.detail)
    params |= {k: v for k, v in plain.params.items() if v}
    if "backend" in params:
        params["backend"] = _backend_words(params["backend"])
    return error_words.error(plain.code, params, plain.detail)


def terminal_sentence(
    error: EngineError | ErrorInfo,
    options: LoadOptions | None = None,
    info: ModelInfo | None = None,
) -> str:
    """One readable line for the command line."""
    return explain(error, options, info).sentence.replace(_SAFE, "")


def backend_name(backend: Backend) -> str:
    return strings.BACKENDS[backend]


def _backend_words(name: str) -> str:
    try:
        return strings.BACKENDS[Backend(name)]
    except ValueError:
        return name
