"""The container header and the model's metadata as plain values.

This is the only module that touches the generated schema of `litert-lm-builder`; see
`schema_modules` for how it is imported, on first use. Flatbuffer tables are read lazily by
that schema and check nothing, so a damaged table raises odd errors or claims absurd counts:
counts are bounded here and everything becomes `ModelFileError`.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass, field
from typing import Any

from engine import schema_modules
from engine.errors import ModelFileError
from engine.types import Section

MAX_SECTIONS = 1024
MAX_ITEMS = 1024
MAX_TEXT = 1 << 20


@dataclass(frozen=True, slots=True)
class Header:
    """`constraints` maps a section's model type to its `backend_constraint` text."""

    sections: tuple[Section, ...]
    metadata: dict[str, str]
    constraints: dict[str, str]


@dataclass(frozen=True, slots=True)
class LlmFacts:
    max_tokens: int | None = None
    thinking: bool = False
    tools: bool = False
    model_type: str = ""
    min_runtime: str | None = None
    template: str = ""
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    stop_tokens: tuple[str, ...] = field(default=())
    media_markers: tuple[str, ...] = field(default=())


def parse_header(data: bytes) -> Header:
    """Reads the section table and the system metadata out of the header block."""
    schema = schema_modules.header_schema()
    try:
        return _parse_header(schema, data)
    except ModelFileError:
        raise
    except (struct.error, IndexError, TypeError, ValueError, OverflowError, AttributeError) as e:
        raise ModelFileError("not_a_model", f"damaged header: {e}") from e


def _parse_header(schema: Any, data: bytes) -> Header:
    root = schema.LiteRTLMMetaData.GetRootAs(data, 0)
    names = {v: k for k, v in vars(schema.AnySectionDataType).items() if isinstance(v, int)}
    sections: list[Section] = []
    constraints: dict[str, str] = {}
    table = root.SectionMetadata()
    for i in range(_bounded(table.ObjectsLength() if table else 0, MAX_SECTIONS)):
        entry = table.Objects(i)
        items: dict[str, str] = {}
        for j in range(_bounded(entry.ItemsLength(), MAX_ITEMS)):
            _add(schema, entry.Items(j), items)
        model_type = items.get("model_type", "").lower()
        kind = names.get(entry.DataType(), f"type {entry.DataType()}")
        sections.append(Section(kind, model_type, entry.BeginOffset(), entry.EndOffset()))
        if items.get("backend_constraint"):
            constraints.setdefault(model_type, items["backend_constraint"])
    metadata: dict[str, str] = {}
    system = root.SystemMetadata()
    for i in range(_bounded(system.EntriesLength() if system else 0, MAX_ITEMS)):
        _add(schema, system.Entries(i), metadata)
    return Header(tuple(sections), metadata, constraints)


def _bounded(count: int, limit: int) -> int:
    if not 0 <= count <= limit:
        raise ModelFileError("not_a_model", f"damaged header: {count} entries")
    return count


def _add(schema: Any, pair: Any, into: dict[str, str]) -> None:
    """Puts one key/value pair of any scalar type into `into`, the value as text."""
    key, union = pair.Key(), pair.Value()
    if key is None or union is None or len(key) > MAX_TEXT:
        return
    kind = pair.ValueType()
    name = next((k for k, v in vars(schema.VData).items() if v == kind), "NONE")
    if name == "NONE" or not hasattr(schema, name):
        return
    value = getattr(schema, name)()
    value.Init(union.Bytes, union.Pos)
    raw = value.Value()
    if isinstance(raw, bytes):
        raw = raw[:MAX_TEXT].decode("utf-8", "replace")
    into[key.decode("utf-8", "replace")] = "" if raw is None else str(raw)


def parse_llm_metadata(data: bytes) -> LlmFacts:
    """Reads the metadata section. Fields absent in the file stay `None`."""
    from google.protobuf.message import DecodeError

    meta = schema_modules.llm_metadata().LlmMetadata()
    try:
        meta.ParseFromString(data)
    except (DecodeError, ValueError, RecursionError) as error:
        raise ModelFileError("not_a_model", f"damaged metadata: {error}") from error
    sampler = meta.sampler_params if meta.HasField("sampler_params") else None
    return LlmFacts(
        max_tokens=meta.max_num_tokens if meta.max_num_tokens > 0 else None,
        thinking=bool(meta.supports_thinking) or any(c.is_reasoning_channel for c in meta.channels),
        tools=bool(meta.supports_function_calling),
        model_type=meta.llm_model_type.WhichOneof("model_type") or "",
        min_runtime=meta.min_runtime_version or None,
        template=meta.jinja_prompt_template,
        temperature=_positive(sampler, "temperature"),
        top_p=_positive(sampler, "p"),
        top_k=int(k) if (k := _positive(sampler, "k")) else None,
        stop_tokens=tuple(t.token_str for t in meta.stop_tokens if t.token_str),
        media_markers=_media_markers(meta.llm_model_type),
    )


_GEMMA3 = ("<start_of_image>", "<image_soft_token>", "<start_of_audio>", "<audio_soft_token>")
_MARKERS: dict[str, tuple[str, ...]] = {
    "gemma3": _GEMMA3,
    "gemma3n": _GEMMA3,
    "fast_vlm": _GEMMA3,
    "gemma4": ("<start_of_image>", "<|image|>", "<start_of_audio>", "<|audio|>"),
    "lfm2": ("<|image_start|>", "<image>"),
    "minicpmv4": ("<image_soft_token>",),
}
"""What 0.18.1 looks for in a rendered prompt, by model type, whether the file has encoders or
not."""


def _media_markers(kind: Any) -> tuple[str, ...]:
    """Generic models name theirs as a pattern; only plain alternatives are understood."""
    name = kind.WhichOneof("model_type") or ""
    if name != "generic_model":
        return _MARKERS.get(name, ())
    generic = kind.generic_model
    if not (generic.image_enabled or generic.audio_enabled):
        return ()
    pattern = generic.delimiter_regex.strip().removeprefix("(").removesuffix(")")
    words = [re.sub(r"\\(?=[^\w\s])", "", w) for w in re.split(r"(?<!\\)\|", pattern)]
    return tuple(w for w in words if w and not re.search(r"[\[\](){}*+?^$\\]", w))


def _positive(sampler: Any, name: str) -> float | None:
    if sampler is None:
        return None
    value = float(getattr(sampler, name))
    return round(value, 6) if value > 0 else None
