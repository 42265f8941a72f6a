"""The text of one document, on its way from what came in to pieces that can be written.

It is `full` once a certain size was taken from it; then it hands over the rest, and further
documents go on. No Qt, so that what is out of sight can be cut without being drawn.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from ui.format import clean_text
from ui.markdown_blocks import BlockSplitter, Piece
from ui.markdown_cuts import NO_LEAD, Lead

LINE = 400
"""What a line of code counts at most."""


@dataclass(frozen=True, slots=True)
class Handover:
    """What a further document goes on with: clean text, half of a line end, whether that is
    all, and what the text is in the middle of."""

    text: str
    held: str = ""
    final: bool = False
    lead: Lead = NO_LEAD


class PartSource:
    """Takes text as it comes, gives pieces; `limit` characters make it full (0: never)."""

    def __init__(self, limit: int = 0, before: Handover | None = None) -> None:
        self.limit = limit
        self.lead = before.lead if before is not None else NO_LEAD
        """What the whole text is in the middle of."""
        self.splitter = BlockSplitter(self.lead)
        self.full = False
        self.final = False
        self.below = False
        """It ended in the middle of a block."""
        self._held = ""
        self._taken = 0
        self._clean: list[str] = []
        if before is not None:
            self._held = before.held
            self._take(before.text)
            if before.final:
                self.finish()

    @property
    def text(self) -> str:
        """The clean text so far: line ends and control characters made harmless."""
        if len(self._clean) > 1:
            self._clean = ["".join(self._clean)]
        return self._clean[0] if self._clean else ""

    @property
    def left(self) -> int:
        """Characters not taken yet."""
        return self.splitter.left

    def append(self, text: str) -> None:
        text = self._held + text
        # A carriage return may be half of a line end; half a pair waits for the other half.
        cut = len(text) - 1 if text.endswith("\r") and not self.final else len(text)
        self._held = text[cut:]
        self._take(clean_text(text[:cut]))

    def _take(self, clean: str) -> None:
        self._clean.append(clean)
        self.splitter.feed(clean)

    def finish(self) -> None:
        """No more text will come."""
        self.final = True
        if self._held:
            held, self._held = self._held, ""
            self._take(clean_text(held))
        self.splitter.finish()

    def next(self) -> Piece | None:
        """The next piece; None when only the open rest is left, or it is full."""
        if self.full:
            return None
        piece = self.splitter.next()
        if piece is not None:
            if self.below and self.splitter.exhausted:
                piece = replace(piece, joined=True)
            self._taken += _weight(piece)
            self.full = 0 < self.limit <= self._taken and self.splitter.may_part
        return piece

    def skip(self, until: float) -> bool:
        """Takes pieces without looking at them until `until` (of `perf_counter`), at least
        one; True when that is all there is for now."""
        while self.next() is not None:
            if time.perf_counter() > until:
                return False
        return True

    def hand_over(self) -> Handover:
        """Ends this text at the last piece taken; the rest is for the next one."""
        rest, lead = self.splitter.part()
        out = Handover(rest, self._held, self.final, lead)
        whole = self.text
        self._clean = [whole[: len(whole) - len(rest)]]
        self._held, self.final = "", True
        self.full, self.limit, self.below = False, 0, lead != NO_LEAD
        return out

    def again(self) -> PartSource:
        """The same text from its beginning."""
        out = PartSource(self.limit, Handover(self.text, self._held, self.final, self.lead))
        out.below = self.below
        return out


def _weight(piece: Piece) -> int:
    """What a piece counts: a long line of code is not wrapped, so that it takes little room, and
    a document of a few of them would be low."""
    one_line = piece.kind == "code_lines" and "\n" not in piece.text
    return min(len(piece.text), LINE) if one_line else len(piece.text)
