"""Numbers as people read them. Pure functions, no Qt; shared with the command line.

A number that is not known is `—` where a place must be filled, and left out of lines made
of parts. Seconds, tokens per second and bytes come in as in `engine.types`.
"""

from __future__ import annotations

import html
import json
import re

DASH = "—"
DOT = " · "
RED_ABOVE = 0.85
"""Share of the context above which the gauge turns red."""

_BIDI = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
"""Characters that change the direction of what stands around them."""
_HIDDEN = "\u00ad\u180e\u200b\u2060-\u2064\u206a-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f"
"""Characters that take no room: text could be hidden in them, or told apart by them."""
_TURNING = re.compile(f"[{_BIDI}]")
_CODES = "\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x9f\\ud800-\\udfff"
_CONTROLS = re.compile(f"[{_CODES}]")
_UNSEEN = re.compile(f"[{_CODES}{_BIDI}{_HIDDEN}]")
_PARTS = re.compile(r"[/\\](?=\S)")
_BREAKS = re.compile("[\\s\u2028\u2029]+")


def fixed(value: float | None, digits: int) -> str:
    """`value` with a fixed number of decimals, `—` when unknown."""
    return DASH if value is None else f"{value:.{digits}f}"


def tps(value: float | None) -> str:
    """Answer speed: one decimal."""
    return fixed(value, 1)


def prefill(value: float | None) -> str:
    """Prompt speed: whole numbers from 100 on, one decimal below."""
    if value is None:
        return DASH
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}"


def speedup(value: float | None) -> str:
    return DASH if value is None else f"{value:.2f}×"


def size(count: int | None) -> str:
    """Bytes in decimal units, as file managers and shops print them: `186 MB`, `2.59 GB`."""
    if count is None:
        return DASH
    if count < 1000:
        return f"{count} B"
    value = float(count)
    for unit in ("kB", "MB", "GB", "TB"):
        value /= 1000
        if value < 999.5 or unit == "TB":
            digits = 2 if unit in ("GB", "TB") and value < 100 else 0
            return f"{value:.{digits}f} {unit}"
    raise AssertionError("unreachable")


def context_part(used: int | None, total: int | None) -> str:
    """`context USED/TOTAL (P%)`, empty when either is unknown."""
    if used is None or not total:
        return ""
    return f"context {used}/{total} ({round(100 * used / total)}%)"


def gauge_line(
    *,
    used: int | None = None,
    total: int | None = None,
    elapsed_s: float | None = None,
    decode_tps: float | None = None,
    ttft_s: float | None = None,
    live: bool = False,
) -> str:
    """The gauge: `context USED/TOTAL (P%) · E.Es · D.D tok/s decode · TTFT T.TTs`.

    Unknown parts are left out; a live (cumulative, still changing) speed is marked `≈`.
    """
    mark = "≈ " if live else ""
    parts = [
        context_part(used, total),
        "" if elapsed_s is None else f"{elapsed_s:.1f}s",
        "" if decode_tps is None else f"{mark}{decode_tps:.1f} tok/s decode",
        "" if ttft_s is None else f"TTFT {ttft_s:.2f}s",
    ]
    return DOT.join(p for p in parts if p)


def is_nearly_full(used: int | None, total: int | None) -> bool:
    return used is not None and bool(total) and used / (total or 1) > RED_ABOVE


def footer_parts(
    *,
    decode_tps: float | None = None,
    prefill_tps: float | None = None,
    ttft_s: float | None = None,
    tokens: int | None = None,
    tokens_per_step: float | None = None,
) -> tuple[str, ...]:
    """The numbers under an answer, unknown ones left out."""
    parts = [
        "" if decode_tps is None else f"{tps(decode_tps)} tok/s decode",
        "" if prefill_tps is None else f"{prefill(prefill_tps)} tok/s prefill",
        "" if ttft_s is None else f"TTFT {ttft_s:.2f} s",
        "" if tokens is None else f"{tokens} token{'' if tokens == 1 else 's'}",
        "" if tokens_per_step is None else f"{tokens_per_step:.1f} tokens/step",
    ]
    return tuple(p for p in parts if p)


def plain(text: str, limit: int = 0) -> str:
    """`text` on one line without control and bidirectional characters, for titles and names.

    A character that would reorder or hide text becomes U+FFFD; line breaks become spaces.
    `limit` > 0 cuts with an ellipsis.
    """
    if limit:
        text = text[: limit * 4 + 64]
    line = _UNSEEN.sub("\ufffd", _BREAKS.sub(" ", text)).strip()
    if limit and len(line) > limit:
        line = line[: limit - 1].rstrip() + "…"
    return line


def words(text: str) -> str:
    """Sentences and lists for a label: like `plain`, but lines stay lines."""
    return _UNSEEN.sub("\ufffd", clean_text(text))


def breakable(text: str) -> str:
    """Paths in a label may break after each of their parts."""
    return _PARTS.sub("\\g<0>\u200b", text)


def steady(text: str) -> str:
    """Code as shown: what would make it read in another order than it runs becomes U+FFFD.
    As long as before."""
    return _TURNING.sub("\ufffd", text)


def visible(text: str) -> str:
    """JSON or code that is agreed to: everything unseen is spelled out as `\\u202e`."""
    return _UNSEEN.sub(lambda m: json.dumps(m[0])[1:-1], text)


def tip(text: str) -> str:
    """Text for a tooltip. Qt takes some texts for markup, which could even load a file."""
    shown = words(text)
    if "<" not in shown and "&" not in shown:
        return shown
    return f"<p>{html.escape(shown, quote=False)}</p>".replace("\n", "<br>")


def clean_text(text: str) -> str:
    """Text for a document: line ends as `\\n`, NUL and other controls as U+FFFD.

    Tabs and line feeds stay. What is returned can be shown and sent alike.
    """
    if text.isprintable():
        return text
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = text.replace("\u2028", "\n").replace("\u2029", "\n")
    return _CONTROLS.sub("\ufffd", text)
