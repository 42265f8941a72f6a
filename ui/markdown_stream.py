"""A growing Markdown text in one document: finished blocks stay, the open one is rewritten.

`append` only stores; `step` renders within a time budget, so that long texts are spread over
frames. The final document equals the one made from the whole text at once. Main thread only.
"""

from __future__ import annotations

import re
import time

from PySide6.QtGui import QTextDocument

from ui.frame_clock import BUDGET_S
from ui.markdown_cuts import NO_LEAD, Lead
from ui.markdown_render import MarkdownWriter
from ui.markdown_source import Handover, PartSource
from ui.markdown_writer import CodeRegion, Mark

_WORDS = re.compile(r"""[^\W\d_](?:[^\W_]|[ ,.;?!'"()’“”–—-])*""")
"""Words that are no Markdown: a letter first, no mark, no address, no end of a line."""


class MarkdownStream:
    """Renders into `document`. `step` returns True while there is more to do.

    A source with a limit is `full` once that much is finished: the owner then takes the rest
    with `hand_over` and goes on in another document, so that no document grows without
    bounds: Qt's cost of one edit grows with the document.
    """

    def __init__(
        self, document: QTextDocument, source: PartSource | None = None, wrap_code: bool = False
    ) -> None:
        document.setUndoRedoEnabled(False)
        self._wrap_code = wrap_code
        self.document = document
        self.restart(source or PartSource())

    def restart(self, source: PartSource) -> None:
        """Starts over with what `source` gives."""
        self.document.clear()
        self.source = source
        self._writer = MarkdownWriter(self.document, self._wrap_code)
        self._empty_code = False
        if source.lead.fence is not None:
            self._writer.code_start(source.lead.language, goes_on=True)
            self._empty_code = True
        self._stable: Mark = self._writer.mark()
        self._tail = ""
        self._tail_lead: Lead | None = None
        self._next_tail = 0.0
        self._code_before = ("", 0)

    @property
    def text(self) -> str:
        """The clean text so far."""
        return self.source.text

    @property
    def full(self) -> bool:
        """True when the rest is for another document."""
        return self.source.full

    @property
    def regions(self) -> list[CodeRegion]:
        return self._writer.regions

    @property
    def has_surfaces(self) -> bool:
        """Whether something is to be painted behind the text: code blocks or quotes."""
        return bool(self._writer.regions) or self._writer.quoted

    @property
    def ends_with_code(self) -> bool:
        return self._writer.ends_with_code

    def append(self, text: str) -> None:
        self.source.append(text)

    def hand_over(self) -> Handover:
        """Ends this document at the last finished block; the rest is for the next one."""
        self._writer.begin()
        self._drop_rest()
        out = self.source.hand_over()
        if out.lead.fence is not None:
            self._writer.code_end(goes_on=True)
        self._writer.end()
        return out

    def finish(self) -> None:
        self.source.finish()
        self._next_tail = 0.0

    def again(self) -> None:
        """Starts over with the same text (after a theme change); more of it may come."""
        self.restart(self.source.again())

    def reset(self, text: str, final: bool = True) -> None:
        """Starts over with another text."""
        source = PartSource()
        source.append(text)
        if final:
            source.finish()
        self.restart(source)

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
        while (piece := self.source.next()) is not None:
            self._drop_rest()
            writer = self._writer
            if piece.kind == "text":
                writer.write(piece.text, lead=piece.lead, joined=piece.joined)
            elif piece.kind == "plain":
                writer.plain(piece.text.rstrip("\n"))
            elif piece.kind == "code_start":
                writer.code_start(piece.text)
                self._empty_code = True
            elif piece.kind == "code_lines":
                writer.code_lines(piece.text, first=self._empty_code, glued=piece.lead.glued)
                self._empty_code = False
            else:
                writer.code_end(goes_on=piece.joined)
            self._stable = writer.mark()
            if self.full or time.perf_counter() > until:
                return False
        return True

    def _drop_rest(self) -> None:
        if self._tail_lead is None:
            return
        regions = self._writer.regions
        kept = self._tail_lead.fence is not None and regions
        self._writer.rewind(self._stable)
        if kept and regions:
            regions[-1].code, regions[-1].last = self._code_before
        self._tail, self._tail_lead = "", None

    def _write_rest(self) -> bool:
        """Shows the open block; a costly one is redrawn less often. True: still to be drawn."""
        splitter = self.source.splitter
        rest = splitter.rest()
        if rest == self._tail and (self._tail_lead is not None or not rest):
            return False
        now = time.perf_counter()
        if now < self._next_tail:
            return True
        if not splitter.in_code and self._grow(rest):
            return False
        self._drop_rest()
        if rest.strip() or (rest and splitter.in_code):
            if splitter.in_code:
                region = self._writer.regions[-1]
                self._code_before = (region.code, region.last)
                self._writer.code_lines(rest, self._empty_code, splitter.lead.glued)
            else:
                self._writer.write(rest, final=False, lead=splitter.lead)
            self._tail, self._tail_lead = rest, splitter.lead
        spent = time.perf_counter() - now
        self._next_tail = time.perf_counter() + 4 * spent if spent > 0.004 else 0.0
        return False

    def _grow(self, rest: str) -> bool:
        """Adds to the last line of an open paragraph that is nothing but words: until that line
        ends, no word can make anything else of what was before. A line that begins with a letter
        after an empty one begins a paragraph. False: the block is to be written anew."""
        if self._tail_lead != NO_LEAD:
            return False
        line = rest.rfind("\n") + 1
        paragraph = rest.rfind("\n\n", 0, line) + 2 if line > 1 else 0
        if paragraph < 2:
            paragraph = 0
        shown, wanted = self._tail.rstrip(), rest.rstrip()
        if len(shown) <= line or not wanted.startswith(shown):
            return False
        if not all(_WORDS.fullmatch(words) for words in rest[paragraph:].split("\n")):
            return False
        self._writer.more(wanted[len(shown) :])
        self._tail = rest
        return True

    def _paint_code(self, until: float) -> bool:
        painters = self._writer.painters
        while painters:
            for _ in painters[0]:
                if time.perf_counter() > until:
                    return True
            painters.pop(0)
        return False
