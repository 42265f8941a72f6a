"""The Markdown parser, made on first use: importing it takes a while. No Qt."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token


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


def outline(text: str) -> list[Token]:
    """The blocks of `text`, without what stands in them."""
    return _outline_parser().parse(text)


def starts(tokens: list[Token]) -> list[tuple[int, str]]:
    """(first line, token type) of every top-level block."""
    return [
        (token.map[0], token.type)
        for token in tokens
        if token.level == 0 and token.nesting >= 0 and token.map
    ]
