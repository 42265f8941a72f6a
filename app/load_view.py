"""What the load dialog and the picker show about a model file. Pure."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import resources
from app.backend_check import BackendCheck
from app.model_names import display_name
from engine import threads
from engine.errors import ModelFileError
from engine.types import (
    LIBRARY_VERSION,
    Backend,
    FileState,
    LoadOptions,
    Modality,
    ModelInfo,
    SpecMode,
)
from ui import error_words, strings
from ui import format as fmt
from ui import strings_core as words
from ui.views import BackendChoice, LoadDialogView, ModelCardView, SpecChoice

DEFAULT_CONTEXT = 4096


def load_view(
    info: ModelInfo,
    options: LoadOptions,
    spec: SpecMode,
    check: BackendCheck,
    measured: Callable[[str, Backend], dict[SpecMode, str]] = lambda _path, _on: {},
    note: str = "",
) -> LoadDialogView:
    """The dialog for one file, with `options` as what is chosen at first. `measured` gives
    the texts of the speculative picker for a file on a backend."""
    caches = ["disk", "memory", "no"]
    if sys.platform == "win32" or options.backend is not Backend.CPU:
        caches.remove("memory")  # the library has it on CPU only, and not on Windows
    if options.cache not in caches:
        caches.append(options.cache)
    top = info.max_context
    context = options.context_tokens or default_context(info)
    first = _possible(options.backend, info, check)
    return LoadDialogView(
        model=display_name(info.path),
        path=info.path,
        summary=summary(info),
        backends=tuple(
            BackendChoice(backend=b, text=_backend_text(b, options), reason=check.reason(b))
            for b in info.backends
        ),
        backend=first,
        spec=SpecChoice(
            available=bool(info.supports_mtp), mode=spec, texts=measured(info.path, first)
        ),
        spec_texts={b: measured(info.path, b) for b in info.backends},
        context_tokens=min(context, top) if top else context,
        min_context=min(256, top) if top else 256,
        max_context=top,
        threads=options.threads,
        max_threads=max(1, os.cpu_count() or 1),
        cache=options.cache,
        caches=tuple(caches),
        note=note,
    )


def default_context(info: ModelInfo) -> int:
    """Tokens of context when nobody chose a number."""
    return min(DEFAULT_CONTEXT, info.max_context or DEFAULT_CONTEXT)


def _backend_text(backend: Backend, options: LoadOptions) -> str:
    if backend is not Backend.CPU:
        return ""
    count = options.threads or threads.automatic()
    return words.THREADS_OF.format(count=count) if count > 1 else words.THREADS_ONE


def _possible(wanted: Backend, info: ModelInfo, check: BackendCheck) -> Backend:
    for backend in (wanted, *info.backends):
        if backend in info.backends and not check.reason(backend):
            return backend
    return info.backends[0] if info.backends else wanted


def summary(info: ModelInfo) -> str:
    """`file.litertlm · 186 MB · up to 2048 tokens · text`."""
    parts = [fmt.plain(Path(info.path).name), fmt.size(info.file_bytes)]
    if info.max_context:
        parts.append(words.UP_TO.format(count=info.max_context))
    parts.append(" + ".join(str(m) for m in info.modalities))
    return fmt.DOT.join(parts)


def badges(info: ModelInfo) -> tuple[str, ...]:
    """What a model can do, in one word each."""
    out = []
    if info.supports_mtp:
        out.append("MTP")
    if info.supports_thinking:
        out.append("thinking")
    if info.supports_tools:
        out.append("tools")
    out += [str(m) for m in (Modality.VISION, Modality.AUDIO) if m in info.modalities]
    return tuple(out) or ("text",)


def _group(path: str, recent: bool) -> str:
    if Path(path) == resources.DEMO_MODEL:
        return strings.COMES_WITH
    return strings.RECENT if recent else strings.ON_THIS_COMPUTER


def broken_card(path: str, problem: ModelFileError, *, recent: bool) -> ModelCardView:
    """A file that is there and is no usable model: shown with what is wrong, not to be chosen."""
    params = {"path": path, "name": Path(path).name, **problem.params}
    return ModelCardView(
        id=path,
        name=fmt.plain(display_name(path)),
        path=path,
        problem=error_words.error(problem.code, params).sentence,
        group=_group(path, recent),
    )


def model_card(info: ModelInfo, *, recent: bool, loaded: bool) -> ModelCardView:
    problem = ""
    if info.state is not FileState.OK:
        params = {
            "name": Path(info.path).name,
            "have": str(info.file_bytes),
            "want": str(info.expected_bytes),
            "wanted": info.min_runtime or "",
        }
        if info.state is FileState.NEEDS_RUNTIME:
            params["have"] = LIBRARY_VERSION
        problem = error_words.error(str(info.state), params).sentence
    return ModelCardView(
        id=info.path,
        name=fmt.plain(display_name(info.path)),
        path=info.path,
        badges=badges(info),
        summary=summary(info),
        problem=problem,
        group=_group(info.path, recent),
        loaded=loaded,
    )
