"""Turns the bytes of stream chunks into text, whatever shape they come in.

A chunk is meant to be a complete JSON message holding a delta. Everything else is
tolerated, because a lost or misread chunk is worse than an odd one: no text, text that is
not JSON, invalid UTF-8, a character split over chunks as raw bytes or as JSON escape
pairs. Nothing here raises on any input.

Pure functions and one small state machine; owned by one thread.
"""

from __future__ import annotations

import codecs
import json
import re
from dataclasses import dataclass
from typing import Literal

import msgspec

from engine.types import ToolCall

_BYTE = 0x10FF00
"""An undecodable byte b travels through JSON parsing as the character `_BYTE + b`."""


def _mark_bytes(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    bad = error.object[error.start : error.end]
    return "".join(chr(_BYTE + b) for b in bad), error.end


codecs.register_error("tandem-bytes", _mark_bytes)

_ODD = re.compile(f"[\ud800-\udfff{chr(_BYTE + 0x80)}-{chr(_BYTE + 0xFF)}]")
_QUOTE_TOKEN = re.compile(r'<\|\\?"\|>')


@dataclass(frozen=True, slots=True)
class Delta:
    """What one chunk adds. Texts may end in half a character: feed them to `Joiner`."""

    text: str = ""
    thought: str = ""
    tool_calls: tuple[ToolCall, ...] = ()


class _Function(msgspec.Struct):
    name: str = ""
    arguments: msgspec.Raw = msgspec.Raw(b"{}")


class _Call(msgspec.Struct):
    function: _Function | None = None
    name: str = ""
    arguments: msgspec.Raw = msgspec.Raw(b"{}")
    args: msgspec.Raw = msgspec.Raw(b"")


def parse_chunk(data: bytes | None) -> Delta:
    """The delta in one chunk; plain text that is no JSON message is taken as answer text."""
    if not data:
        return Delta()
    plain = _plain_text(data)
    if plain is not None:
        return Delta(text=plain)
    text = data.decode("utf-8", "tandem-bytes")
    try:
        message = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return Delta(text=text)
    if isinstance(message, str):
        return Delta(text=message)
    if not isinstance(message, dict):
        return Delta(text=text)
    channels = message.get("channels")
    thought = ""
    if isinstance(channels, dict):
        thought = "".join(v for v in channels.values() if isinstance(v, str))
    if not thought and isinstance(message.get("reasoning_content"), str):
        thought = message["reasoning_content"]
    answer, calls = _content(message.get("content"))
    raw_calls = message.get("tool_calls")
    if isinstance(raw_calls, list):
        calls = raw_calls + calls
    return Delta(text=answer, thought=thought, tool_calls=_calls(data, calls))


class _TextPart(msgspec.Struct, forbid_unknown_fields=True):
    type: Literal["text"]
    text: str


class _TextMessage(msgspec.Struct, forbid_unknown_fields=True):
    role: str
    content: list[_TextPart]


_text_message = msgspec.json.Decoder(_TextMessage)


def _plain_text(data: bytes) -> str | None:
    """The text of the usual chunk, quickly; None for every other shape or any damage."""
    try:
        return "".join([part.text for part in _text_message.decode(data).content])
    except msgspec.MsgspecError:
        return None


def _content(content: object) -> tuple[str, list[object]]:
    """Text and call parts of a `content` value: a string, one part or a list of parts."""
    parts = content if isinstance(content, list) else [content]
    texts: list[str] = []
    calls: list[object] = []
    for part in parts:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, dict):
            if part.get("type") == "tool_call":
                calls.append(part.get("tool_call", part))
            elif isinstance(part.get("text"), str):
                texts.append(part["text"])
    return "".join(texts), calls


def _calls(data: bytes, calls: list[object]) -> tuple[ToolCall, ...]:
    """Tool calls with their arguments as the exact text of the engine where possible."""
    if not calls:
        return ()
    exact = _exact_arguments(data, len(calls))
    found: list[ToolCall] = []
    for index, call in enumerate(calls):
        if not isinstance(call, dict):
            found.append(ToolCall("", json.dumps(call)))
            continue
        inner = call.get("function")
        source = inner if isinstance(inner, dict) else call
        arguments = source.get("arguments", source.get("args", {}))
        if isinstance(arguments, str):
            text = arguments
        else:
            text = exact[index] if exact else json.dumps(arguments, ensure_ascii=False)
        name = source.get("name")
        found.append(
            ToolCall(
                _QUOTE_TOKEN.sub("", name) if isinstance(name, str) else "",
                _QUOTE_TOKEN.sub("", text),
            )
        )
    return tuple(found)


def _exact_arguments(data: bytes, count: int) -> list[str]:
    """Raw argument texts of `tool_calls`, empty when they cannot be cut out exactly."""

    class Wire(msgspec.Struct):
        tool_calls: list[_Call] = []

    try:
        calls = msgspec.json.decode(data, type=Wire).tool_calls
    except (msgspec.MsgspecError, UnicodeError):
        return []
    if len(calls) != count:
        return []
    raw = [c.function.arguments if c.function else (c.args or c.arguments) for c in calls]
    return [bytes(r).decode("utf-8", "replace") for r in raw]


class Joiner:
    """Joins deltas of one text into whole characters; keeps an incomplete tail back."""

    def __init__(self) -> None:
        self._utf8 = codecs.getincrementaldecoder("utf-8")("replace")
        self._bytes = False
        self._high = ""

    def feed(self, text: str) -> str:
        if not self._bytes and not self._high and _ODD.search(text) is None:
            return text
        return "".join(self._one(char) for char in text)

    def finish(self) -> str:
        """The incomplete tail, as one U+FFFD; empty when there is none."""
        return self._flush()

    def _flush(self) -> str:
        tail = self._utf8.decode(b"", True) if self._bytes else ""
        self._bytes = False
        if self._high:
            self._high, tail = "", tail + "\ufffd"
        return tail

    def _one(self, char: str) -> str:
        point = ord(char)
        if point >= _BYTE + 0x80 and point <= _BYTE + 0xFF:
            before = self._flush() if self._high else ""
            out = self._utf8.decode(bytes((point - _BYTE,)))
            self._bytes = bool(self._utf8.getstate()[0])
            return before + out
        if 0xDC00 <= point <= 0xDFFF and self._high:
            pair, self._high = self._high + char, ""
            return pair.encode("utf-16", "surrogatepass").decode("utf-16")
        before = self._flush()
        if 0xD800 <= point <= 0xDBFF:
            self._high = char
            return before
        return before + ("\ufffd" if 0xDC00 <= point <= 0xDFFF else char)
