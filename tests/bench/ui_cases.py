"""Texts that are hard to draw: answers of about a megabyte, each long in its own way."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

SIZE = 1_000_000

PARAGRAPH = (
    "Some *text* with **bold** words, `code` and a [link](https://example.org). "
    "It goes on for a while so that lines wrap on the column.\n\n"
)
BLOCKS = (
    PARAGRAPH,
    "- first item\n- second item with `code`\n  - nested\n- third\n\n",
    "```python\nimport csv\nfor i in range(10):\n    print(i, 'text')\n```\n\n",
    "| a | b |\n| --- | ---: |\n| 1 | 2 |\n| 3 | 4 |\n\n",
    "## A heading\n\n",
)


def _filled(piece: Callable[[int], str], size: int, head: str = "") -> str:
    out, held = [head], len(head)
    for number in count():
        if held >= size:
            return "".join(out)[:size]
        out.append(piece(number))
        held += len(out[-1])
    raise AssertionError


def mixed(size: int = SIZE) -> str:
    return _filled(lambda n: BLOCKS[n % len(BLOCKS)], size)


def code(size: int = SIZE) -> str:
    """One block of code."""
    return (
        _filled(
            lambda n: (
                f"    if value_{n} > {n % 7}: total += work(value_{n}, 'text {n}')  # a note\n"
            ),
            size - 4,
            "```python\ndef f():\n",
        )
        + "\n```"
    )


def code_line(size: int = SIZE) -> str:
    """One block of code that is a single line."""
    return "```json\n" + _filled(lambda n: f'{{"id":{n},"name":"x"}},', size - 12) + "\n```"


def paragraph(size: int = SIZE) -> str:
    """One paragraph without a line end."""
    return _filled(lambda n: f"word {n} and *some* more, ", size)


def unbroken(size: int = SIZE) -> str:
    """One word."""
    return _filled(lambda n: f"{n:08x}", size)


def table(size: int = SIZE) -> str:
    return _filled(
        lambda n: f"| {n} | name {n} | {n * 7 % 1000} | some words about it, `x` |\n",
        size,
        "| id | name | value | what it is |\n| --: | --- | --: | --- |\n",
    )


def lists(_: int = SIZE) -> str:
    """20 000 short lists."""
    return "".join(f"{'-*+'[n % 3]} item {n}\n{'-*+'[n % 3]} another\n\n" for n in range(20_000))


def long_list(size: int = SIZE) -> str:
    """One numbered list."""
    return _filled(lambda n: f"{n + 1}. item number {n} with **bold**\n", size)


def quote(size: int = SIZE) -> str:
    """One block quote."""
    return _filled(lambda n: f"> line {n} of a quote that goes on\n", size)


CASES: dict[str, Callable[[int], str]] = {
    "mixed": mixed,
    "code": code,
    "code_line": code_line,
    "paragraph": paragraph,
    "unbroken": unbroken,
    "table": table,
    "lists": lists,
    "long_list": long_list,
    "quote": quote,
}
