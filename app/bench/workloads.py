"""The prompts that are timed: six classes, three prompts of ours each, or a person's own.

They are short enough for a context of 1024 tokens with 128 of answer, and of everyday kind:
a very small model must write on for some time, or there is no speed to measure. Changing a
text means a new id, since stored results name prompts by id. How much speculation gains
depends on the prompt, so no single class can speak for a model.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from app.bench.records import Prompt, Workload

CLASSES: tuple[Workload, ...] = (
    Workload.WRITING,
    Workload.REWRITE,
    Workload.SUMMARY,
    Workload.CODE,
    Workload.QA,
    Workload.TRANSLATION,
)

PER_CLASS = 2
"""Prompts of each class in a comparison unless asked otherwise; the suite holds three."""

_MARKET = (
    "Every morning Anna walks to the market. She buys bread and apples, talks with the baker "
    "and looks at the boats in the harbour. Then she goes home and makes breakfast for her "
    "family."
)

_TREES = (
    "Trees in a city give shade, clean the air and hold water after heavy rain. Streets with "
    "trees are several degrees cooler in summer. But young trees need water and space for their "
    "roots, and many die in their first years."
)

_GARDEN = (
    "Last spring the school turned an unused car park into a garden. Parents brought soil and "
    "tools, the fourth year built raised beds, and a local nursery gave two hundred seedlings. "
    "By June there were beans, lettuce and strawberries."
)

_TEXTS: dict[Workload, tuple[tuple[str, str], ...]] = {
    Workload.WRITING: (
        ("writing-1", "Write a short story about a little bird who is afraid to fly."),
        ("writing-2", "Write a short story about two friends who find an old map."),
        ("writing-3", "Write a poem about the sea in autumn."),
    ),
    Workload.REWRITE: (
        (
            "rewrite-1",
            "Make this text longer and more vivid: The boy opens the door. The room is dark and "
            "cold. He hears a sound behind the curtain.",
        ),
        (
            "rewrite-2",
            "Rewrite this email in a friendly tone: The meeting is moved to Thursday. Bring your "
            "notes. The room is on the second floor. Lunch is not provided.",
        ),
        ("rewrite-3", f"Rewrite this text in the past tense: {_MARKET}"),
    ),
    Workload.SUMMARY: (
        ("summary-1", f"Summarize this text and explain why it matters: {_TREES}"),
        ("summary-2", f"What is the main idea of this text? {_GARDEN}"),
        ("summary-3", f"Summarize the following text in a few sentences: {_MARKET}"),
    ),
    Workload.CODE: (
        ("code-1", "Write a Python function that counts how often each word occurs in a text."),
        (
            "code-2",
            "Write a Python program that prints the numbers from 1 to 20 and says whether each is "
            "even or odd.",
        ),
        ("code-3", "Write a Python function that reads a CSV file and sums one column."),
    ),
    Workload.QA: (
        ("qa-1", "How can I learn a new language quickly?"),
        ("qa-2", "Why is it important to drink enough water?"),
        ("qa-3", "What can I do to sleep better at night?"),
    ),
    Workload.TRANSLATION: (
        ("translation-1", f"Translate this text into Spanish: {_MARKET}"),
        ("translation-2", f"Translate this text into French: {_MARKET}"),
        (
            "translation-3",
            "Translate these words into Italian: house, water, bread, friend, morning, street, "
            "school, summer.",
        ),
    ),
}

_FILLER = (
    "Notes from the archive, kept in the order in which they were found. The first box holds "
    "maps of the valley, drawn by hand and coloured with care. The second holds letters about "
    "the bridge, its cost and its builders. The third holds lists of seeds, tools and prices. "
    "Nobody knows who collected them, but the writing is the same throughout. "
)


def suite(classes: Iterable[Workload] = CLASSES, per_class: int = PER_CLASS) -> tuple[Prompt, ...]:
    """The first `per_class` (1 to 3) prompts of each class, class by class."""
    return tuple(
        Prompt(key, workload, text)
        for workload in classes
        for key, text in _TEXTS[workload][: max(1, per_class)]
    )


def own(text: str) -> Prompt:
    """A person's own prompt; its id is a hash, so equal prompts can be compared later."""
    digest = hashlib.sha256(text.encode()).hexdigest()[:10]
    return Prompt(f"own-{digest}", Workload.OWN, text)


def filler(characters: int) -> str:
    """Plain English of about that length, to fill a context before the prompt."""
    return (_FILLER * (characters // len(_FILLER) + 1))[:characters]
