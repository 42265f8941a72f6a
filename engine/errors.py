"""Every failure of the engine side, as one tree.

    EngineError
    ├── ModelFileError     the file cannot be a usable model (known before loading)
    ├── LoadError          the library refused to make an engine
    │   └── BackendError   ... because of the backend (no adapter, unsupported operation)
    ├── LibraryError       the native library is missing, unloadable or another version
    ├── GenerationError    one send failed; the engine is fine
    └── EngineCrashed      the engine process is gone

Each error has a `code` (the key of a sentence in `ui.strings`), `params` for that sentence
and `detail`, the raw text of the engine, possibly long and multi-line. Codes in use:

ModelFileError: not_found, is_folder, empty, login_page, lfs_pointer, other_version,
    not_a_model, incomplete, needs_runtime, unreadable
LoadError: load_failed, no_drafter, cache_failed, out_of_memory, load_cancelled
BackendError: no_gpu_adapter, gpu_unsupported_ops, backend_unknown
LibraryError: library_missing, library_unloadable, library_version, platform_unsupported
GenerationError: message_too_long, context_full, constraint_failed, bad_media, media_refused,
    send_failed, no_final, empty_answer, busy, not_loaded, only_thoughts, too_small_context
EngineCrashed: crashed, unresponsive
"""

from __future__ import annotations

from engine.types import ErrorInfo


class EngineError(Exception):
    """Root of the tree. Thread-neutral; may be rebuilt from an `ErrorInfo`."""

    default_code = "load_failed"

    def __init__(self, code: str = "", detail: str = "", **params: object) -> None:
        self.code = code or self.default_code
        self.detail = detail
        self.params = {k: str(v) for k, v in params.items()}
        super().__init__(f"{self.code}: {detail}" if detail else self.code)

    def info(self) -> ErrorInfo:
        return ErrorInfo(code=self.code, detail=self.detail, params=dict(self.params))


class ModelFileError(EngineError):
    default_code = "not_a_model"


class LoadError(EngineError):
    default_code = "load_failed"


class BackendError(LoadError):
    default_code = "no_gpu_adapter"


class LibraryError(EngineError):
    default_code = "library_missing"


class GenerationError(EngineError):
    default_code = "send_failed"


class EngineCrashed(EngineError):
    """The child is gone. `params["exit"]` says how in words, e.g. "signal 6 (abort)"."""

    default_code = "crashed"


_CODES: dict[type[EngineError], tuple[str, ...]] = {
    ModelFileError: (
        "not_found", "is_folder", "empty", "login_page", "lfs_pointer", "other_version",
        "not_a_model", "incomplete", "needs_runtime", "unreadable",
    ),
    LoadError: ("load_failed", "no_drafter", "cache_failed", "out_of_memory", "load_cancelled"),
    BackendError: ("no_gpu_adapter", "gpu_unsupported_ops", "backend_unknown"),
    LibraryError: (
        "library_missing", "library_unloadable", "library_version", "platform_unsupported",
    ),
    GenerationError: (
        "message_too_long", "context_full", "constraint_failed", "bad_media", "media_refused",
        "send_failed", "no_final", "empty_answer", "busy", "not_loaded", "only_thoughts",
        "too_small_context",
    ),
    EngineCrashed: ("crashed", "unresponsive"),
}  # fmt: skip

CODES: frozenset[str] = frozenset(code for codes in _CODES.values() for code in codes)
"""All codes; a test checks that `ui.strings` has a sentence for each."""


def from_info(info: ErrorInfo) -> EngineError:
    """Rebuilds the matching error; an unknown code becomes a plain `EngineError`."""
    for kind, codes in _CODES.items():
        if info.code in codes:
            return kind(info.code, info.detail, **info.params)
    return EngineError(info.code, info.detail, **info.params)
