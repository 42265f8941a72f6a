"""How many threads the engine gets on the CPU when nobody chose a number.

0.18.1 takes four, whatever it runs on. On fewer cores its threads then wait for each other:
measured on two cores, 135 M model, 44 tok/s with four threads and 75 with two, 175 and 225
in the prefill.
"""

from __future__ import annotations

import os

ENGINE_THREADS = 4
"""What 0.18.1 uses when it is told nothing."""


def usable_cores() -> int:
    """Cores this process may run on; at least 1."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return max(1, os.cpu_count() or ENGINE_THREADS)


def automatic() -> int:
    """The engine's own number, but not more than there are cores."""
    return min(ENGINE_THREADS, usable_cores())
