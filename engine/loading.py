"""From `LoadOptions` to a native engine: checks, cache folder, retries, error words.

The native setters return nothing and check nothing, so every value is brought into range
here. A failing load with an existing cache is tried once more with this model's cache
files removed and then once without a cache, never in a loop.

Owned by the thread that drives the engine. Errors: `ModelFileError`, `LoadError`,
`BackendError`, `LibraryError`.
"""

from __future__ import annotations

import logging
import os
import shutil
import sys
import tempfile
from pathlib import Path

import msgspec

from engine import _ffi, model_file, threads
from engine._ffi import Native, Owned
from engine.context_guard import usable_context
from engine.errors import BackendError, LoadError, ModelFileError
from engine.native_values import STATUS, NativeError
from engine.types import Backend, FileState, LoadOptions, Modality, ModelInfo

NO_CACHE = ":nocache"
MEMORY_CACHE = ":memory"
MAX_THREADS = 256
CACHE_WORDS = ("cache", "could not map file", "failed to map", "access denied")

_log = logging.getLogger(__name__)


class Loaded(msgspec.Struct):
    """A native engine with its effective options and what the load had to change."""

    engine: Owned
    info: ModelInfo
    options: LoadOptions
    notes: tuple[str, ...]


def complete_info(native: Native, info: ModelInfo) -> ModelInfo:
    """Header facts, completed by what only the library knows (dynamic context, ...)."""
    model_file.check_loadable(info, try_anyway=True)
    facts = native.file_facts(info.path)
    if facts is None:
        return info
    modalities = [Modality.TEXT]
    if facts["vision"]:
        modalities.append(Modality.VISION)
    if facts["audio"]:
        modalities.append(Modality.AUDIO)
    return msgspec.structs.replace(
        info,
        supports_mtp=bool(info.supports_mtp or facts["has_speculative_decoding_support"]),
        supports_thinking=bool(info.supports_thinking or facts["supports_thinking"]),
        supports_tools=bool(info.supports_tools or facts["supports_function_calling"]),
        max_context=facts["max_context_tokens"] or info.max_context,
        dynamic_context=bool(facts["is_dynamic_context"]),
        modalities=tuple(modalities),
    )


def effective_options(options: LoadOptions, info: ModelInfo) -> tuple[LoadOptions, list[str]]:
    """`options` with every value in range, and the codes of what was changed."""
    notes: list[str] = []
    if options.backend not in info.backends:
        raise BackendError("backend_unknown", backend=options.backend)
    context, note = usable_context(options.context_tokens, info)
    if note:
        notes.append(note)
    threads = options.threads
    if not 0 <= threads <= MAX_THREADS:
        threads = 0
        notes.append("threads_default")
    speculative = options.speculative
    if speculative and not info.supports_mtp:
        speculative = False
        notes.append("no_drafter")
    if info.state is FileState.NEEDS_RUNTIME:
        notes.append("needs_runtime")
    changed = msgspec.structs.replace(
        options,
        context_tokens=context,
        threads=threads,
        speculative=speculative,
        vision=options.vision and Modality.VISION in info.modalities,
        audio=options.audio and Modality.AUDIO in info.modalities,
        prefill_tokens=max(0, options.prefill_tokens),
        decode_tokens=max(0, options.decode_tokens),
    )
    return changed, notes


def load(native: Native, options: LoadOptions, info: ModelInfo | None = None) -> Loaded:
    """Makes the engine. Blocks for as long as it takes; cannot be cancelled natively."""
    info = complete_info(native, info or model_file.inspect(options.model_path))
    options, notes = effective_options(options, info)
    cache, note = prepare_cache(options, info)
    if note:
        notes.append(note)
    warm = [] if cache.startswith(":") else cache_files(cache, info.path)
    try:
        engine = _create(native, options, cache)
    except NativeError as error:
        if cache.startswith(":") or not (warm or _is_cache_error(error)):
            raise load_error(error, options) from error
        _log.warning("Load failed with a cache, clearing it: %s", error)
        engine = _without_cache(native, options, cache, info, notes, error)
    return Loaded(engine=engine, info=info, options=options, notes=tuple(notes))


def _without_cache(
    native: Native,
    options: LoadOptions,
    cache: str,
    info: ModelInfo,
    notes: list[str],
    first: NativeError,
) -> Owned:
    """Second and third try: this model's cache files removed, then no cache at all."""
    for path in cache_files(cache, info.path):
        try:
            path.unlink()
        except OSError as error:
            _log.warning("Cannot remove %s: %s", path.name, error)
    try:
        engine = _create(native, options, cache)
        notes.append("cache_cleared")
        return engine
    except NativeError as error:
        if not (_is_cache_error(error) or _is_cache_error(first)):
            raise load_error(error, options) from error
    try:
        engine = _create(native, options, NO_CACHE)
    except NativeError as error:
        raise load_error(error, options) from error
    notes.append("cache_off")
    return engine


