"""Checks that may never end, in a process of their own.

A pattern such as `(a+)+$`, or a schema whose parts refer to each other, can keep a checker busy
for years, and Python's `re` lets no other thread run meanwhile. So what others wrote is checked
in a child process that is killed after `LIMIT_S`. What is plain enough to take only a moment is
checked at once. The functions belong to the event loop's thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import multiprocessing
import re
from collections.abc import Mapping
from multiprocessing.connection import Connection

from app.tools.arguments import mismatch
from app.tools.structured import Verdict, judge
from engine.types import Constraint, ConstraintKind, FinishReason

LIMIT_S = 2.0
"""Counted from the moment the child is up."""
START_S = 20.0
MAX_PLAIN_NODES = 2_000
MAX_PLAIN_DEPTH = 20

TOO_LONG = "its schema cannot be checked (that takes too long)."
NOT_JUDGED = "Not checked: comparing the answer with the form takes too long."

_PLAIN = frozenset({
    "type", "properties", "required", "enum", "const", "minimum", "maximum", "exclusiveMinimum",
    "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "minItems", "maxItems", "items",
    "minProperties", "maxProperties", "additionalProperties", "format", "title", "description",
    "default", "examples", "deprecated", "readOnly", "writeOnly", "$comment", "$schema",
})  # fmt: skip
"""Words of a schema that are checked in one pass over the value."""
_DATA = frozenset({"enum", "const", "default", "examples"})
_QUANTIFIERS = re.compile(r"[*+{]")


async def misfit(value: object, schema: Mapping[str, object]) -> str:
    """One sentence on why `value` does not fit `schema`, "" if it does; see `mismatch`."""
    if is_plain_schema(schema):
        return mismatch(value, schema)
    found = await _in_child({"do": "mismatch", "value": value, "schema": dict(schema)})
    return TOO_LONG if found is None else str(found["sentence"])


async def verdict(constraint: Constraint, text: str, reason: FinishReason) -> Verdict:
    """Whether a finished answer has its form; see `judge`."""
    if reason is not FinishReason.END or _is_plain(constraint):
        return judge(constraint, text, reason)
    found = await _in_child({"do": "judge", "kind": constraint.kind, "form": constraint.text,
                             "text": text})  # fmt: skip
    if found is None:
        return Verdict(None, NOT_JUDGED, text)
    ok = found["ok"]
    return Verdict(None if ok is None else bool(ok), str(found["sentence"]), str(found["pretty"]))


def is_plain_schema(schema: object) -> bool:
    """Whether a check takes about as long as reading the value: no patterns, no references, no
    combinations, and not large."""
    left = [MAX_PLAIN_NODES]

    def plain(part: object, depth: int) -> bool:
        left[0] -= 1
        if depth > MAX_PLAIN_DEPTH or left[0] < 0:
            return False
        if isinstance(part, bool):
            return True
        if not isinstance(part, Mapping) or part.keys() - _PLAIN:
            return False
        inner = part.get("properties", {})
        named = list(inner.values()) if isinstance(inner, Mapping) else [None]
        more = [part[key] for key in ("items", "additionalProperties") if key in part]
        left[0] -= sum(len(v) for k in _DATA if isinstance(v := part.get(k), list))
        return left[0] >= 0 and all(plain(p, depth + 1) for p in (*named, *more))

    return plain(schema, 0)


def is_plain_regex(pattern: str) -> bool:
    """Whether a match takes at most about the square of the text's length."""
    return "(" not in pattern and len(_QUANTIFIERS.findall(pattern)) <= 2


def _is_plain(constraint: Constraint) -> bool:
    if constraint.kind is ConstraintKind.REGEX:
        return is_plain_regex(constraint.text)
    try:
        return is_plain_schema(json.loads(constraint.text))
    except (ValueError, RecursionError):
        return True


async def _in_child(job: Mapping[str, object]) -> dict[str, object] | None:
    """What the child answers, None when it did not in time or fell over."""
    try:
        data = json.dumps(job).encode()
    except (ValueError, RecursionError):
        return None
    loop = asyncio.get_running_loop()
    answer = await loop.run_in_executor(None, _ask_child, data)
    return None if answer is None else json.loads(answer)


def _ask_child(job: bytes) -> bytes | None:
    """Starts a child, waits for its answer, ends it. Blocks at most `START_S` + `LIMIT_S`."""
    context = multiprocessing.get_context("spawn")
    answers, writes = context.Pipe(duplex=False)
    process = context.Process(target=work, args=(writes, job), name="tandem-check", daemon=True)
    try:
        process.start()
        writes.close()
        if answers.poll(START_S):
            answers.recv_bytes()
            if answers.poll(LIMIT_S):
                return answers.recv_bytes()
    except (EOFError, OSError):
        return None
    finally:
        if process.pid is not None:
            process.kill()
            process.join()
        with contextlib.suppress(OSError):
            answers.close()
            writes.close()
    return None


def work(answers: Connection, job: bytes) -> None:
    """The child: says that it is up, then what it found."""
    asked = json.loads(job)
    mismatch("", {"type": "string"})  # imports what the check needs, before the time counts
    answers.send_bytes(b"up")
    if asked["do"] == "mismatch":
        found: dict[str, object] = {"sentence": mismatch(asked["value"], asked["schema"])}
    else:
        form = Constraint(ConstraintKind(asked["kind"]), asked["form"])
        judged = judge(form, asked["text"], FinishReason.END)
        found = {"ok": judged.ok, "sentence": judged.sentence, "pretty": judged.pretty}
    answers.send_bytes(json.dumps(found).encode())
