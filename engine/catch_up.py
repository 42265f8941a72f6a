"""Messages that are sent once more to a clone, so that the engine decodes little and loses nothing.

A clone shares what its original decoded later (0.18.1): of a send to the clone, the tokens
that begin like that are taken over without a prefill. So after Stop the next send costs its
own text only. But when *everything* decoded since begins the send, the engine takes it for
done and continues where the clone stood: the context then lacks it. (Its executor is not
told the new step, `LockedLlmExecutor::Prefill`; measured: 6 of 42 stops on the demo model,
and always when an earlier branch is selected again.) Therefore something nobody sees is put
into what is sent again, as late as possible: before it nothing has to be decoded again,
and behind it enough was decoded to differ.

Pure functions; `Tokens` asks the engine. Units are tokens.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

import msgspec

from engine import media, wire
from engine.types import Message, TextPart

Tokens: TypeAlias = Callable[[Sequence[Message]], tuple[int, ...]]
"""Tokens of a send as the engine would decode it, () where it cannot tell."""
Count: TypeAlias = Callable[[str], int]

TAILS = (1, 2, 6)
"""So many tokens of an answer are behind the place that differs: few, since they are decoded
again; more where the engine had not decoded the last ones that came."""
SURE = 1
"""What differs must lie before so many of the last tokens decoded: a template may begin with a
token that our own count lacks."""
NEAR = 8
"""So close to the end of what was decoded, no better place is looked for."""
FAR = 200
"""Characters from the end of an answer in which such a place is looked for."""
HIDDEN = "\u200b"
ENDINGS = ("\n", HIDDEN)
"""What may follow a question; templates that cut blanks leave the second one."""

_GAP = re.compile(r"(?<=\S) (?=\S)")


class Decoded(NamedTuple):
    """What a clone's original took since: `sent`, then `answer` (as far as it came).

    `entries` counts the tokens of both; 0 means that nothing reached the model.
    """

    sent: tuple[Message, ...]
    answer: Message
    entries: int


def missing(held: Sequence[Message], history: Sequence[Message]) -> tuple[Message, ...] | None:
    """What a state that holds `held` lacks of `history`; None when it holds something else."""
    if len(held) > len(history):
        return None
    if any(_same(a) != _same(b) for a, b in zip(held, history, strict=False)):
        return None
    return tuple(history[len(held) :])


def _same(message: Message) -> tuple[object, ...]:
    """What must be equal for two messages to mean the same to the model.

    Answers are compared without blanks at their ends, since programs trim them.
    """
    if message.role != "assistant":
        return (message.role, message.parts, message.tool_calls)
    others = tuple(p for p in message.parts if not isinstance(p, TextPart))
    return (message.role, wire.clean_text(message.text).strip(), others, message.tool_calls)


def again(
    lacking: Sequence[Message], message: Message, decoded: Decoded, tokens: Tokens, count: Count
) -> tuple[Message, ...] | None:
    """`lacking` and `message` as one send to a clone whose original took `decoded`.

    None when no such send is known to be safe: then only a rebuild is.
    """
    send = (*lacking, message)
    if not decoded.entries:
        return send
    end = _agreement(lacking, decoded)
    if end is None:
        return send
    plain = tokens(send)
    best: tuple[int, tuple[Message, ...]] | None = None
    for padded in _padded(lacking, end, count):
        at = parting(plain, tokens((*padded, message)))
        if at is not None and at < decoded.entries - SURE and (best is None or at > best[0]):
            best = at, (*padded, message)
            if at >= decoded.entries - NEAR:
                break
    return best[1] if best is not None else None


class _End(NamedTuple):
    """Where everything decoded ends in the messages sent again: in which one, and how far in."""

    message: int
    length: int


def _agreement(lacking: Sequence[Message], decoded: Decoded) -> _End | None:
    """Where `decoded` ends in `lacking`; None when the two part before that by themselves.

    A message that was decoded whole is followed by its end marker, so another text in its
    place parts from it in any case. Images and sounds are never taken over.
    """
    spoke = bool(decoded.answer.text or decoded.answer.tool_calls)
    had = (*decoded.sent, decoded.answer) if spoke else decoded.sent
    if len(lacking) < len(had) or media.has_media(lacking[: len(had)]):
        return None
    for old, new in zip(decoded.sent, lacking, strict=False):
        if not _alike(old, new) or old.text.strip() != new.text.strip():
            return None
    index = len(had) - 1
    new = lacking[index]
    if not spoke:
        # Behind the prompt stands only the begin of an answer.
        answered = len(lacking) > len(had) and lacking[len(had)].role == "assistant"
        return _End(index, len(new.text)) if answered else None
    old = decoded.answer
    if not _alike(old, new):
        return None
    begin = len(new.text) - len(new.text.lstrip())
    text = old.text.strip()
    return _End(index, begin + len(text)) if new.text.startswith(text, begin) else None


def _alike(a: Message, b: Message) -> bool:
    others_a = tuple(p for p in a.parts if not isinstance(p, TextPart))
    others_b = tuple(p for p in b.parts if not isinstance(p, TextPart))
    return (a.role, a.tool_calls, others_a) == (b.role, b.tool_calls, others_b)


def _padded(lacking: Sequence[Message], end: _End, count: Count) -> Iterator[tuple[Message, ...]]:
    """Ways to send `lacking` with something nobody sees in it, the best one first."""

    def changed(index: int, text: str) -> tuple[Message, ...]:
        others = tuple(p for p in lacking[index].parts if not isinstance(p, TextPart))
        new = msgspec.structs.replace(lacking[index], parts=(TextPart(text), *others))
        return (*lacking[:index], new, *lacking[index + 1 :])

    last = lacking[end.message]
    if last.role == "assistant" and last.text:
        for tail in TAILS:
            cut = _cut(last.text[: end.length], tail, count)
            if cut is not None:
                place, pad = cut
                yield changed(end.message, last.text[:place] + pad + last.text[place:])
    asked = [i for i in range(end.message + 1) if lacking[i].role == "user" and lacking[i].text]
    for ending in ENDINGS if asked else ():
        yield changed(asked[-1], lacking[asked[-1]].text + ending)
    if last.role == "assistant" and last.text:
        yield changed(end.message, HIDDEN + last.text)


def _cut(text: str, tail: int, count: Count) -> tuple[int, str] | None:
    """The last place in `text` with `tail` tokens behind it, and what to put there.

    A second blank between two words where there are words near the end, else a hidden
    character.
    """
    start = max(1, len(text) - FAR)
    gaps = [m.start() for m in _GAP.finditer(text, start)]
    for place in reversed(gaps):
        if len(text) - place > tail and (behind := count(text[place:])) >= tail:
            if behind <= tail + NEAR:
                return place, " "
            break
    for place in range(len(text) - tail, start, -tail):
        if count(text[place:]) >= tail:
            return place, HIDDEN
    return None


def parting(a: Sequence[int], b: Sequence[int]) -> int | None:
    """Index of the first token in which the two differ; None where that is not known."""
    if not a or not b:
        return None
    for at, (x, y) in enumerate(zip(a, b, strict=False)):
        if x != y:
            return at
    return None
