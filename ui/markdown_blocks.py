"""Cuts growing Markdown into finished top-level blocks and an open rest. No Qt.

markdown-it-py says where blocks begin; a block is finished when the first line of the next
one is complete, so later text can no longer change it. Code fences are found line by line
and handed out in pieces, because they may be long; other blocks that are too long are cut
where it shows least (`markdown_cuts`). The result does not depend on how the text was cut
when it came in. Only the part after the last finished block is parsed again.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ui.markdown_cuts import NO_LEAD, Fence, Lead, cut_block
from ui.markdown_parser import outline, starts

if TYPE_CHECKING:
    from markdown_it.token import Token

WINDOW = 4 * 1024
"""A block longer than this is cut, so that none takes long to write."""
MAX_BLOCK = 16 * 1024
"""A block longer than this that cannot be cut is shown as plain text, piece by piece."""
CODE_PIECE = 4 * 1024
CODE_LINE = 2000
"""Characters of code after which a line goes on in the next one."""

_FENCE = re.compile(r"^( {0,3})(`{3,}|~{3,})([^\n]*)$")


@dataclass(frozen=True, slots=True)
class Piece:
    """`kind`: text (Markdown), plain, code_start (`text` is the language), code_lines, code_end.

    `lead` says what `text` is the middle of; `joined`: its last block goes on in the next.
    """

    kind: str
    text: str = ""
    lead: Lead = NO_LEAD
    joined: bool = False


def fence_open(line: str) -> re.Match[str] | None:
    """The match of a line that opens a code fence (a backtick fence has none in its info)."""
    found = _FENCE.match(line)
    if found is None or (found[2][0] == "`" and "`" in found[3]):
        return None
    return found


class BlockSplitter:
    """Feed text, take pieces. `next()` is None when only the open rest is left."""

    def __init__(self, lead: Lead = NO_LEAD) -> None:
        self._text = ""
        self._pos = 0
        self._final = False
        self.lead = lead
        """What the text that is left is in the middle of."""
        self._queue: deque[Piece] = deque()
        self._checked = -1
        self._wanted = WINDOW

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
    def left(self) -> int:
        """Characters not handed out yet."""
        return len(self._text) - self._pos

    @property
    def exhausted(self) -> bool:
        """True when everything that came was handed out."""
        return self._final and not self._queue and self.left == 0 and self.lead == NO_LEAD

    @property
    def may_part(self) -> bool:
        """True between two pieces, with text left that a further splitter could go on with."""
        if self._queue or self._pos >= len(self._text):
            return False
        fence = self.lead.fence
        if fence is None or self.lead.glued:
            return True
        line = self._text[self._pos : self._pos + 400].split("\n", 1)[0]
        return not fence.may_close(line)

    def part(self) -> tuple[str, Lead]:
        """Gives up the text left and what it goes on with; what was taken is the whole."""
        rest, lead = self._text[self._pos :], self.lead
        self._text, self._pos, self.lead, self._final = "", 0, NO_LEAD, True
        return rest, lead

    @property
    def in_code(self) -> bool:
        return self.lead.fence is not None and not self._queue

    def next(self) -> Piece | None:
        if self._queue:
            return self._queue.popleft()
        if self.lead.fence is not None:
            return self._next_code(self.lead.fence)
        if self.lead == NO_LEAD:
            line, complete = self._first_line()
            if not line.strip():
                return None
            found = fence_open(line)
            if found is not None:
                if not complete:
                    return None
                self.lead = Lead(Fence(found[2], len(found[1])), found[3].strip())
                self._pos = min(len(self._text), self._pos + len(line) + 1)
                return Piece("code_start", found[3].strip())
        elif self._pos >= len(self._text):
            return None
        self._cut_text()
        return self._queue.popleft() if self._queue else None

    def rest(self) -> str:
        """The open rest to show for now; "" while it may still become a fence line."""
        text = self._text[self._pos :]
        fence = self.lead.fence
        if fence is not None:
            if self.lead.glued:
                return text
            return "" if fence.may_close(text) else fence.strip(text)
        line = text.split("\n", 1)[0]
        if self.lead != NO_LEAD or "\n" in text:
            return text
        return "" if fence_open(line) or re.fullmatch(r" {0,3}[`~]{1,2}", line) else text

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
        if not self._final and last_newline == self._checked and self.left <= self._wanted:
            return
        self._wanted = WINDOW
        limit = WINDOW
        while not self._queue:
            end = min(len(self._text), self._pos + limit)
            cut = end < len(self._text)
            window = self._text[self._pos : end]
            if cut and "\n" in window:
                window = window[: window.rfind("\n") + 1]
            tokens = outline(self.lead.prefix + window)
            self._queue_blocks(tokens, window, cut or self._final, not cut and self._final)
            if self._queue:
                return
            if not cut:
                self._checked, self._wanted = last_newline, limit
                return
            if (found := cut_block(tokens, window, self.lead)) is not None:
                self._queue_piece(window[: found[0]], joined=True)
                self.lead = found[1]
            elif limit >= MAX_BLOCK:
                self._queue.append(Piece("plain", window))
                self._pos += len(window)
                self.lead = NO_LEAD
            limit *= 2

    def _queue_blocks(self, tokens: list[Token], window: str, complete: bool, whole: bool) -> None:
        """`whole`: the window is the rest of a finished text, so its last block is finished."""
        before = len(self.lead.prefix)
        offsets = _line_offsets(self.lead.prefix + window)
        ends = window.rfind("\n")
        begins = [
            (max(0, offsets[line] - before), kind)
            for line, kind in starts(tokens)
            if complete or offsets[line] - before <= ends
        ]
        begin = 0
        kinds = [kind for _, kind in begins]
        for number, (offset, _) in enumerate(begins[1:]):
            self._queue_block(window[begin:offset], kinds[number])
            begin = offset
        if whole and not (kinds and kinds[-1] == "fence"):
            self._queue_block(window[begin:], "")

    def _queue_piece(self, source: str, joined: bool = False) -> None:
        self._queue.append(Piece("text", source, self.lead, joined))
        self._pos += len(source)
        self.lead = NO_LEAD

    def _queue_block(self, source: str, kind: str) -> None:
        """A finished block; a fence becomes its pieces (another block follows: it is closed)."""
        lines = source.split("\n")
        opening = next((n for n, line in enumerate(lines) if line.strip()), 0)
        found = fence_open(lines[opening]) if kind == "fence" else None
        if found is None:
            self._queue_piece(source)
            return
        self._pos += len(source)
        fence = Fence(found[2], len(found[1]))
        self._queue.append(Piece("code_start", found[3].strip()))
        body: list[str] = []
        for line in lines[opening + 1 :]:
            if fence.closes(line):
                break
            body.append(line)
        self._queue_code(body, fence)
        self._queue.append(Piece("code_end"))

    def _queue_code(self, lines: list[str], fence: Fence) -> None:
        """Whole lines of code, those too long in several pieces."""
        short: list[str] = []
        for line in lines:
            if len(line) < CODE_LINE:
                short.append(fence.strip(line))
                continue
            if short:
                self._queue.append(Piece("code_lines", "\n".join(short)))
                short = []
            for at in range(0, len(line), CODE_LINE):
                chunk = line[at : at + CODE_LINE]
                text = chunk if at else fence.strip(chunk)
                self._queue.append(Piece("code_lines", text, Lead(glued=at > 0)))
        if short:
            self._queue.append(Piece("code_lines", "\n".join(short)))

    def _next_code(self, fence: Fence) -> Piece | None:
        lines: list[str] = []
        size = 0
        lead = self.lead
        while size < CODE_PIECE:
            glued = self.lead.glued
            end = self._text.find("\n", self._pos, self._pos + CODE_LINE)
            if end < 0 and self.left >= CODE_LINE:
                if lines:
                    break
                return self._code_chunk(fence)
            if end < 0 and not (self._final and self._pos < len(self._text)):
                break
            line = self._text[self._pos : end] if end >= 0 else self._text[self._pos :]
            if not glued and fence.closes(line):
                if lines:
                    break
                self._pos = min(len(self._text), self._pos + len(line) + 1)
                self.lead = NO_LEAD
                return Piece("code_end")
            self._pos = min(len(self._text), self._pos + len(line) + 1)
            lines.append(line if glued else fence.strip(line))
            if glued:
                self.lead = replace(self.lead, glued=False)
            size += len(line) + 1
        if lines:
            return Piece("code_lines", "\n".join(lines), lead)
        if self._final and self._pos >= len(self._text):
            self.lead = NO_LEAD
            return Piece("code_end")
        return None

    def _code_chunk(self, fence: Fence) -> Piece:
        """The next characters of a line too long to be one."""
        lead = self.lead
        chunk = self._text[self._pos : self._pos + CODE_LINE]
        self._pos += CODE_LINE
        self.lead = replace(lead, glued=True)
        return Piece("code_lines", chunk if lead.glued else fence.strip(chunk), lead)


def _line_offsets(text: str) -> list[int]:
    out = [0]
    at = text.find("\n")
    while at >= 0:
        out.append(at + 1)
        at = text.find("\n", at + 1)
    return out
