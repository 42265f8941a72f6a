"""Colours for finished code blocks, from Pygments, laid over the text line by line.

The colours live in the layout (as with a syntax highlighter), not in the document, so the
text stays plain and nothing is edited. Lexers are imported on first use. Main thread only;
`paint` is a generator, so that long code can be coloured over several frames.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from PySide6.QtGui import QTextBlock, QTextCharFormat, QTextDocument, QTextLayout

from ui.theme import theme

if TYPE_CHECKING:
    from pygments.lexer import Lexer

MAX_CODE = 256 * 1024

_TINTS = (
    ("Comment", "muted"),
    ("Literal.String", "warn"),
    ("Literal.Number", "warn"),
    ("Keyword", "accent"),
    ("Operator.Word", "accent"),
    ("Name.Tag", "accent"),
    ("Name.Decorator", "accent"),
    ("Generic.Deleted", "bad"),
    ("Generic.Inserted", "accent"),
    ("Name.Attribute", "warn"),
)


@lru_cache(maxsize=64)
def lexer_for(language: str) -> Lexer | None:
    """The lexer of a fence's language word; None when there is none."""
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    words = language.replace("{", " ").split()
    try:
        return get_lexer_by_name(words[0].lower().lstrip("."), stripnl=False, ensurenl=False)
    except (ClassNotFound, IndexError):
        return None


def warm_up() -> Iterator[None]:
    """Imports what the first answers will need ahead of time, a piece at each step."""
    from ui.markdown_parser import outline, parser

    outline("a\n\nb")
    yield
    parser().parse("a *b*")
    yield
    lexer_for("python")


@lru_cache(maxsize=512)
def _tint_of(token: str) -> str:
    name = token.removeprefix("Token.")
    return next((tint for prefix, tint in _TINTS if name.startswith(prefix)), "")


def paint(document: QTextDocument, position: int, code: str, language: str) -> Iterator[None]:
    """Colours the lines of `code`, the first of which is the block at `position`.

    To be run inside an edit block: setting the formats of a line reports it as changed, and
    each report outside of one would lay out the rest of the document. Yields after every
    line; stops when the document no longer holds the code there.
    """
    lexer = lexer_for(language) if language and len(code) <= MAX_CODE else None
    if lexer is None:
        return
    formats: dict[str, QTextCharFormat] = {}
    for tint in ("muted", "warn", "accent", "bad"):
        formats[tint] = QTextCharFormat()
        formats[tint].setForeground(theme().color(tint))
    block = document.findBlock(position)
    ranges: list[QTextLayout.FormatRange] = []
    column = 0
    for kind, value in lexer.get_tokens(code):
        tint = _tint_of(str(kind))
        for number, part in enumerate(value.split("\n")):
            if number:
                if not _apply(block, ranges):
                    return
                block, ranges, column = block.next(), [], 0
                yield
            units = len(part) if part.isascii() else len(part.encode("utf-16-le")) // 2
            if tint and units:
                item = QTextLayout.FormatRange()
                item.start, item.length = column, units
                item.format = formats[tint]
                ranges.append(item)
            column += units
    _apply(block, ranges)


def _apply(block: QTextBlock, ranges: list[QTextLayout.FormatRange]) -> bool:
    if not block.isValid():
        return False
    if ranges:
        block.layout().setFormats(ranges)
    return True
