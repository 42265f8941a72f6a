"""`tandem info FILE`: what the header of a model file says, without loading it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import msgspec

from app import wording
from app.cli import fail
from engine import model_file
from engine.errors import EngineError
from engine.types import LIBRARY_VERSION, FileState, LoadOptions, ModelInfo
from ui import format as fmt
from ui import strings


def main(argv: Sequence[str]) -> int:
    p = argparse.ArgumentParser(prog="tandem info", description="Prints what a model file can do.")
    p.add_argument("file", metavar="FILE.litertlm")
    p.add_argument("--json", action="store_true")
    args = p.parse_args(argv)
    try:
        info = model_file.inspect(args.file)
    except EngineError as problem:
        return fail(wording.terminal_sentence(problem, LoadOptions(model_path=args.file)))
    if args.json:
        print(msgspec.json.format(msgspec.json.encode(info), indent=2).decode())
    else:
        print("\n".join(f"{label + ':':<14}{value}" for label, value in facts(info)))
    return 0


def facts(info: ModelInfo) -> list[tuple[str, str]]:
    """(label, value) pairs as people read them."""
    return [
        ("Model", fmt.plain(info.name)),
        ("File", info.path),
        ("Size", fmt.size(info.file_bytes)),
        ("State", _state(info)),
        ("Context", f"{info.max_context} tokens" if info.max_context else fmt.DASH),
        ("MTP drafter", _yes(info.supports_mtp)),
        ("Thinking", _yes(info.supports_thinking)),
        ("Tools", _yes(info.supports_tools)),
        ("Input", ", ".join(info.modalities)),
        ("Backends", ", ".join(strings.BACKENDS[b] for b in info.backends)),
        ("Min runtime", info.min_runtime or fmt.DASH),
        ("Type", info.model_type or fmt.DASH),
        ("Stop tokens", ", ".join(fmt.plain(t) for t in info.stop_tokens) or fmt.DASH),
        ("Sections", ", ".join(f"{s.model_type or s.kind}" for s in info.sections) or fmt.DASH),
    ]


def _yes(value: bool | None) -> str:
    return fmt.DASH if value is None else "yes" if value else "no"


def _state(info: ModelInfo) -> str:
    if info.state is FileState.INCOMPLETE:
        return f"incomplete: {info.file_bytes} of {info.expected_bytes} bytes"
    if info.state is FileState.NEEDS_RUNTIME:
        return f"needs engine {info.min_runtime}; this is {LIBRARY_VERSION}"
    return "complete"
