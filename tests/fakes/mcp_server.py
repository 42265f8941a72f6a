"""A real tool server for tests, made with the official SDK; run as a process of its own.

    python tests/fakes/mcp_server.py [--die-at-start | --silent | --deaf | --noisy]

--die-at-start  prints a reason to stderr and ends with 3
--silent        reads and never answers
--deaf          works, but ignores the end of its input and SIGTERM
--noisy         writes lines that are not JSON-RPC to stdout first
"""

from __future__ import annotations

import os
import signal
import sys
import time


def main() -> None:
    if "--die-at-start" in sys.argv:
        print("no licence file", file=sys.stderr)
        sys.exit(3)
    if "--silent" in sys.argv:
        for _line in sys.stdin:
            pass
        return
    if "--noisy" in sys.argv:
        print("Welcome to the tool server!", flush=True)
    from mcp.server.fastmcp import FastMCP

    server = FastMCP("Test server", log_level="ERROR")

    @server.tool()
    def echo(value: dict[str, object]) -> dict[str, object]:
        """Gives back its argument."""
        return value

    @server.tool()
    def greet(name: str) -> str:
        """Says hello."""
        return f"Hello, {name}!"

    @server.tool()
    def environment(name: str) -> str:
        """An environment variable of the server, or "-"."""
        return os.environ.get(name, "-")

    @server.tool()
    def fail() -> str:
        """Always fails."""
        raise ValueError("the cupboard is bare")

    @server.tool()
    def sleep(seconds: float) -> str:
        """Answers late."""
        time.sleep(seconds)
        return "awake"

    @server.tool()
    def die() -> str:
        """Ends the server at once."""
        os._exit(9)

    print("server is up", file=sys.stderr, flush=True)
    if "--deaf" in sys.argv:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        try:
            server.run()
        finally:
            time.sleep(60)
    server.run()


if __name__ == "__main__":
    main()
