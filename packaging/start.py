"""Entry of the frozen program. `freeze_support` comes first: without it the engine process would
run this file as the program again and open a second window."""

import multiprocessing

if __name__ == "__main__":
    multiprocessing.freeze_support()

    import os
    import sys

    # The boot loader points LD_LIBRARY_PATH into the bundle, for this process, which has read it
    # by now. A browser or file manager that we start must not inherit it: it would load our
    # libraries instead of its own.
    before = os.environ.pop("LD_LIBRARY_PATH_ORIG", None)
    os.environ.pop("LD_LIBRARY_PATH", None)
    if before:
        os.environ["LD_LIBRARY_PATH"] = before

    from app.platform_check import unsupported

    reason = unsupported()
    if reason:
        from app.first_words import tell

        tell(reason)
        sys.exit(1)

    from app.__main__ import main

    sys.exit(main())
