"""Facts about a `.litertlm` file, read from its header without loading the model.

Threads: any; blocking disk reads of a few hundred kilobytes at most. No native library is
involved, so a damaged file cannot hurt the process. Lengths found in the file are never
trusted: every read is bounded by the file's size and by `MAX_HEADER`/`MAX_METADATA`.

Errors: `ModelFileError` for a file that can never be a usable model. Two states are no
errors here, because a person may want to see them or try anyway: `FileState.INCOMPLETE`
and `FileState.NEEDS_RUNTIME`; `check_loadable` turns them into errors.

Source: the container schema published in the package `litert-lm-builder` (0.18.1).
"""

from __future__ import annotations

import logging
import os
import re
import stat
import struct
from pathlib import Path

from engine import header_schema
from engine.errors import ModelFileError
from engine.tflite_signatures import prefill_sizes
from engine.types import (
    LIBRARY_VERSION,
    Backend,
    FileState,
    Modality,
    ModelInfo,
    SamplerDefaults,
)

MAGIC = b"LITERTLM"
MAJOR_VERSION = 1
HEADER_BEGIN = 32
MAX_HEADER = 16 << 20
MAX_METADATA = 64 << 20

_log = logging.getLogger(__name__)
_VERSION = re.compile(r"\s*v?(\d{1,9})(?:\.(\d{1,9}))?(?:\.(\d{1,9}))?(?:[-+.].*)?\s*", re.DOTALL)


def inspect(path: str | os.PathLike[str]) -> ModelInfo:
    """Reads the facts of one model file. Raises `ModelFileError` when it is no model."""
    text = os.fspath(path)
    try:
        status = os.stat(text)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise ModelFileError("not_found", str(error), path=text) from error
    except (OSError, ValueError) as error:
        raise ModelFileError("unreadable", str(error), path=text) from error
    if stat.S_ISDIR(status.st_mode):
        raise ModelFileError("is_folder", path=text)
    if not stat.S_ISREG(status.st_mode):
        raise ModelFileError("not_a_model", "not a regular file", path=text)
    if status.st_size == 0:
        raise ModelFileError("empty", path=text)
    try:
        return _read(text, status)
    except ModelFileError as error:
        error.params.setdefault("path", text)
        raise
    except OSError as error:
        raise ModelFileError("unreadable", str(error), path=text) from error


def check_loadable(info: ModelInfo, *, try_anyway: bool = False) -> None:
    """Raises `ModelFileError` for a file that is cut short or asks for a newer runtime.

    `try_anyway` lets a file that asks for a newer runtime pass; a cut file never passes.
    """
    if info.state is FileState.INCOMPLETE:
        raise ModelFileError(
            "incomplete", path=info.path, has=info.file_bytes, needs=info.expected_bytes
        )
    if info.state is FileState.NEEDS_RUNTIME and not try_anyway:
        raise ModelFileError(
            "needs_runtime", path=info.path, needs=info.min_runtime or "", has=LIBRARY_VERSION
        )


def needs_newer_runtime(minimum: str | None, have: str = LIBRARY_VERSION) -> bool:
    """Whether `minimum` is a readable version above `have`; unreadable ones are logged."""
    if not minimum:
        return False
    wanted, own = _version(minimum), _version(have)
    if wanted is None or own is None:
        _log.warning("Model asks for an unreadable runtime version: %.80r", minimum)
        return False
    return wanted > own


def _version(text: str) -> tuple[int, ...] | None:
    match = _VERSION.fullmatch(text)
    if match is None:
        return None
    return tuple(int(part or 0) for part in match.groups())


