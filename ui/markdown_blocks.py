"""Cuts growing Markdown into finished top-level blocks and an open rest. No Qt.

markdown-it-py says where blocks begin; a block is finished when the first line of the next
one is complete, so later text can no longer change it. Code fences are found line by line
and handed out in pieces, because they may be long. The result does not depend on how the
text was cut when it came in. Only the part after the last finished block is parsed again.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

WINDOW = 8 * 1024
MAX_BLOCK = 64 * 1024
"""A single block longer than this is shown as plain text, piece by piece."""
CODE_PIECE = 8 * 1024

_FENCE = re.compile(r"^( {0,3})(`{3,}|~{3,})([^\n]*)$")


@dataclass(frozen=True, slots=True)
class Piece:
    """`kind`: text (Markdown), plain, code_start (`text` is the language), code_lines, code_end."""

    kind: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class Fence:
    """An open code fence."""

    mark: str
    indent: int

    def closes(self, line: str) -> bool:
        body = line.strip(" \t")
        lead = len(line) - len(line.lstrip(" "))
        return lead <= 3 and len(body) >= len(self.mark) and set(body) == {self.mark[0]}

    def may_close(self, line: str) -> bool:
        body = line.strip(" \t")
        return (bool(body) and set(body) == {self.mark[0]}) or not body

    def strip(self, line: str) -> str:
        lead = len(line) - len(line.lstrip(" "))
        return line[min(lead, self.indent) :]


@lru_cache(maxsize=1)
def parser() -> MarkdownIt:
    """The full parser: CommonMark with tables and strikethrough, HTML as plain text."""
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


@lru_cache(maxsize=1)
def _outline_parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    outline = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    outline.core.ruler.enableOnly(["normalize", "block"])
    return outline


def block_starts(text: str) -> list[tuple[int, str]]:
    """(first line, token type) of every top-level block of `text`."""
    return [
        (token.map[0], token.type)
        for token in _outline_parser().parse(text)
        if token.level == 0 and token.nesting >= 0 and token.map
    ]


def fence_open(line: str) -> re.Match[str] | None:
    """The match of a line that opens a code fence (a backtick fence has none in its info)."""
    found = _FENCE.match(line)
    if found is None or (found[2][0] == "`" and "`" in found[3]):
        return None
    return found


class BlockSplitter:
    """Feed text, take pieces. `next()` is None when only the open rest is left."""

    def __init__(self, fence: Fence | None = None) -> None:
        self._text = ""
        self._pos = 0
        self._final = False
        self._fence = fence
        self._queue: deque[Piece] = deque()
        self._checked = -1

    def feed(self, text: str) -> None:
        if self._pos > len(self._text) // 2:
            self._text = self._text[self._pos :]
            self._checked -= self._pos
            self._pos = 0
        self._text += text

    def finish(self) -> None:
        """No more text will come: the rest is finished too."""
        self._final = True

    @property
    def may_part(self) -> bool:
        """True between two pieces, with text left that a further splitter could go on with."""
        if self._queue or self._pos >= len(self._text):
            return False
        if self._fence is None:
            return True
        line = self._text[self._pos : self._pos + 400].split("\n", 1)[0]
        return not self._fence.may_close(line)

    def part(self) -> tuple[str, Fence | None]:
        """Gives up the text left and the fence it is in; what was taken before is the whole."""
        rest, fence = self._text[self._pos :], self._fence
        self._text, self._pos, self._fence, self._final = "", 0, None, True
        return rest, fence

    @property
    def in_code(self) -> bool:
        return self._fence is not None and not self._queue

    def next(self) -> Piece | None:
        if self._queue:
            return self._queue.popleft()
        if self._fence is not None:
            return self._next_code(self._fence)
        line, complete = self._first_line()
        if not line.strip():
            return None
        found = fence_open(line)
        if found is not None:
            if not complete:
                return None
            self._fence = Fence(found[2], len(found[1]))
            self._pos = min(len(self._text), self._pos + len(line) + 1)
            return Piece("code_start", found[3].strip())
        self._cut_text()
        return self._queue.popleft() if self._queue else None

    def rest(self) -> str:
        """The open rest to show for now; "" while it may still become a fence line."""
        text = self._text[self._pos :]
        if self._fence is not None:
            return "" if self._fence.may_close(text) else self._fence.strip(text)
        line = text.split("\n", 1)[0]
        if "\n" not in text and (fence_open(line) or re.fullmatch(r" {0,3}[`~]{1,2}", line)):
            return ""
        return text

    def _first_line(self) -> tuple[str, bool]:
        """Skips blank lines; the line at the position and whether its end has come."""
        while True:
            end = self._text.find("\n", self._pos)
            if end < 0:
                return self._text[self._pos :], self._final
            line = self._text[self._pos : end]
            if line.strip():
                return line, True
            self._pos = end + 1

    def _cut_text(self) -> None:
        """Queues all finished blocks of the next window."""
        last_newline = self._text.rfind("\n")
        # A paragraph that never ends is cut too: one of a megabyte takes minutes to lay out.
        endless = len(self._text) - self._pos > MAX_BLOCK + WINDOW
        if not self._final and last_newline == self._checked and not endless:
            return
        limit = WINDOW
        while not self._queue:
            end = min(len(self._text), self._pos + limit)
            cut = end < len(self._text)
            window = self._text[self._pos : end]
            if cut and "\n" in window:
                window = window[: window.rfind("\n") + 1]
            complete = cut or self._final
            self._queue_blocks(window, complete, whole=not cut and self._final)
            if self._queue:
                return
            if not cut:
                self._checked = last_newline
                return
            if limit >= MAX_BLOCK:
                self._queue.append(Piece("plain", window))
                self._pos += len(window)
            limit *= 2

    def _queue_blocks(self, window: str, complete: bool, whole: bool) -> None:
        """`whole`: the window is the rest of a finished text, so its last block is finished."""
        offsets = _line_offsets(window)
        ends = window.rfind("\n")
        starts = [
            (offsets[line], kind)
            for line, kind in block_starts(window)
            if complete or offsets[line] <= ends
        ]
        begin = 0
        kinds = [kind for _, kind in starts]
        for number, (offset, _) in enumerate(starts[1:]):
            self._queue_block(window[begin:offset], kinds[number])
            begin = offset
        if whole and not (kinds and kinds[-1] == "fence"):
            self._queue_block(window[begin:], "")
            begin = len(window)
        self._pos += begin

    def _queue_block(self, source: str, kind: str) -> None:
        """A finished block; a fence becomes its pieces (another block follows: it is closed)."""
        lines = source.split("\n")
        opening = next((n for n, line in enumerate(lines) if line.strip()), 0)
        found = fence_open(lines[opening]) if kind == "fence" else None
        if found is None:
            self._queue.append(Piece("text", source))
            return
        fence = Fence(found[2], len(found[1]))
        self._queue.append(Piece("code_start", found[3].strip()))
        body: list[str] = []
        for line in lines[opening + 1 :]:
            if fence.closes(line):
                break
            body.append(fence.strip(line))
        if body:
            self._queue.append(Piece("code_lines", "\n".join(body)))
        self._queue.append(Piece("code_end"))

    def _next_code(self, fence: Fence) -> Piece | None:
        lines: list[str] = []
        size = 0
        while size < CODE_PIECE:
            end = self._text.find("\n", self._pos)
            if end < 0 and not (self._final and self._pos < len(self._text)):
                break
            line = self._text[self._pos : end] if end >= 0 else self._text[self._pos :]
            if fence.closes(line):
                if lines:
                    break
                self._pos = min(len(self._text), self._pos + len(line) + 1)
                self._fence = None
                return Piece("code_end")
            self._pos = min(len(self._text), self._pos + len(line) + 1)
            lines.append(fence.strip(line))
            size += len(line) + 1
        if lines:
            return Piece("code_lines", "\n".join(lines))
        if self._final and self._pos >= len(self._text):
            self._fence = None
            return Piece("code_end")
        return None


def _line_offsets(text: str) -> list[int]:
    out = [0]
    at = text.find("\n")
    while at >= 0:
        out.append(at + 1)
        at = text.find("\n", at + 1)
    return out
