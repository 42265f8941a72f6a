"""What a person reads of an error: a headline and a sentence for each code of `engine.errors`.

Plain text without markup. The raw text of the engine is never part of either; it is shown as
details. Pure Python (no Qt), like `strings`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from engine.types import ErrorInfo


@dataclass(frozen=True, slots=True)
class ErrorText:
    """An error as shown: a few words, one sentence, and the raw text behind "Details"."""

    headline: str
    sentence: str
    details: str = ""


_ERRORS: dict[str, tuple[str, str]] = {
    # The model file
    "not_found": ("File not found", "There is no file at {path}."),
    "is_folder": ("This is a folder", "{path} is a folder; choose a .litertlm file inside it."),
    "empty": ("Empty file", "{name} holds no data. Download or copy it again."),
    "login_page": (
        "Not a model",
        "{name} is a web page, not a model: the download was answered with a login or error page.",
    ),
    "lfs_pointer": (
        "Only a pointer",
        "{name} is a small pointer file that stands for the model. Download the model itself.",
    ),
    "other_version": (
        "Other file version",
        "{name} has file format version {version}; this version of Tandem cannot read it.",
    ),
    "not_a_model": ("Not a model", "{name} is not a .litertlm model."),
    "incomplete": (
        "File is incomplete",
        "{name} is incomplete: {have} of {want} bytes. Download it again.",
    ),
    "needs_runtime": (
        "Newer engine needed",
        "{name} asks for engine {wanted}; Tandem has {have}.",
    ),
    "unreadable": ("File cannot be read", "{name} cannot be read: {reason}."),
    # Loading
    "load_failed": ("Model not loaded", "The engine could not load {name}: {reason}."),
    "no_drafter": (
        "No drafter",
        "{name} has no drafter, so speculative decoding is not possible with it.",
    ),
    "cache_failed": (
        "Cache not usable",
        "The engine could not use its cache folder: {reason}. Loading without a cache may work.",
    ),
    "out_of_memory": (
        "Not enough memory",
        "{name} does not fit into memory. Close other programs, choose a smaller context or model.",
    ),
    "load_cancelled": ("Loading cancelled", "Loading {name} was cancelled."),
    # The backend
    "no_gpu_adapter": (
        "No usable GPU",
        "The engine found no usable GPU on this computer. Use the CPU instead.",
    ),
    "gpu_unsupported_ops": (
        "GPU cannot run this model",
        "{name} uses operations the GPU backend lacks. Use the CPU, or turn speculation off.",
    ),
    "backend_unknown": ("Unknown backend", "The engine does not know the backend {backend}."),
    # The library
    "library_missing": (
        "Engine missing",
        "The engine library was not found ({path}). Install Tandem again.",
    ),
    "library_unloadable": (
        "Engine does not start",
        "The engine library cannot be loaded on this system: {reason}.",
    ),
    "library_version": (
        "Wrong engine version",
        "Tandem works with engine {wanted} only; found {have}.",
    ),
    "platform_unsupported": (
        "Not supported here",
        "The engine does not run on this system ({platform}).",
    ),
    # One message
    "message_too_long": (
        "Message does not fit",
        "The message needs {needs} tokens; {left} are left in the context.",
    ),
    "context_full": ("Context full", "The context is full; the answer ends here."),
    "constraint_failed": (
        "Form not possible",
        "The model could not keep to the form that was asked for.",
    ),
    "bad_media": ("Attachment not usable", "{file} could not be used: {reason}."),
    "media_refused": (
        "Attachment not taken",
        "{model} takes no {kind} as it is loaded. Choose a model that does, or ask without them.",
    ),
    "send_failed": ("No answer", "The engine could not answer this message."),
    "no_final": (
        "Engine did not finish",
        "The engine did not end its answer in time and was restarted.",
    ),
    "empty_answer": ("Empty answer", "The model answered with nothing."),
    "busy": ("Engine is busy", "The engine is still working on another message."),
    "not_loaded": ("No model loaded", "No model is loaded. Choose one first."),
    "only_thoughts": (
        "Only thoughts",
        "The limit was used up by thinking; there was nothing left for the answer.",
    ),
    "too_small_context": (
        "Context too small",
        "A context of {context} tokens is too small for {name}; it needs at least {minimum}.",
    ),
    # The engine process
    "crashed": (
        "Engine stopped unexpectedly",
        "{model} on {backend} ended with {exit}. Your conversation is safe.",
    ),
    "unresponsive": (
        "Engine does not respond",
        "{model} on {backend} gave no sign of life for {seconds} s and was ended. "
        "Your conversation is safe.",
    ),
}

_DEFAULTS: dict[str, str] = {
    "path": "the given place",
    "file": "the attachment",
    "kind": "attachments",
    "name": "the model",
    "model": "The model",
    "backend": "its backend",
    "exit": "an unknown exit code",
    "reason": "no reason was given",
    "version": "unknown",
    "wanted": "another version",
    "have": "an unknown one",
    "want": "an unknown number of",
    "needs": "too many",
    "left": "fewer",
    "context": "this many",
    "minimum": "more",
    "seconds": "too many",
    "platform": "this platform",
}


class _Params(dict[str, str]):
    def __missing__(self, key: str) -> str:
        return _DEFAULTS.get(key, "—")


def error_codes() -> frozenset[str]:
    """Codes that have a sentence; equals `engine.errors.CODES`."""
    return frozenset(_ERRORS)


def error(code: str, params: Mapping[str, str] | None = None, detail: str = "") -> ErrorText:
    """The words for an error code. An unknown code gets a general sentence, never an exception."""
    given = {k: one_line(v) for k, v in (params or {}).items() if v}
    headline, sentence = _ERRORS.get(code, ("Something went wrong", "Something went wrong: {code}"))
    text = sentence.format_map(_Params({"code": code or "unknown", **given}))
    lead = sentence[1 : sentence.find("}")] if sentence.startswith("{") else ""
    if lead not in given:  # a file's name keeps its own spelling, also as the first word
        text = text[:1].upper() + text[1:]
    return ErrorText(headline, text.replace("..", ".") if text.endswith("..") else text, detail)


def error_of(info: ErrorInfo) -> ErrorText:
    return error(info.code, info.params, info.detail)


def one_line(text: str, limit: int = 300) -> str:
    """First line of `text`, trimmed to `limit` characters, without a final full stop."""
    lines = text.strip().splitlines()
    line = lines[0].strip() if lines else ""
    if len(line) > limit:
        line = line[: limit - 1].rstrip() + "…"
    return line[:-1] if line.endswith(".") and not line.endswith("..") else line