def _read(path: str, status: os.stat_result) -> ModelInfo:
    size = status.st_size
    with open(path, "rb") as file:
        head = file.read(4096)
        _check_head(head, path)
        if len(head) < HEADER_BEGIN:
            return _cut(path, status, HEADER_BEGIN)
        (header_end,) = struct.unpack_from("<Q", head, 24)
        if not HEADER_BEGIN + 8 <= header_end <= MAX_HEADER:
            raise ModelFileError("not_a_model", f"header ends at {header_end}", path=path)
        if size < header_end:
            return _cut(path, status, header_end)
        file.seek(HEADER_BEGIN)
        header = header_schema.parse_header(file.read(header_end - HEADER_BEGIN))
        sections = header.sections
        if any(not header_end <= s.begin <= s.end <= 1 << 50 for s in sections):
            raise ModelFileError("not_a_model", "section table out of range", path=path)
        expected = max((s.end for s in sections), default=header_end)
        kinds = {s.kind for s in sections}
        if not kinds & {"LlmMetadataProto", "TFLiteModel"} or "EmbeddingMetadataProto" in kinds:
            raise ModelFileError("not_a_model", "no language model inside", path=path)
        meta = header_schema.LlmFacts()
        at = next((s for s in sections if s.kind == "LlmMetadataProto"), None)
        if at is not None and at.end <= size:
            if at.end - at.begin > MAX_METADATA:
                raise ModelFileError("not_a_model", "metadata too large", path=path)
            file.seek(at.begin)
            meta = header_schema.parse_llm_metadata(file.read(at.end - at.begin))
        types = {s.model_type for s in sections}
        main = next((s for s in sections if s.model_type.endswith("prefill_decode")), None)
        sizes = prefill_sizes(file, main) if main is not None and main.end <= size else ()
    state = FileState.OK
    if size < expected:
        state = FileState.INCOMPLETE
    elif needs_newer_runtime(meta.min_runtime):
        state = FileState.NEEDS_RUNTIME
    return ModelInfo(
        path=path,
        name=Path(path).stem,
        file_bytes=size,
        expected_bytes=expected,
        mtime_ns=status.st_mtime_ns,
        state=state,
        sections=sections,
        supports_mtp=any(t.endswith("mtp_drafter") for t in types),
        supports_thinking=meta.thinking,
        supports_tools=meta.tools,
        modalities=_modalities(types),
        backends=_backends(header.constraints),
        max_context=meta.max_tokens,
        min_runtime=meta.min_runtime,
        model_type=meta.model_type,
        sampler=SamplerDefaults(temperature=meta.temperature, top_p=meta.top_p, top_k=meta.top_k),
        stop_tokens=meta.stop_tokens,
        prompt_template=meta.template,
        metadata=header.metadata,
        prefill_sizes=sizes,
        media_markers=meta.media_markers,
    )


def _cut(path: str, status: os.stat_result, expected: int) -> ModelInfo:
    """A file that ends inside its own header: nothing but its state is known."""
    return ModelInfo(
        path=path,
        name=Path(path).stem,
        file_bytes=status.st_size,
        expected_bytes=expected,
        mtime_ns=status.st_mtime_ns,
        state=FileState.INCOMPLETE,
    )


def _check_head(head: bytes, path: str) -> None:
    """Raises for everything that does not begin like a container of our version."""
    if head.startswith(MAGIC):
        if len(head) >= 20:
            major, minor, patch = struct.unpack_from("<III", head, 8)
            if major != MAJOR_VERSION:
                raise ModelFileError("other_version", path=path, version=f"{major}.{minor}.{patch}")
        return
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if start.startswith(b"version https://git-lfs.github.com/spec"):
        raise ModelFileError("lfs_pointer", path=path)
    if start.startswith((b"<!doctype", b"<html", b"<head", b"<?xml", b"<!--")):
        raise ModelFileError("login_page", path=path)
    if MAGIC.startswith(head):
        return  # cut inside the magic itself: incomplete
    raise ModelFileError("not_a_model", f"begins with {head[:8]!r}", path=path)


def _modalities(types: set[str]) -> tuple[Modality, ...]:
    found = [Modality.TEXT]
    if any("vision_encoder" in t for t in types):
        found.append(Modality.VISION)
    if any("audio_encoder" in t for t in types):
        found.append(Modality.AUDIO)
    return tuple(found)


def _backends(constraints: dict[str, str]) -> tuple[Backend, ...]:
    """The backends the main model's section allows; CPU and GPU when it says nothing."""
    for kind, text in constraints.items():
        if kind.endswith(("prefill_decode", "artisan_text_decoder")):
            named = [part.strip().split("_")[0] for part in text.lower().split(",")]
            found = tuple(Backend(n) for n in dict.fromkeys(named) if n in set(Backend))
            if found:
                return found
    return (Backend.CPU, Backend.GPU)
