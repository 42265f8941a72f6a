"""A regex as the engine's constraint can spell it (LiteRT-LM 0.18.1, llguidance inside).

Two things were found with real models:

* For models with a HF tokenizer the engine's table holds the byte-level letters of the
  tokenizer instead of the text: a space is U+0120, a line break U+010A, and every byte of a
  non-ASCII character is a letter of its own. A literal space can therefore not be spelled,
  while `[ \u0120]` can, and comes out as a space. A run the grammar forces (`\u0120` alone)
  still fails; a choice of two does not. Non-ASCII letters cannot be spelled; one of them made
  the library abort the process, so they are refused before the send.
* The stop tokens are ordinary text in that table: inside a free part the model can write
  `<|im_end|>` and the answer ends in the middle. Free parts therefore leave out `<`.

`translate` returns the text for the engine; the answer is checked against the original.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from engine.types import ModelInfo

_BYTE_LETTERS = {" ": "\u0120", "\n": "\u010a", "\t": "\u0109", "\r": "\u010d"}
_CONTROL_LETTERS = "\u0100-\u011f\u0121"
"""The byte-level letters of control characters but the space."""

_ESCAPED = {"n": "\n", "t": "\t", "r": "\r"}
_AFTER_PAREN = re.compile(r"\(\?(?:=|!|<=|<!|>|\(|P=|#)")
_POSSESSIVE = re.compile(r"(?:[*+?]|\{\d*,?\d*\})\+")


class NotSpellable(ValueError):
    """The form cannot be sent; the text is one sentence."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What matters of a model's tokenizer: byte-level letters, and stop tokens that begin
    with `<`."""

    byte_level: bool = False
    angle_stops: bool = False

    @classmethod
    def of(cls, info: ModelInfo | None) -> Vocabulary:
        if info is None:
            return cls()
        return cls(
            byte_level=any("HF_Tokenizer" in s.kind for s in info.sections),
            angle_stops=any(t.startswith("<") for t in info.stop_tokens),
        )

    @property
    def never(self) -> str:
        """Class members that a free part must not contain."""
        angle = "<" if self.angle_stops else ""
        return angle + (_CONTROL_LETTERS if self.byte_level else "")

    def space(self, char: str) -> str:
        """A literal white-space character as the engine takes it."""
        written = {" ": " ", "\n": r"\n", "\t": r"\t", "\r": r"\r"}[char]
        return f"[{written}{_BYTE_LETTERS[char]}]" if self.byte_level else written


def check_regex(pattern: str) -> None:
    """NotSpellable for what is no regex or uses what the engine's regexes lack."""
    if not pattern:
        raise NotSpellable("The regex is empty.")
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise NotSpellable(f"This is not a regex: {error}.") from None
    bare = re.sub(r"\\.", "  ", pattern, flags=re.DOTALL)
    bare = re.sub(r"\[\^?\]?[^]]*\]", "[]", bare)
    if _AFTER_PAREN.search(bare):
        raise NotSpellable("The engine’s regexes have no look-around, comments or conditions.")
    if _POSSESSIVE.search(bare):
        raise NotSpellable("The engine’s regexes have no possessive quantifiers.")
    for escape in re.findall(r"\\(.)", pattern, flags=re.DOTALL):
        if escape in "123456789":
            raise NotSpellable("The engine’s regexes have no back-references.")
        if escape in "bBAZG":
            raise NotSpellable(f"The engine’s regexes have no \\{escape}.")


def literal(text: str, vocabulary: Vocabulary) -> str:
    """A regex that matches exactly `text`."""
    return "".join(_literal_char(c, vocabulary) for c in text)


def _literal_char(char: str, vocabulary: Vocabulary) -> str:
    if char in _BYTE_LETTERS:
        return vocabulary.space(char)
    _spellable(char, vocabulary)
    return re.escape(char)


def _spellable(char: str, vocabulary: Vocabulary) -> None:
    if vocabulary.byte_level and not 0x20 <= ord(char) < 0x7F:
        raise NotSpellable(f"This model’s vocabulary cannot spell “{char}” in a forced form.")


