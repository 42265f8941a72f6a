"""A conversation as Markdown for reading elsewhere: the active path, without thoughts.

Plain functions, any thread.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable

from app.conversation import Conversation, Node, Role, RunRecord
from app.history_rows import clean
from ui import format as fmt
from ui import strings
from ui.views import PrintPart

_BAD_IN_NAMES = re.compile(r'[<>:"/\\|?*\x00-\x1f\x7f]+')
MAX_NAME_BYTES = 200
_RESERVED = {"con", "prn", "aux", "nul", *(f"{n}{i}" for n in ("com", "lpt") for i in range(1, 10))}


def to_markdown(conversation: Conversation, *, thoughts: bool = False) -> str:
    """The text of one conversation. `thoughts` adds what the model thought, quoted."""
    title = fmt.plain(clean(conversation.title), 200) or "Conversation"
    parts = [f"# {title}", f"*{_when(conversation.created)}*"]
    if conversation.settings.system:
        parts.append("**System prompt**")
        parts.append(_quoted(conversation.settings.system))
    for node in conversation.path():
        before, text, after = _turn(node, thoughts)
        parts += ["---", *before, *([text] if text else []), *after]
    return clean("\n\n".join(parts)) + "\n"


def print_parts(conversation: Conversation) -> list[PrintPart]:
    """One conversation for paper: what a person wrote stays as it was typed."""
    title = fmt.plain(clean(conversation.title), 200) or "Conversation"
    parts = [PrintPart(title, "title"), PrintPart(f"*{_when(conversation.created)}*")]
    if conversation.settings.system:
        parts.append(PrintPart("**System prompt**"))
        parts.append(PrintPart(_quoted(conversation.settings.system)))
    for node in conversation.path():
        before, text, after = _turn(node, False)
        parts.append(PrintPart("\n\n".join(["---", *before])))
        if text:
            parts.append(PrintPart(text, "plain" if node.role is Role.USER else "markdown"))
        if after:
            parts.append(PrintPart("\n\n".join(after)))
    return [PrintPart(clean(part.text), part.kind) for part in parts]


def all_to_markdown(conversations: Iterable[Conversation], *, thoughts: bool = False) -> str:
    """Several conversations in one file, one after another."""
    return "\n\n".join(to_markdown(c, thoughts=thoughts) for c in conversations)


def file_name(title: str) -> str:
    """A file name without extension that every system accepts."""
    name = _BAD_IN_NAMES.sub(" ", fmt.plain(clean(title)))
    name = " ".join(name.split())[:80]
    # Disks count bytes, and some letters take four; what was cut in two is left out.
    name = name.encode()[:MAX_NAME_BYTES].decode(errors="ignore").strip(" .")
    if not name:
        return "Conversation"
    return f"Chat {name}" if name.split(".")[0].strip().lower() in _RESERVED else name


def _turn(node: Node, thoughts: bool) -> tuple[list[str], str, list[str]]:
    """What stands before the text of a turn, the text, and what stands after it."""
    out = ["**You**" if node.role is Role.USER else f"**Answer**{_run(node.run)}"]
    for item in node.attachments:
        name = fmt.plain(item.name, 120).replace("*", "")
        out.append(f"*Attached: {name} ({item.kind}, {fmt.size(item.bytes)})*")
    if thoughts and node.thought:
        out += ["*Thoughts*", _quoted(node.thought)]
    for step in node.tool_steps:
        out.append(f"*Tool {fmt.plain(step.name, 80)} ({step.state})*")
        out.append(_fenced(step.arguments_json))
        if step.result_json:
            out.append(_fenced(step.result_json))
    mark = strings.STATUS_MARKS.get(node.status.value, "")
    return out, node.text.rstrip(), [f"*({mark})*"] if mark else []


def _run(run: RunRecord | None) -> str:
    if run is None:
        return ""
    words = [fmt.plain(run.model, 80), run.backend, strings.spec_words(run.speculative)]
    if run.decode_tps is not None:
        words.append(f"{fmt.tps(run.decode_tps)} tok/s decode")
    return fmt.DOT + fmt.DOT.join(words)


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.splitlines())


def _fenced(text: str) -> str:
    runs = [len(m) for m in re.findall(r"`{3,}", text)]
    fence = "`" * (max(runs, default=2) + 1)
    return f"{fence}json\n{text}\n{fence}"


def _when(seconds: float) -> str:
    try:
        return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))
    except (OverflowError, OSError, ValueError):
        return fmt.DASH
