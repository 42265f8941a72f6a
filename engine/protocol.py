"""The seam between the program and whatever runs the model.

`LiteRtEngine` (in this process) and `HostedEngine` (in a child process) both satisfy
`Engine`; one contract test suite runs against both. Stand-ins for tests implement it too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from engine.types import (
    GenerateRequest,
    LoadedModel,
    LoadOptions,
    Message,
    ModelInfo,
    Outcome,
    TextBatch,
    UnloadReport,
)

TextSink = Callable[[TextBatch], None]
"""Gets text in order, on the thread that called `generate`. Must not raise or block long."""


class Engine(Protocol):
    """One slot for one model. All methods but `cancel`, `expect` and `kill` belong to one
    thread.

    Errors are those of `engine.errors`. `generate` raises only for a dead engine or one
    that is not loaded; a failed send is an `Outcome` with reason ERROR.
    """

    def load(self, options: LoadOptions) -> LoadedModel:
        """Loads a model, unloading the previous one first. Blocks for as long as it takes."""

    def generate(self, request: GenerateRequest, sink: TextSink) -> Outcome:
        """Runs one send to its end and returns how it ended. Blocks; `sink` gets the text."""

    def cancel(self, run_id: int) -> None:
        """Asks the running send to stop. Any thread; harmless for a run that is over."""

    def expect(self, chat_key: str) -> None:
        """Tells that a message to this chat is being written. Any thread; returns at once.

        An engine may get ready for it, as long as nothing else is asked of it."""

    def forget(self, chat_key: str) -> None:
        """Drops the native conversation and checkpoints of one chat. Idempotent."""

    def count_tokens(self, text: str) -> int:
        """Number of tokens of `text` for the loaded model, without special tokens."""

    def tokenize(self, text: str) -> tuple[tuple[int, str], ...]:
        """(token id, piece as shown) pairs; pieces use spaces, not U+2581."""

    def render(self, request: GenerateRequest) -> str:
        """The templated prompt text that `request` would add, preface included."""

    def unload(self) -> UnloadReport:
        """Deletes conversations, then the engine. Idempotent (an empty report)."""

    def close(self) -> None:
        """Unloads and frees everything; the object is dead afterwards. Idempotent."""

    def kill(self) -> None:
        """Ends whatever runs, at once. Any thread. A load or generate in progress raises
        `EngineCrashed` or `LoadError("load_cancelled")`. No-op for an in-process engine."""


__all__ = ["Engine", "Message", "ModelInfo", "TextSink"]
