"""The command line: what the words after `tandem` mean.

Standard library, msgspec and `engine` only until a window is really wanted: the commands
work without Qt. Exit codes: 0 done, 1 failed with one readable line on stderr, 2 bad usage.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from app import logs, privacy
from app.version import APP_NAME, VERSION
from engine.types import Backend

COMMANDS = ("chat", "bench", "info", "self-test")
SUFFIX = ".litertlm"
USAGE = """\
tandem                              open the window
tandem FILE.litertlm                open the window with that model
tandem [chat] [FILE.litertlm] "prompt" [options]
tandem bench [FILE.litertlm] [options]
tandem info FILE.litertlm [--json]
tandem self-test"""


def main(argv: Sequence[str]) -> int:
    """Runs one command. Never raises; bad usage is 2 (argparse ends the program with it)."""
    privacy.begin()
    logs.ensure_streams()
    try:
        return _dispatch(list(argv))
    except KeyboardInterrupt:
        print(file=sys.stderr)
        return 1
    except BrokenPipeError:
        # The reader of our output went away: end quietly, also at the interpreter's exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def fail(sentence: str) -> int:
    print(f"tandem: {sentence}", file=sys.stderr)
    return 1


def _dispatch(argv: list[str]) -> int:
    if argv and argv[0] in ("-h", "--help"):
        more = "More with: tandem chat --help, tandem bench --help"
        print(f"{APP_NAME} {VERSION}\n\n{USAGE}\n\n{more}")
        return 0
    if argv and argv[0] in ("-V", "--version"):
        from engine.types import LIBRARY_VERSION

        print(f"{APP_NAME} {VERSION} (LiteRT-LM {LIBRARY_VERSION})")
        return 0
    command, rest = (argv[0], argv[1:]) if argv else ("", [])
    if command == "bench":
        from app.bench.cli import main as bench

        return bench(rest)
    if command == "info":
        from app.cli_info import main as info

        return info(rest)
    if command == "self-test":
        from app.cli_self_test import main as self_test

        return self_test(rest)
    if command == "chat":
        return _chat(rest)
    if not argv:
        return _window(None)
    if is_model(command) and not rest:
        return _window(command)
    if is_model(command) or (command.startswith("-") and any(map(is_model, rest))):
        return _chat(argv)
    print(f"tandem: unknown command {command!r}\n\n{USAGE}", file=sys.stderr)
    return 2


def is_model(text: str) -> bool:
    """Whether an argument names a model file rather than a prompt."""
    return not text.startswith("-") and (
        text.lower().endswith(SUFFIX) or (os.sep in text and os.path.isfile(text))
    )


def chat_parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(
        prog="tandem chat",
        description="Streams one answer to the terminal; without a prompt it asks for prompts.",
    )
    p.add_argument("words", nargs="*", metavar="[FILE.litertlm] [prompt]")
    p.add_argument("--spec", action="store_true", help="speculative decoding on")
    p.add_argument("--backend", choices=[b.value for b in Backend], default=None)
    p.add_argument("--context", type=_number(16, 1_048_576), default=0, metavar="N")
    p.add_argument("--threads", type=_number(1, 256), default=0, metavar="N")
    p.add_argument("--cache", type=_cache, default="disk", metavar="disk|no|memory|PATH")
    p.add_argument("--max-tokens", type=_number(1, 1_048_576), default=None, metavar="N")
    p.add_argument("--seed", type=_number(0, 2**31 - 1), default=None, metavar="N")
    p.add_argument("--system", default="", metavar="TEXT", help="system prompt")
    return p


def _number(low: int, high: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"must be between {low} and {high}")
        return value

    return parse


def _cache(text: str) -> str:
    if text in ("disk", "no", "memory"):
        return text
    if not text.strip():
        raise argparse.ArgumentTypeError("disk, no, memory or a folder")
    return str(Path(text).expanduser().absolute())


def _chat(argv: list[str]) -> int:
    parser = chat_parser()
    args = parser.parse_intermixed_args(argv)
    words: list[str] = args.words
    file = words.pop(0) if words and is_model(words[0]) else None
    if len(words) > 1:
        parser.error("one prompt only; put it in quotes")
    prompt = words[0] if words else None
    if prompt is not None and not prompt.strip():
        parser.error("the prompt is empty")
    from app.cli_chat import main as chat

    return chat(file, prompt, args)


def _window(file: str | None) -> int:
    """Opens the window; without a display or without Qt the chat in the terminal instead."""
    from app import display_check, platform_check, qt_check

    reason = platform_check.unsupported()
    if reason:
        return fail(reason)
    if not qt_check.has_display():
        return _instead("No display found", file)
    missing = qt_check.missing_packages()
    if missing:
        return fail(qt_check.sentence(missing))
    if not display_check.answers():
        return _instead(f"The display {os.environ.get('DISPLAY')} does not answer", file)
    gc.disable()  # nothing an import makes is garbage, and looking for it takes a tenth of it
    try:
        from app import gui
    except ImportError as problem:
        if not (problem.name or "").startswith(("PySide6", "shiboken6", "qasync")):
            raise
        return _instead(f"Qt is not usable ({problem})", file)
    finally:
        gc.enable()
    return gui.main(file)


def _instead(reason: str, file: str | None) -> int:
    """The chat in the terminal, where no window can be."""
    print(f"{reason}: chatting in the terminal.", file=sys.stderr)
    return _chat([file] if file else [])
