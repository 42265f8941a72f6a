"""Full-text search: words → an FTS5 query, rows → hits with snippets.

`find` runs on the history thread; the rest are plain functions.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable
from typing import Any

import msgspec

from app.history_rows import clean, read_text

OPEN, CLOSE = "\ue000", "\ue001"
"""Marks around found words inside a snippet from SQLite (private-use characters)."""

_WORD = re.compile(r"\w+", re.UNICODE)
_NO_SPACES = re.compile(
    r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\U00020000-\U0003ffff]"
)


class Hit(msgspec.Struct, frozen=True, kw_only=True):
    """One conversation that matches. `node` is the best turn, "" when the title matched.

    `marks` are (start, length) of the found words inside `snippet`, in characters.
    """

    conversation: str
    title: str
    updated: float
    node: str = ""
    snippet: str = ""
    marks: tuple[tuple[int, int], ...] = ()


def words(text: str) -> list[str]:
    """Words of a query, at most 16."""
    return _WORD.findall(text.replace("\0", " "))[:16]


def needs_scan(text: str) -> bool:
    """True for scripts written without spaces: the index has whole runs there, so the
    query is looked for as plain text instead."""
    return bool(_NO_SPACES.search(text))


def fts_query(text: str) -> str:
    """Every word must occur, each as the start of a word. "" when there is no word."""
    return " ".join(f'"{word}"*' for word in words(text))


def parse_snippet(raw: str) -> tuple[str, tuple[tuple[int, int], ...]]:
    """Takes the marks out of a snippet and makes it one line."""
    text = ""
    marks: list[tuple[int, int]] = []
    start = -1
    for piece in re.split(f"([{OPEN}{CLOSE}])", re.sub(r"\s+", " ", raw)):
        if piece == OPEN:
            start = len(text)
        elif piece == CLOSE:
            if start >= 0:
                marks.append((start, len(text) - start))
            start = -1
        else:
            text += piece
    return text, tuple(marks)


def scan_snippet(
    body: str, needle: str, width: int = 60
) -> tuple[str, tuple[tuple[int, int], ...]]:
    """A snippet around the first place where `needle` occurs, ignoring case."""
    flat = re.sub(r"\s+", " ", body)
    at = flat.lower().find(needle.lower())
    if at < 0:
        return flat[:width], ()
    start = max(0, at - width // 3)
    head = "…" if start else ""
    return head + flat[start : start + width], ((at - start + len(head), len(needle)),)


_BY_WORDS = """
    WITH found AS MATERIALIZED (
        SELECT rowid AS at, snippet(search, 0, ?, ?, '…', 12) AS shown, rank AS score
        FROM search WHERE search MATCH ? ORDER BY rank LIMIT ?
    )
    SELECT c.id, c.title, c.updated, coalesce(n.id, ''), found.shown FROM found
    LEFT JOIN node n ON n.key = found.at
    JOIN conversation c ON c.id = n.conversation OR c.key = -found.at
    WHERE c.deleted IS NULL ORDER BY found.at > 0, found.score
"""
_BY_SCAN = """
    WITH found AS MATERIALIZED (
        SELECT rowid AS at, body AS shown FROM search WHERE body LIKE ? ESCAPE '\\' LIMIT ?
    )
    SELECT c.id, c.title, c.updated, coalesce(n.id, ''), found.shown FROM found
    LEFT JOIN node n ON n.key = found.at
    JOIN conversation c ON c.id = n.conversation OR c.key = -found.at
    WHERE c.deleted IS NULL ORDER BY found.at > 0, c.updated DESC
"""


def find(db: sqlite3.Connection, text: str, limit: int) -> list[Hit]:
    """One hit per conversation: titles first, then by rank. No text is a syntax error."""
    if needs_scan(text):
        needle = clean(text).strip()
        pattern = "%" + "".join("\\" + c if c in "\\%_" else c for c in needle) + "%"
        rows = db.execute(_BY_SCAN, (pattern, limit * 4))
        return _hits(((*r[:4], *scan_snippet(str(r[4]), needle)) for r in rows), limit)
    query = fts_query(text)
    if not query:
        return []
    rows = db.execute(_BY_WORDS, (OPEN, CLOSE, query, limit * 4))
    return _hits(((*r[:4], *parse_snippet(str(r[4]))) for r in rows), limit)


def _hits(rows: Iterable[tuple[Any, ...]], limit: int) -> list[Hit]:
    hits: dict[str, Hit] = {}
    for name, title, updated, node, snippet, marks in rows:
        key = read_text(name)
        hit = Hit(
            conversation=key,
            title=read_text(title),
            updated=float(updated),
            node=read_text(node),
            snippet=snippet,
            marks=marks,
        )
        # A title that matches puts its conversation first; the turn that matches is shown.
        if (key in hits and not hits[key].node) or (key not in hits and len(hits) < limit):
            hits[key] = hit
    return list(hits.values())
