"""What repeating one thing leaves behind: `python -m tests.bench.leaks [NAME…] [--times 200]`.

In the real window with the real engine, each operation of `leak_steps` is done a few times to
warm up and then `--times` times. Prints a line of figures per operation, each per repetition:
resident memory after garbage was collected and freed memory given back, bytes in use in the
C heap, blocks of Python's allocator; then which Python objects and widgets there are more
of, by type, counted exactly. `--list` names the operations. Starts Xvfb without a display.
"""

from __future__ import annotations

import argparse
import asyncio
import ctypes
import gc
import os
import random
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from engine import memory
from tests.bench.soak import virtual_screen

if TYPE_CHECKING:
    from app.gui import Program

WARM = 10


class _Mallinfo(ctypes.Structure):
    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks",
                     "uordblks", "fordblks", "keepcost")
    )  # fmt: skip


@dataclass
class Counted:
    """Everything there is at one moment."""

    rss: int
    native: int
    blocks: int
    objects: Counter[str]
    widgets: Counter[str]


def count() -> Counted:
    from PySide6.QtCore import QCoreApplication, QEvent
    from PySide6.QtWidgets import QApplication

    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
    for _ in range(3):
        gc.collect()
    native = 0
    if sys.platform.startswith("linux"):
        libc = ctypes.CDLL(None)
        libc.malloc_trim(0)
        libc.mallinfo2.restype = _Mallinfo
        info = libc.mallinfo2()
        native = info.uordblks + info.hblkhd
    return Counted(
        rss=memory.resident_bytes() or 0,
        native=native,
        blocks=sys.getallocatedblocks(),
        objects=Counter(_name(o) for o in gc.get_objects()),
        widgets=Counter(type(w).__name__ for w in QApplication.allWidgets()),
    )


def _name(thing: object) -> str:
    kind = type(thing)
    return f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins.")


def more(before: Counter[str], after: Counter[str], least: int) -> str:
    found = [(after[k] - before[k], k) for k in after if after[k] - before[k] >= least]
    return ", ".join(f"{k} +{n}" for n, k in sorted(found, reverse=True)[:14]) or "nothing"


async def measure(program: Program, names: list[str], times: int, folder: Path) -> None:
    from tests.bench.leak_steps import STEPS, Steps
    from tests.e2e.scenarios import Person

    me = Person(program)
    await me.ready()
    steps = Steps(program, me, folder)
    await asyncio.sleep(2)
    for name in names or list(STEPS):
        run = STEPS[name]
        for _ in range(min(WARM, times)):
            await run(steps)
        await steps.rest()
        before = count()
        for _ in range(times):
            await run(steps)
        await steps.rest()
        after = count()
        print(
            f"{name:18s} {(after.rss - before.rss) / times / 1024:8.2f} kB resident "
            f"{(after.native - before.native) / times / 1024:8.2f} kB C heap "
            f"{(after.blocks - before.blocks) / times:8.1f} Python blocks   "
            f"({before.rss / 1e6:.0f} → {after.rss / 1e6:.0f} MB)",
            flush=True,
        )
        print("    objects:", more(before.objects, after.objects, max(2, times // 4)))
        print("    widgets:", more(before.widgets, after.widgets, 1), flush=True)


def main() -> int:
    from tests.bench.leak_steps import STEPS

    parser = argparse.ArgumentParser(description="what repeating one thing leaves behind")
    parser.add_argument("names", nargs="*", choices=[*STEPS, []])
    parser.add_argument("--times", type=int, default=200)
    parser.add_argument("--list", action="store_true")
    args = parser.parse_args()
    if args.list:
        print("\n".join(STEPS))
        return 0
    random.seed(1)
    screen = virtual_screen()
    try:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            os.environ["TANDEM_HOME"] = str(Path(folder) / "home")
            os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.null.Keyring"
            _run(args.names, args.times, Path(folder))
    finally:
        if screen is not None:
            screen.terminate()
            screen.wait()
    return 0


def _run(names: list[str], times: int, folder: Path) -> None:
    import resources
    from app import gui, paths
    from app.settings import SettingsStore

    store = SettingsStore(paths.resolve().settings_file)
    store.change(model_path=str(resources.DEMO_MODEL), welcomed=True)
    store.save_now()

    async def script(program: Program) -> None:
        await measure(program, names, times, folder)

    gui.main(None, script)


if __name__ == "__main__":
    sys.exit(main())
