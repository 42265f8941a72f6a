"""Entry of the program: `python -m app`, `tandem`, and the frozen bundle.

`freeze_support()` comes before any other import: in a frozen bundle the engine process is
this same program started again, and without it every child would open a window.
"""

from __future__ import annotations

import multiprocessing
import sys


def main() -> int:
    multiprocessing.freeze_support()
    from app.cli import main as run

    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
