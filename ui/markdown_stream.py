"""A growing Markdown text in one document: finished blocks stay, the open one is rewritten.

`append` only stores; `step` renders within a time budget, so that long texts are spread over
frames. The final document equals the one made from the whole text at once. Raw text is
kept: copying, storing and re-theming start from it. Main thread only.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from PySide6.QtGui import QTextDocument

from ui.format import clean_text
from ui.frame_clock import BUDGET_S
from ui.markdown_blocks import BlockSplitter, Fence
from ui.markdown_render import CodeRegion, Mark, MarkdownWriter


@dataclass(frozen=True, slots=True)
class Handover:
    """What the stream of the next document goes on with: clean text, half of a line end,
    whether that is all, and the code block it begins in."""

    text: str
    held: str
    final: bool
    fence: Fence | None = None
    language: str = ""


class MarkdownStream:
    """Renders into `document`. `step` returns True while there is more to do.

    With a `limit` (characters) it is `full` once that much is finished: the owner then takes
    the rest with `hand_over` and goes on in another document, so that no document grows
    without bounds: Qt's cost of one edit grows with the document.
    """

    def __init__(
        self, document: QTextDocument, limit: int = 0, before: Handover | None = None
    ) -> None:
        document.setUndoRedoEnabled(False)
        self.document = document
        self._limit = limit
        self._before = before
        self._raw: list[str] = []
        self._restart()
        if before is not None:
            self._raw = [before.text + before.held]
            self._held = before.held
            self._take(before.text)
            if before.final:
                self.finish()

    def _restart(self) -> None:
        self.document.clear()
        self._writer = MarkdownWriter(self.document)
        self._splitter = BlockSplitter(self._before.fence if self._before else None)
        self._clean: list[str] = []
        self._written = 0
        self.full = False
        self._final = False
        self._held = ""
        self._empty_code = False
        if self._before is not None and self._before.fence is not None:
            self._writer.code_start(self._before.language)
            self._empty_code = True
        self._stable: Mark = self._writer.mark()
        self._tail = ""
        self._tail_shown = ""
        self._tail_code = False
        self._next_tail = 0.0

    @property
    def text(self) -> str:
        """The raw text so far, exactly as it came."""
        if len(self._raw) > 1:
            self._raw = ["".join(self._raw)]
        return self._raw[0] if self._raw else ""

    @property
    def regions(self) -> list[CodeRegion]:
        return self._writer.regions

    @property
    def begins_in_code(self) -> bool:
        """True when the document before ended inside of a code block."""
        return self._before is not None and self._before.fence is not None

    @property
    def ends_with_code(self) -> bool:
        return self._writer.ends_with_code

    def append(self, text: str) -> None:
        self._raw.append(text)
        self._feed(text)

    def _feed(self, text: str) -> None:
        text = self._held + text
        # A carriage return may be half of a line end; half a pair waits for the other half.
        cut = len(text) - 1 if text.endswith("\r") and not self._final else len(text)
        self._held = text[cut:]
        self._take(clean_text(text[:cut]))

    def _take(self, clean: str) -> None:
        self._clean.append(clean)
        self._splitter.feed(clean)

    def hand_over(self) -> Handover:
        """Ends this document at the last finished block; the rest is for the next one."""
        rest, fence = self._splitter.part()
        language = self.regions[-1].language if fence is not None else ""
        self._writer.begin()
        self._drop_rest()
        if fence is not None:
            self._writer.code_end()
        self._writer.end()
        out = Handover(rest, self._held, self._final, fence, language)
        whole = "".join(self._clean)
        own = whole[: len(whole) - len(rest)]
        self._raw, self._clean = [own], [own]
        self._held, self._final = "", True
        self.full, self._limit = False, 0
        return out

    def finish(self) -> None:
        self._final = True
        if self._held:
            held, self._held = self._held, ""
            self._take(clean_text(held))
        self._splitter.finish()
        self._next_tail = 0.0

    def again(self) -> None:
        """Starts over with the same text (after a theme change); more of it may come."""
        self.reset(self.text, self._final)

    def reset(self, text: str, final: bool = True) -> None:
        """Starts over with another text."""
        self._raw = [text]
        self._restart()
        self._feed(text)
        if final:
            self.finish()

    def step(self, budget_s: float = BUDGET_S) -> bool:
        """Renders what has come, for about `budget_s` seconds at most."""
        until = time.perf_counter() + budget_s
        self._writer.begin()
        try:
            if not self._write_finished(until):
                return True
            waits = self._write_rest()
            return self._paint_code(until) or waits
        finally:  # one edit: colouring lines one by one would lay out the rest each time
            self._writer.end()

    def run(self) -> None:
        """Renders everything now, however long it takes."""
        while self.step(1.0):
            pass

    def _write_finished(self, until: float) -> bool:
        """False when the budget is used up before the open rest is reached."""
        while (piece := self._splitter.next()) is not None:
            self._drop_rest()
            writer = self._writer
            if piece.kind == "text":
                writer.write(piece.text)
            elif piece.kind == "plain":
                writer.plain(piece.text.rstrip("\n"))
            elif piece.kind == "code_start":
                writer.code_start(piece.text)
                self._empty_code = True
            elif piece.kind == "code_lines":
                writer.code_lines(piece.text, first=self._empty_code)
                self._empty_code = False
            else:
                writer.code_end()
            self._stable = writer.mark()
            self._written += len(piece.text)
            if 0 < self._limit <= self._written and self._splitter.may_part:
                self.full = True
                return False
            if time.perf_counter() > until:
                return False
        return True

    def _drop_rest(self) -> None:
        if self._tail_shown:
            self._rewind()
            self._tail_shown = ""

    def _rewind(self) -> None:
        regions = self._writer.regions
        kept = (regions[-1].code, regions[-1].last) if self._tail_code and regions else None
        self._writer.rewind(self._stable)
        if kept is not None and regions:
            regions[-1].code, regions[-1].last = self._code_before

    def _write_rest(self) -> bool:
        """Shows the open block; a costly one is redrawn less often. True: still to be drawn."""
        rest = self._splitter.rest()
        if rest == self._tail_shown:
            return False
        now = time.perf_counter()
        if now < self._next_tail:
            return True
        self._drop_rest()
        if rest.strip() or (rest and self._splitter.in_code):
            self._tail_code = self._splitter.in_code
            if self._tail_code:
                region = self._writer.regions[-1]
                self._code_before = (region.code, region.last)
                self._writer.code_lines(rest, first=self._empty_code)
            else:
                self._writer.write(rest, final=False)
            self._tail_shown = rest
        spent = time.perf_counter() - now
        self._next_tail = time.perf_counter() + 4 * spent if spent > 0.004 else 0.0
        return False

    def _paint_code(self, until: float) -> bool:
        painters = self._writer.painters
        while painters:
            for _ in painters[0]:
                if time.perf_counter() > until:
                    return True
            painters.pop(0)
        return False
