"""Plain values of the native binding: its error and the figures of a turn."""

from __future__ import annotations

from typing import NamedTuple

STATUS = (
    *("OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND"),
    *("ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION"),
    *("ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS"),
    "UNAUTHENTICATED",
)


class NativeError(Exception):
    """A failed native call. `code` is 0 when the library gave no reason."""

    def __init__(self, what: str, code: int = 0, message: str = "") -> None:
        self.what, self.code, self.message = what, code, message
        name = STATUS[code] if 0 < code < len(STATUS) else ""
        text = message if message.startswith(name) else f"{name}: {message}"
        super().__init__(text.strip(": ") or f"{what} failed without a reason")


class TurnNumbers(NamedTuple):
    """The library's figures of the turns after a given one; `None` where it has none.

    `first_ttft_s` belongs to the first turn of a conversation for ever (0.18.1).
    """

    prefill_turns: int = 0
    decode_turns: int = 0
    init_s: float | None = None
    first_ttft_s: float | None = None
    prefill_tokens: int | None = None
    prefill_s: float | None = None
    decode_tokens: int | None = None
    decode_s: float | None = None
