"""Where a block too long to be drawn at once may be cut, and what the rest goes on with. No Qt.

Tables are cut between rows, lists between items, quotes between lines and paragraphs between
lines or words. The rest knows its `Lead`, so it is drawn as the block it belongs to.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it.token import Token

PARAGRAPH = "."
"""Put before the rest of a paragraph, so that its first word cannot begin another block."""
_QUOTE_LINE = re.compile(r"^>[ \t]?\S", re.MULTILINE)
MOST_CHARS = 60
LEAST_CHARS = 4


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


@dataclass(frozen=True, slots=True)
class Lead:
    """What a text is in the middle of; all empty: a block begins.

    `fence` and `language`: a code block; `glued`: in the middle of one of its lines.
    `head`: a table, its first two lines; `shares`: the widths of its columns.
    `number`: a list (0: bullets). `paragraph`: a paragraph.
    """

    fence: Fence | None = None
    language: str = ""
    glued: bool = False
    head: str = ""
    shares: tuple[int, ...] = ()
    number: int | None = None
    paragraph: bool = False

    @property
    def prefix(self) -> str:
        """What the parser must see before the text to take it for the same block."""
        return self.head or (PARAGRAPH if self.paragraph else "")


NO_LEAD = Lead()


def column_shares(rows: Sequence[Sequence[str]]) -> tuple[int, ...]:
    """Widths of columns in proportion to their longest cells, in characters."""
    if not rows:
        return ()
    widest = [
        max((len(row[at]) for row in rows if at < len(row)), default=0)
        for at in range(len(rows[0]))
    ]
    return tuple(min(MOST_CHARS, max(LEAST_CHARS, width)) for width in widest)


def cut_block(tokens: Sequence[Token], text: str, lead: Lead) -> tuple[int, Lead] | None:
    """Cuts the one block `text` is (with `lead` before it); None where it cannot be cut.

    `tokens` are the parser's for `lead.prefix + text`. Returns where the rest begins and what
    it goes on with.
    """
    if not tokens:
        return None
    kind = tokens[0].type
    if kind == "table_open":
        return _cut_table(tokens, text, lead)
    if kind in ("bullet_list_open", "ordered_list_open"):
        return _cut_list(tokens, text, lead)
    if kind == "paragraph_open":
        return _cut_paragraph(text)
    if kind == "blockquote_open":
        at = max((m.start() for m in _QUOTE_LINE.finditer(text)), default=0)
        return (at, NO_LEAD) if at else None
    return None


def _last_line(text: str) -> int:
    """Where the last line that is not empty begins."""
    return text.rfind("\n", 0, len(text.rstrip("\n"))) + 1


def _cut_table(tokens: Sequence[Token], text: str, lead: Lead) -> tuple[int, Lead] | None:
    head = lead.head or "".join(text.splitlines(keepends=True)[:2])
    at = _last_line(text)
    if at <= (0 if lead.head else len(head)) or not text.startswith("|", at):
        return None
    if lead.head:
        return at, lead
    rows: list[list[str]] = []
    for token in tokens:
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline" and rows:
            rows[-1].append(token.content)
    return at, Lead(head=head, shares=column_shares(rows[:-1]))


def _cut_list(tokens: Sequence[Token], text: str, lead: Lead) -> tuple[int, Lead] | None:
    lines = [t.map[0] for t in tokens if t.type == "list_item_open" and t.level == 1 and t.map]
    if len(lines) < 2:
        return None
    at = 0
    for _ in range(lines[-1]):
        at = text.index("\n", at) + 1
    if text.startswith((" ", "\t"), at):
        return None
    number = 0
    if tokens[0].type == "ordered_list_open":
        start = tokens[0].attrGet("start")
        first = lead.number or (1 if start is None else int(start))
        number = first + len(lines) - 1
    return at, Lead(number=number)


def _cut_paragraph(text: str) -> tuple[int, Lead] | None:
    at = _last_line(text)
    if not at:
        at = text.rfind(" ") + 1 or len(text)
    return at, Lead(paragraph=True)
