"""Finding in one conversation: hits are counted in the raw text, also of turns without a
widget, and marked in what is shown. Main thread only.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ui.answer_text import Hit
    from ui.message_view import MessageView
    from ui.transcript import Transcript


class TranscriptFind:
    """The search of one transcript; an empty term marks nothing."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript
        self._term = ""
        self._case = False
        self._hits: list[tuple[int, int]] = []
        self._current: Hit | None = None
        self._marked = False

    def search(self, term: str, case: bool) -> int:
        """Finds and marks; the number of hits over all turns."""
        self._term, self._case, self._hits, self._current = term, case, [], None
        if term:
            pattern = re.compile(re.escape(term), 0 if case else re.IGNORECASE)
            for at, turn in enumerate(self._transcript.turns()):
                count = sum(1 for _ in pattern.finditer(turn.text))
                self._hits += [(at, n) for n in range(count)]
        if term or self._marked:
            for view in self._transcript.message_views():
                self._mark(view)
        self._marked = bool(term)
        return len(self._hits)

    def mark(self, view: MessageView) -> None:
        """Marks the hits of one turn, after it was rendered."""
        if self._term:
            self._mark(view)

    def goto(self, index: int) -> None:
        if not 0 <= index < len(self._hits):
            return
        at, nth = self._hits[index]
        self._transcript.show_window_at(at)
        view = self._transcript.view_of(self._transcript.turns()[at].node_id)
        if view is None:
            return

        self._current = hit = view.words.find_nth(nth, self._term, self._case)
        for other in self._transcript.message_views():
            self._mark(other)
        self._transcript.reveal(view, lambda: 0 if hit is None else view.words.y_of(hit))

    def _mark(self, view: MessageView) -> None:
        found = view.words.find_all(self._term, self._case) if self._term else []
        view.words.mark_hits(found, self._current)