def prepare_cache(options: LoadOptions, info: ModelInfo) -> tuple[str, str]:
    """The value for the native cache setting and a note code; creates the folder.

    0.18.1 aborts its process when the disk fills up while it writes a cache, so a new cache
    (which may be as large as the model) is not begun where there is no room for it.
    """
    mode = options.cache or "no"
    if mode == "no":
        return NO_CACHE, ""
    if mode == "memory":
        if options.backend is Backend.CPU and sys.platform != "win32":
            return MEMORY_CACHE, ""
        return NO_CACHE, "cache_off"
    folder = options.cache_dir if mode == "disk" else mode
    if not folder or folder.startswith(":"):
        return NO_CACHE, "cache_off"
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
        if _has_cache(folder, info) or shutil.disk_usage(folder).free > info.file_bytes:
            return folder, ""
    except (OSError, ValueError) as error:
        _log.warning("No cache: %s", error)
        return NO_CACHE, "cache_off"
    return NO_CACHE, "cache_no_room"


def _has_cache(folder: str, info: ModelInfo) -> bool:
    """Whether this very file was loaded with this folder: names hold its time and size."""
    begin = f"{Path(info.path).name}_{info.mtime_ns // 10**9}_{info.file_bytes}"
    return any(p.name.startswith(begin) for p in cache_files(folder, info.path))


def cache_files(folder: str, model_path: str) -> list[Path]:
    """Cache files of one model, all generations: their names begin with the file's name."""
    name = Path(model_path).name
    try:
        return sorted(
            p
            for p in Path(folder).iterdir()
            if p.name.startswith(name) and "cache" in p.name and p.is_file()
        )
    except OSError:
        return []


def _create(native: Native, options: LoadOptions, cache: str) -> Owned:
    vision = options.backend.value if options.vision else None
    audio = Backend.CPU.value if options.audio else None
    with native.settings(options.model_path, options.backend.value, vision, audio) as settings:
        native.set_context(settings, options.context_tokens)
        count = threads_used(native, options)
        if count is not None:
            native.set_threads(settings, count)
        native.set_cache_dir(settings, cache)
        native.set_speculative(settings, options.speculative)
        if options.backend is Backend.GPU:
            # The engine's own default, float16, corrupts digits and dates.
            kind = _ffi.FLOAT16 if options.gpu_float16 else _ffi.FLOAT32
            native.set_activation(settings, kind)
        native.enable_benchmark(settings)
        if options.prefill_tokens or options.decode_tokens:
            native.set_synthetic(settings, options.prefill_tokens, options.decode_tokens)
        return native.engine(settings)


def threads_used(native: Native, options: LoadOptions) -> int | None:
    """Threads the engine was told to take; None where that is not said."""
    if options.backend is not Backend.CPU or "threads" not in native.features:
        return None
    return options.threads or threads.automatic()


def _is_cache_error(error: NativeError) -> bool:
    text = error.message.lower()
    return any(word in text for word in CACHE_WORDS) and "cannot allocate" not in text


def load_error(error: NativeError, options: LoadOptions) -> LoadError | ModelFileError:
    """The error of the tree for a native failure; raw text in `detail`."""
    text, detail = error.message.lower(), str(error)
    params = {"model": Path(options.model_path).stem, "backend": options.backend.value}
    if not os.path.exists(options.model_path):  # gone since its header was read
        return ModelFileError("not_found", detail, path=options.model_path)
    if "invalid magic" in text:
        return ModelFileError("not_a_model", detail, path=options.model_path)
    if error.what == "engine_settings_create":
        return BackendError("backend_unknown", detail, **params)
    if "no adapters found" in text or "no adapter" in text:
        return BackendError("no_gpu_adapter", detail, **params)
    if "not supported by gpu delegate" in text:
        return BackendError("gpu_unsupported_ops", detail, **params)
    if "drafter" in text and error.code == STATUS_NOT_FOUND:
        return LoadError("no_drafter", detail, **params)
    if error.code == STATUS_EXHAUSTED or "bad_alloc" in text or "cannot allocate" in text:
        return LoadError("out_of_memory", detail, **params)
    if _is_cache_error(error):
        return LoadError("cache_failed", detail, **params)
    return LoadError("load_failed", detail, **params)


STATUS_NOT_FOUND = STATUS.index("NOT_FOUND")
STATUS_EXHAUSTED = STATUS.index("RESOURCE_EXHAUSTED")
