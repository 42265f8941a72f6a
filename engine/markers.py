"""Keeps control markers out of what a person reads.

Two jobs on the joined answer text, both with markers split at any place over chunks:
a thought block at the very start (`<think>`...) of a model that declares no channel goes
to the thoughts; an endless repetition of end markers after the answer ends the run. A
marker in the middle of a text, for example one the person asked about, stays.

Pure state machine; owned by one thread.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

THOUGHTS = (
    ("<think>", "</think>"),
    ("<|channel>thought\n", "<channel|>"),
    ("<|channel|>analysis<|message|>", "<|end|>"),
)
STOPS = (
    "<|im_end|>",
    "<|endoftext|>",
    "<end_of_turn>",
    "<turn|>",
    "<eos>",
    "</s>",
    "<|eot_id|>",
    "<|end|>",
)
LOOP = 3
"""So many bare end markers in a row end the run; two at the end of a text are dropped."""


class AnswerFilter:
    """`feed` returns (text, thought) that may be shown; `looping` turns true for good."""

    def __init__(self, stop_tokens: Iterable[str] = (), *, thinking: bool = False) -> None:
        """`thinking` starts inside a thought, for prompts that end with an open `<think>`."""
        self._stops = tuple(dict.fromkeys((*stop_tokens, *STOPS)))
        one = "|".join(re.escape(s) for s in self._stops)
        self._tail = re.compile(rf"(?:(?:{one})\s*)+\Z")
        self._one = re.compile(one)
        self._buffer = ""
        self._close = THOUGHTS[0][1] if thinking else ""
        self._start = not thinking
        self._trim = False
        self.looping = False

    def feed(self, text: str) -> tuple[str, str]:
        if self.looping:
            return "", ""
        self._buffer += text
        shown: list[str] = []
        thought: list[str] = []
        while True:
            before = (self._buffer, self._start, self._close)
            if self._close:
                thought.append(self._in_thought())
            elif self._start:
                self._at_start()
            else:
                shown.append(self._in_text())
                break
            if before == (self._buffer, self._start, self._close) or not self._buffer:
                break
        return "".join(shown), "".join(thought)

    def finish(self) -> tuple[str, str]:
        """What was held back. A tail of two or more bare end markers is dropped."""
        rest, self._buffer = self._buffer, ""
        if self.looping:
            return "", ""
        if self._close:
            return "", rest
        match = self._tail.search(rest)
        if match and len(self._one.findall(match[0])) > 1:
            rest = rest[: match.start()]
        return (rest.lstrip() if self._start and self._trim else rest), ""

    def _at_start(self) -> None:
        body = self._buffer.lstrip()
        for opening, closing in THOUGHTS:
            if body.startswith(opening):
                self._buffer, self._close = body[len(opening) :], closing
                return
            if opening.startswith(body):
                return  # only blanks or half a marker so far
        if self._trim:
            self._buffer = body
        self._start = False

    def _in_thought(self) -> str:
        at = self._buffer.find(self._close)
        if at >= 0:
            out = self._buffer[:at]
            self._buffer = self._buffer[at + len(self._close) :]
            self._close, self._start, self._trim = "", True, True
            return out
        keep = _partial(self._buffer, (self._close,))
        out = self._buffer[: len(self._buffer) - keep]
        self._buffer = self._buffer[len(out) :]
        return out

    def _in_text(self) -> str:
        end = len(self._buffer) - _partial(self._buffer, self._stops)
        match = self._tail.search(self._buffer, 0, end) if end else None
        if match and len(self._one.findall(match[0])) >= LOOP:
            self.looping = True
            end = match.start()
        elif match:
            end = match.start()
        out = self._buffer[:end]
        self._buffer = "" if self.looping else self._buffer[end:]
        return out


def _partial(text: str, markers: Iterable[str]) -> int:
    """Length of the longest end of `text` that begins one of `markers` but is not whole."""
    best = 0
    for marker in markers:
        for size in range(min(len(marker) - 1, len(text)), best, -1):
            if text.endswith(marker[:size]):
                best = size
                break
    return best
