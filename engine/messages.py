"""What the two processes say to each other: tagged structs as MessagePack bytes.

Commands go to the child, events come back, each over its own one-way pipe. Every command
but `Cancel` and `Expect` carries a `call` number; the event that answers it carries the same
one, so answers to calls that were given up are dropped. Text batches belong to a run id.
"""

from __future__ import annotations

import msgspec

from engine import wire
from engine.types import (
    ErrorInfo,
    GenerateRequest,
    LoadedModel,
    LoadOptions,
    ModelInfo,
    Outcome,
    TextBatch,
    UnloadReport,
)


class Load(msgspec.Struct, frozen=True, tag="load"):
    """`info` are the header facts, read by the parent: it costs the child no time then."""

    call: int
    options: LoadOptions
    info: ModelInfo


class Generate(msgspec.Struct, frozen=True, tag="generate"):
    call: int
    request: GenerateRequest


class Cancel(msgspec.Struct, frozen=True, tag="cancel"):
    run_id: int


class Expect(msgspec.Struct, frozen=True, tag="expect"):
    """A message to this chat is being written. Nothing answers it."""

    chat_key: str


class Forget(msgspec.Struct, frozen=True, tag="forget"):
    call: int
    chat_key: str


class CountTokens(msgspec.Struct, frozen=True, tag="count"):
    call: int
    text: str


class Tokenize(msgspec.Struct, frozen=True, tag="tokenize"):
    call: int
    text: str


class Render(msgspec.Struct, frozen=True, tag="render"):
    call: int
    request: GenerateRequest


class Close(msgspec.Struct, frozen=True, tag="close"):
    """Unload, answer with `Unloaded`, exit."""

    call: int


Command = Load | Generate | Cancel | Expect | Forget | CountTokens | Tokenize | Render | Close


class Text(msgspec.Struct, frozen=True, tag="text"):
    batch: TextBatch


class Heartbeat(msgspec.Struct, frozen=True, tag="heartbeat"):
    """Sent every second by a thread of its own, also while the engine works."""

    rss: int | None


class Loaded(msgspec.Struct, frozen=True, tag="loaded"):
    call: int
    model: LoadedModel


class Finished(msgspec.Struct, frozen=True, tag="finished"):
    call: int
    outcome: Outcome


class Failed(msgspec.Struct, frozen=True, tag="failed"):
    """The call raised an error of `engine.errors`."""

    call: int
    error: ErrorInfo


class Done(msgspec.Struct, frozen=True, tag="done"):
    call: int


class Counted(msgspec.Struct, frozen=True, tag="counted"):
    call: int
    count: int


class Pieces(msgspec.Struct, frozen=True, tag="pieces"):
    call: int
    pieces: tuple[tuple[int, str], ...]


class Rendered(msgspec.Struct, frozen=True, tag="rendered"):
    call: int
    text: str


class Unloaded(msgspec.Struct, frozen=True, tag="unloaded"):
    call: int
    report: UnloadReport


Answer = Loaded | Finished | Failed | Done | Counted | Pieces | Rendered | Unloaded
Event = Text | Heartbeat | Answer

_encoder = msgspec.msgpack.Encoder()
_commands: msgspec.msgpack.Decoder[Command] = msgspec.msgpack.Decoder(Command)
_events: msgspec.msgpack.Decoder[Event] = msgspec.msgpack.Decoder(Event)


def encode(message: Command | Event) -> bytes:
    """Thread-safe: the encoder keeps no state between calls. A lone surrogate, which UTF-8
    cannot carry, becomes U+FFFD as it would on the way to the engine."""
    try:
        return _encoder.encode(message)
    except UnicodeEncodeError:
        return _encoder.encode(_cleaned(msgspec.to_builtins(message)))


def _cleaned(value: object) -> object:
    if isinstance(value, str):
        return wire.clean_text(value)
    if isinstance(value, dict):
        return {_cleaned(k): _cleaned(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_cleaned(v) for v in value]
    return value


def decode_command(data: bytes) -> Command:
    return _commands.decode(data)


def decode_event(data: bytes) -> Event:
    return _events.decode(data)
