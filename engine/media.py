"""Images and sounds of a request: what the loaded model takes, and what is left out.

A message that brings something the model cannot take, or a file that is gone, is refused.
The same in an earlier message must not end the conversation: words stand in for it, and the
outcome names it. Runs on the thread that drives the engine; looks at files, reads none.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

import msgspec

from engine.errors import GenerationError
from engine.types import (
    AudioPart,
    GenerateRequest,
    ImagePart,
    LoadOptions,
    Message,
    ModelInfo,
    Part,
    TextPart,
    ToolResultPart,
    Unseen,
)

STANDS_IN = {"image": "[image not shown]", "audio": "[sound not played]"}
BREAK = "\u200b"
"""Goes into a marker that somebody wrote, behind its first character."""


def has_media(messages: Sequence[Message]) -> bool:
    return any(isinstance(p, ImagePart | AudioPart) for m in messages for p in m.parts)


def prepared(
    request: GenerateRequest, info: ModelInfo, options: LoadOptions, *, strict: bool = True
) -> tuple[GenerateRequest, tuple[Unseen, ...]]:
    """`request` as it can be sent, and what of its history is not in it.

    Raises `GenerationError` ("media_refused", "bad_media") for its own message; not `strict`
    treats that like an earlier one.
    """
    if strict:
        for part in request.message.parts:
            trouble = _trouble(part, options)
            if trouble is not None and trouble.gone:
                raise GenerationError("bad_media", "the file is gone or empty", path=trouble.path)
            if trouble is not None:
                raise GenerationError("media_refused", path=trouble.path, kind=trouble.kind)
    unseen: list[Unseen] = []
    messages = [
        _plain(_without(message, options, unseen), info.media_markers)
        for message in (*request.history, request.message)
    ]
    system = broken(request.system, info.media_markers)
    changed = msgspec.structs.replace(
        request, history=tuple(messages[:-1]), message=messages[-1], system=system
    )
    return changed, tuple(unseen)


def without_history(request: GenerateRequest) -> tuple[GenerateRequest, tuple[Unseen, ...]]:
    """`request` with words in the place of all images and sounds of earlier messages."""
    unseen: list[Unseen] = []
    nothing = LoadOptions(model_path="")
    history = tuple(_without(message, nothing, unseen) for message in request.history)
    changed = msgspec.structs.replace(request, history=history)
    return changed, tuple(msgspec.structs.replace(u, gone=True) for u in unseen)


def broken(text: str, markers: Sequence[str]) -> str:
    """`text` with every marker of the model's template made harmless.

    The engine looks for these words in the whole rendered prompt and wants a picture for
    each: one in a question, an answer or a page that was pasted failed every send (0.18.1).
    """
    if not any(marker in text for marker in markers):
        return text
    pattern = "|".join(re.escape(m) for m in sorted(markers, key=len, reverse=True))
    return re.sub(pattern, lambda m: m[0][:1] + BREAK + m[0][1:], text)


def _trouble(part: Part, options: LoadOptions) -> Unseen | None:
    """Why the model cannot take this part; None when it can."""
    if not isinstance(part, ImagePart | AudioPart):
        return None
    kind = "image" if isinstance(part, ImagePart) else "audio"
    if not (options.vision if kind == "image" else options.audio):
        return Unseen(path=part.path, kind=kind)
    try:
        empty = os.stat(part.path).st_size == 0
    except (OSError, ValueError):
        empty = True
    return Unseen(path=part.path, kind=kind, gone=True) if empty else None


def _without(message: Message, options: LoadOptions, unseen: list[Unseen]) -> Message:
    """`message` with words in the place of what cannot be sent, which is added to `unseen`."""
    parts: list[Part] = []
    for part in message.parts:
        trouble = _trouble(part, options)
        if trouble is None:
            parts.append(part)
        else:
            unseen.append(trouble)
            parts.append(TextPart(STANDS_IN[trouble.kind]))
    return msgspec.structs.replace(message, parts=tuple(parts))


def _plain(message: Message, markers: Sequence[str]) -> Message:
    if not markers:
        return message
    parts: list[Part] = []
    for part in message.parts:
        if isinstance(part, TextPart):
            parts.append(TextPart(broken(part.text, markers)))
        elif isinstance(part, ToolResultPart):
            parts.append(ToolResultPart(part.name, broken(part.result_json, markers)))
        else:
            parts.append(part)
    return msgspec.structs.replace(message, parts=tuple(parts))
