"""Does the model's chat template keep what is said to it? Asked once after every load.

Some bundles' templates drop the system text or the person's words with this engine version
(both always reach it as content parts): an answer comes, but the model never saw the text.
Owned by the thread that drives the engine; a few milliseconds, no inference.
"""

from __future__ import annotations

from collections.abc import Callable

from engine.errors import EngineError
from engine.types import GenerateRequest, Message, TextPart

SYSTEM = "Zarquon keeps the lighthouse."
USER = "Quillfeather asks politely."

NOTES = ("template_drops_system", "template_drops_user")


def notes(render: Callable[[GenerateRequest], str]) -> tuple[str, ...]:
    """Codes of what the template leaves out; empty when nothing, or when it cannot be told."""
    request = GenerateRequest(
        run_id=0,
        chat_key="template-check",
        message=Message(role="user", parts=(TextPart(text=USER),)),
        system=SYSTEM,
        keep=False,
    )
    try:
        text = render(request)
    except EngineError:
        return ()
    if not text.strip():
        return ()
    return tuple(
        code for code, words in zip(NOTES, (SYSTEM, USER), strict=True) if words not in text
    )
