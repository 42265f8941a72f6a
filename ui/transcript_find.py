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
        self._marked = False

    def search(self, term: str, case: bool) -> int:
        """Finds and marks; the number of hits over all turns."""
        self._term, self._case, self._hits = term, case, []
        if term:
            pattern = re.compile(re.escape(term), 0 if case else re.IGNORECASE)
            for at, turn in enumerate(self._transcript.turns()):
                count = sum(1 for _ in pattern.finditer(turn.text))
                self._hits += [(at, n) for n in range(count)]
        if term or self._marked:
            for view in self._transcript.message_views():
                view.words.mark_hits(self._places(view))
        self._marked = bool(term)
        return len(self._hits)

    def mark(self, view: MessageView) -> None:
        """Marks the hits of one turn, after it was rendered."""
        if self._term:
            view.words.mark_hits(self._places(view))

    def goto(self, index: int) -> None:
        if not 0 <= index < len(self._hits):
            return
        at, nth = self._hits[index]
        self._transcript.show_window_at(at)
        for other in self._transcript.message_views():
            other.words.mark_hits(self._places(other))
        view = self._transcript.view_of(self._transcript.turns()[at].node_id)
        if view is None:
            return

        def place() -> int:
            hits = self._places(view)
            if not hits:
                return 0
            current = min(nth, len(hits) - 1)
            view.words.mark_hits(hits, current)
            return view.words.y_of(hits[current])

        self._transcript.reveal(view, place)

    def _places(self, view: MessageView) -> list[Hit]:
        return view.words.find_all(self._term, self._case) if self._term else []
