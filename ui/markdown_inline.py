"""Writes the inline tokens of one block: emphasis, code, links, images as words.

No resource is ever referred to: an image becomes its description and its address. Main
thread only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from PySide6.QtGui import QBrush, QFont, QTextCharFormat, QTextCursor

from ui.format import steady, tip
from ui.theme import theme

if TYPE_CHECKING:
    from markdown_it.token import Token

_URL = re.compile(r"https?://[^\s<>\"'`|\\^{}]+[^\s<>\"'`|\\^{}.,;:!?)\]]")
_LINE = "\u2028"


def write_inline(cursor: QTextCursor, children: Sequence[Token], base: QTextCharFormat) -> None:
    """Inserts `children` at `cursor`, in `base` and what they add to it."""
    stack = [base]
    look = theme()

    def push(change: Callable[[QTextCharFormat], None]) -> None:
        fmt = QTextCharFormat(stack[-1])
        change(fmt)
        stack.append(fmt)

    for token in children:
        kind = token.type
        if kind == "text":
            _text(cursor, token.content, stack[-1])
        elif kind in ("softbreak", "hardbreak"):
            cursor.insertText(_LINE, stack[-1])
        elif kind == "code_inline":
            fmt = QTextCharFormat(stack[-1])
            fmt.setFontFamilies([look.mono_family])
            fmt.setFontFixedPitch(True)
            fmt.setBackground(QBrush(look.color("code")))
            cursor.insertText(steady(token.content), fmt)
        elif kind == "strong_open":
            push(lambda f: f.setFontWeight(QFont.Weight.Bold))
        elif kind == "em_open":
            push(lambda f: f.setFontItalic(True))
        elif kind == "s_open":
            push(lambda f: f.setFontStrikeOut(True))
        elif kind == "link_open":
            target = str(token.attrGet("href") or "")
            push(lambda f, t=target: _make_link(f, t))  # type: ignore[misc]
        elif kind.endswith("_close") and len(stack) > 1:
            stack.pop()
        elif kind == "image":
            _image(cursor, token, stack[-1])


def _text(cursor: QTextCursor, text: str, fmt: QTextCharFormat) -> None:
    at = 0
    if not fmt.isAnchor() and "://" in text:
        for found in _URL.finditer(text):
            cursor.insertText(text[at : found.start()], fmt)
            link = QTextCharFormat(fmt)
            _make_link(link, found[0])
            cursor.insertText(found[0], link)
            at = found.end()
    cursor.insertText(text[at:], fmt)


def _image(cursor: QTextCursor, token: Token, fmt: QTextCharFormat) -> None:
    """An image is never fetched: its words and its address are shown instead."""
    target = str(token.attrGet("src") or "")
    muted = QTextCharFormat(fmt)
    muted.setForeground(QBrush(theme().color("muted")))
    cursor.insertText(f"[image: {token.content or 'no description'}] ", muted)
    link = QTextCharFormat(muted)
    _make_link(link, target)
    cursor.insertText(target, link)


def _make_link(fmt: QTextCharFormat, target: str) -> None:
    fmt.setAnchor(True)
    fmt.setAnchorHref(target)
    fmt.setForeground(QBrush(theme().color("accent")))
    fmt.setFontUnderline(True)
    fmt.setToolTip(tip(target))
