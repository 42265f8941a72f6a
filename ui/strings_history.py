"""Sentences about conversations, attachments, search, export and settings.

Pure Python; the rest of the words a person reads are in `ui.strings`.
"""

from __future__ import annotations

from collections.abc import Mapping

_PROBLEMS: dict[str, str] = {
    # The history file
    "history_newer": (
        "Your history was written by a newer version of Tandem. It is shown here, but nothing "
        "is changed or saved in it."
    ),
    "history_damaged": (
        "The history file was damaged. {count} conversations could be read; the damaged file "
        "was kept as {path}."
    ),
    "history_unwritable": (
        "The history at {path} cannot be used ({detail}). Conversations of this session are "
        "kept in memory only; export what you want to keep."
    ),
    "history_not_saved": (
        "Conversations cannot be saved at the moment ({detail}). They are kept in memory and "
        "saved as soon as it works again."
    ),
    "history_saved_again": "Everything is saved again.",
    # Attachments
    "attach_folder": "{name} is a folder; attach files.",
    "attach_empty": "{name} is empty.",
    "attach_too_large": "{name} is too large; at most {limit} bytes can be attached.",
    "attach_unreadable": "{name} cannot be read: {reason}.",
    "attach_format": "{name} is a {format} file; save it as JPEG, PNG or WAV and attach that.",
    "attach_unknown": "{name} is neither an image nor a sound that can be used.",
    "attach_not_stored": "The attachment could not be stored: {reason}.",
    "attach_too_many": "At most {limit} files can be sent with one message.",
    "image_damaged": "{name} is damaged or cut off; it cannot be shown.",
    "image_huge": "{name} has {width} × {height} pixels; that is too large to attach.",
    "audio_damaged": "{name} holds no sound that can be played.",
    "no_model": "Load a model first; then Tandem knows what it can take.",
    "text_only": "{model} reads text only; it cannot take {kind}.",
    "encoder_off": "{model} was loaded without {kind}; load it again with {kind} enabled.",
    # Import
    "import_not_ours": "{name} is not an export of Tandem.",
    "import_newer": "{name} was exported by a newer version of Tandem.",
    "import_damaged": "{name} is damaged: {detail}.",
    "import_too_large": "{name} is too large to be imported safely.",
    "import_unreadable": "{name} cannot be read: {detail}.",
    "export_failed": "The export could not be written to {name}: {detail}.",
}

KINDS = {"image": "images", "audio": "audio"}


class _Params(dict[str, str]):
    def __missing__(self, key: str) -> str:
        return "—"


def problem_codes() -> frozenset[str]:
    return frozenset(_PROBLEMS)


def problem(code: str, params: Mapping[str, str] | None = None) -> str:
    """The sentence for a code; an unknown code gets a general one, never an exception."""
    given = dict(params or {})
    if "limit" in given and code == "attach_too_large" and given["limit"].isdigit():
        given["limit"] = f"{int(given['limit']) // 1_000_000} MB"
        return _PROBLEMS[code].replace(" bytes", "").format_map(_Params(given))
    return _PROBLEMS.get(code, "Something went wrong: {code}.").format_map(
        _Params({"code": code, **given})
    )