def translate(pattern: str, vocabulary: Vocabulary) -> str:
    """`pattern` for the engine. NotSpellable when it cannot be."""
    check_regex(pattern)
    out: list[str] = []
    at = 0
    while at < len(pattern):
        char = pattern[at]
        if char == "\\":
            out.append(_escape(pattern[at + 1], vocabulary))
            at += 2
        elif char == "[":
            end = _class_end(pattern, at)
            out.append(_class(pattern[at + 1 : end], vocabulary))
            at = end + 1
        else:
            if char == ".":
                out.append(f"[^\\n\\r{vocabulary.never}]")
            elif char in _BYTE_LETTERS:
                out.append(vocabulary.space(char))
            else:
                _spellable(char, vocabulary)
                out.append(char)
            at += 1
    return "".join(out)


def _escape(letter: str, vocabulary: Vocabulary) -> str:
    """One escape outside of a class."""
    if letter in _ESCAPED:
        return vocabulary.space(_ESCAPED[letter])
    if letter == " ":
        return vocabulary.space(" ")
    if not vocabulary.byte_level:
        return "\\" + letter
    _spellable(letter, vocabulary)
    return {
        "s": "[ \\n\\t\\r\u0120\u010a\u0109\u010d]",
        "S": f"[^\\s\u0120{vocabulary.never}]",
        "w": "[A-Za-z0-9_]",
        "d": "[0-9]",
    }.get(letter, "\\" + letter)


def _class_end(pattern: str, start: int) -> int:
    """Index of the `]` that closes the class opened at `start`."""
    at = start + 1
    if pattern[at : at + 1] == "^":
        at += 1
    if pattern[at : at + 1] == "]":
        at += 1
    while at < len(pattern) and pattern[at] != "]":
        at += 2 if pattern[at] == "\\" else 1
    return at


def _class(body: str, vocabulary: Vocabulary) -> str:
    negated = body.startswith("^")
    items = list(_class_items(body[1:] if negated else body))
    out: list[str] = []
    for low, high in items:
        out += _class_item(low, high, negated, vocabulary)
    if negated:
        out.append(vocabulary.never)
    return f"[{'^' if negated else ''}{''.join(out)}]"


def _class_items(body: str) -> list[tuple[str, str]]:
    """(first, last) of each member; an escape such as `\\d` is (escape, "")."""
    atoms: list[str] = []
    at = 0
    while at < len(body):
        size = 2 if body[at] == "\\" else 1
        atoms.append(body[at : at + size])
        at += size
    items: list[tuple[str, str]] = []
    index = 0
    while index < len(atoms):
        if index + 2 < len(atoms) and atoms[index + 1] == "-":
            items.append((atoms[index], atoms[index + 2]))
            index += 3
        else:
            items.append((atoms[index], ""))
            index += 1
    return items


def _class_item(low: str, high: str, negated: bool, vocabulary: Vocabulary) -> list[str]:
    first, last = _char_of(low), _char_of(high or low)
    if first is None or last is None:
        if not vocabulary.byte_level:
            return [low]
        return [
            {"\\s": "\\s\u0120\u010a\u0109\u010d", "\\w": "A-Za-z0-9_", "\\d": "0-9"}.get(low, low)
        ]
    if not vocabulary.byte_level and (negated or not vocabulary.angle_stops):
        return [f"{low}-{high}" if high else low]
    if vocabulary.byte_level and not negated:
        for char in (first, last):
            if char not in _BYTE_LETTERS:
                _spellable(char, vocabulary)
    out = (
        _without_angle(first, last) if high and not negated else [f"{low}-{high}" if high else low]
    )
    if vocabulary.byte_level:
        out += [letter for c, letter in _BYTE_LETTERS.items() if first <= c <= last]
    return out


def _without_angle(first: str, last: str) -> list[str]:
    """A range without `<`, which begins stop tokens."""
    if not first < "<" < last:
        return [f"{_class_char(first)}-{_class_char(last)}"]
    return [f"{_class_char(first)}-;", f"=-{_class_char(last)}"]


def _class_char(char: str) -> str:
    written = {"\n": r"\n", "\t": r"\t", "\r": r"\r"}.get(char)
    return written or ("\\" + char if char in r"\]^-[" else char)


def _char_of(atom: str) -> str | None:
    """The character an atom stands for, None for a class escape."""
    if len(atom) == 1:
        return atom
    letter = atom[1]
    return _ESCAPED.get(letter) or (None if letter.isalnum() else letter)
