"""Everything a model file says of itself, arranged for the details window. Pure."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

from app.library.local import LocalModel
from app.library.presenter import badges, source_words
from engine.types import ModelInfo
from ui import format as fmt
from ui import model_strings as words
from ui import strings
from ui.model_views import DetailsView

_LICENCE_KEYS = ("license", "licence", "authors", "author", "source", "attribution", "copyright")
_SKIPPED = frozenset({"uuid"})


def view(model: LocalModel, cache_bytes: int = 0) -> DetailsView:
    """The window's content. `model.info` must be known."""
    info = model.info
    assert info is not None
    return DetailsView(
        key=model.path,
        name=fmt.plain(model.name, 120),
        badges=badges(info),
        groups=(
            (words.GROUP_FILE, _file(model, cache_bytes)),
            (words.GROUP_ABILITIES, _abilities(info)),
            (words.GROUP_SAMPLER, _sampler(info)),
            (words.GROUP_LICENCE, _licence(info.metadata)),
        ),
        sections=tuple((s.kind, s.model_type, fmt.size(s.end - s.begin)) for s in info.sections),
        template=fmt.clean_text(info.prompt_template),
    )


def checksum_words(found: str, published: str) -> str:
    """The computed hash, and whether it is the published one."""
    if not published:
        return found
    if found == published:
        return words.CHECKSUM_GOOD.format(sha256=found)
    return words.CHECKSUM_BAD.format(sha256=found, expected=published)


def _file(model: LocalModel, cache_bytes: int) -> tuple[tuple[str, str], ...]:
    info = model.info
    moment = time.strftime("%d %b %Y, %H:%M", time.localtime(model.mtime_ns / 1e9))
    whole = info is None or info.expected_bytes <= model.bytes
    size = f"{fmt.size(model.bytes)} ({model.bytes:,} bytes)"
    if not whole and info is not None:
        size += f", {info.expected_bytes:,} expected"
    rows = [
        ("Path", fmt.plain(model.path)),
        ("Size", size),
        ("Engine cache", fmt.size(cache_bytes) if cache_bytes else "none"),
        ("Changed", moment.lstrip("0")),
        ("Found", source_words(model) or "in the models folder"),
    ]
    return tuple(rows)


def _abilities(info: ModelInfo) -> tuple[tuple[str, str], ...]:
    drafter = {True: "yes (MTP drafter)", False: "no", None: "unknown"}[info.supports_mtp]
    context = f"{info.max_context} tokens" if info.max_context else fmt.DASH
    rows = [
        ("Speculative decoding", drafter),
        ("Thinking", _yes(info.supports_thinking)),
        ("Tools", _yes(info.supports_tools)),
        ("Reads", ", ".join(str(m) for m in info.modalities)),
        ("Context", context + (", can be set freely" if info.dynamic_context else "")),
        ("Backends", ", ".join(strings.BACKENDS[b] for b in info.backends)),
        ("Minimum engine", fmt.plain(info.min_runtime, 40) if info.min_runtime else "none named"),
        ("Model type", fmt.plain(info.model_type, 60) or fmt.DASH),
        ("Stop tokens", "  ".join(fmt.plain(t, 40) for t in info.stop_tokens) or fmt.DASH),
    ]
    return tuple(rows)


def _sampler(info: ModelInfo) -> tuple[tuple[str, str], ...]:
    sampler = info.sampler
    return (
        ("Temperature", _number(sampler.temperature)),
        ("Top-p", _number(sampler.top_p)),
        ("Top-k", _number(sampler.top_k)),
    )


def _licence(metadata: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Licence and attribution first, then whatever else the metadata says."""
    known = {k: v for k, v in metadata.items() if k.lower() not in _SKIPPED}
    first = [k for want in _LICENCE_KEYS for k in known if k.lower() == want]
    rest = [k for k in known if k not in first]
    rows = [(_title(k), fmt.plain(known[k], 600)) for k in (*first, *rest)]
    if not any(k.lower() in {"license", "licence"} for k in first):
        rows.insert(0, ("Licence", words.NO_LICENCE))
    return tuple(rows)


def _title(key: str) -> str:
    text = fmt.plain(key.replace("_", " "), 40)
    return "Licence" if text.lower() == "license" else text[:1].upper() + text[1:]


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _number(value: float | None) -> str:
    return fmt.DASH if value is None else f"{value:g}"


def file_name(path: str) -> str:
    return fmt.plain(Path(path).name, 120)
