"""The prompts that are timed: six classes, three prompts of ours each, or a person's own.

How they were chosen: for each class three requests as people make them, written down at
once, before anything could be measured with them, for no model in particular; texts to work
on are everyday notices and notes of about sixty words. The only tests applied were that
prompt and 128 tokens of answer fit a context of 1024, and that each makes both models this
was built with write at least eight tokens. None was kept, dropped or reworded because of
its speed, and none may be. How much speculation gains depends on the prompt, so no single
class speaks for a model. Changing a text means a new id: stored results name prompts by id.
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

_HARBOUR = (
    "The harbour office opens at seven. Boats longer than twelve metres must book a berth one "
    "day ahead. Smaller boats may use any free place on the east pier. Water and electricity "
    "are included in the fee. Visitors pay at the office or at the machine beside the gate, "
    "which takes cards only. Dogs are welcome but must be kept on a lead."
)

_GARDEN = (
    "Last spring the school turned an unused car park into a garden. Parents brought soil and "
    "tools, the fourth year built raised beds, and a local nursery gave two hundred seedlings. "
    "By June there were beans, lettuce and strawberries. The kitchen now cooks with vegetables "
    "from the garden twice a week, and lessons about plants take place outside."
)

_MEETING = (
    "The team met on Tuesday to plan the move. Ana will order boxes by Friday. Ben checks which "
    "desks can stay. The new rooms are ready on the tenth, but the network is installed only on "
    "the twelfth, so everybody works from home for two days. Plants and pictures are moved by "
    "their owners. The old keys are handed in at the front desk."
)

_TEXTS: dict[Workload, tuple[tuple[str, str], ...]] = {
    Workload.WRITING: (
        ("writing-1", "Write a short story about a lighthouse keeper who finds a letter."),
        ("writing-2", "Describe a quiet morning in a small town beside a river."),
        ("writing-3", "Write a friendly letter to a neighbour who has just moved in."),
    ),
    Workload.REWRITE: (
        ("rewrite-1", f"Rewrite this text in a more formal style:\n\n{_HARBOUR}"),
        ("rewrite-2", f"Rewrite this text in the present tense:\n\n{_GARDEN}"),
        (
            "rewrite-3",
            f"Repeat this text and correct its mistakes, if any:\n\n{_MEETING}",
        ),
    ),
    Workload.SUMMARY: (
        ("summary-1", f"Summarise this text in three sentences:\n\n{_GARDEN}"),
        ("summary-2", f"List the main points of this text:\n\n{_MEETING}"),
        ("summary-3", f"What should a visitor know? Summarise:\n\n{_HARBOUR}"),
    ),
    Workload.CODE: (
        ("code-1", "Write a Python function that reads a CSV file and sums one column."),
        ("code-2", "Write a Python class for a bank account with deposit and withdraw methods."),
        ("code-3", "Write an HTML page with a heading, a list of five fruits and a table."),
    ),
    Workload.QA: (
        ("qa-1", "Why is the sky blue? Explain it step by step."),
        ("qa-2", "What is the difference between weather and climate?"),
        ("qa-3", "How does a bicycle stay upright while it is moving?"),
    ),
    Workload.TRANSLATION: (
        ("translation-1", f"Translate this text into French:\n\n{_MEETING}"),
        ("translation-2", f"Translate this text into Spanish:\n\n{_HARBOUR}"),
        ("translation-3", f"Translate this text into German:\n\n{_GARDEN}"),
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
