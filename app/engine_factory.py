"""Makes the engine the program uses: a child process. Imported only when one is needed."""

from __future__ import annotations

from app.paths import Paths
from engine.protocol import Engine


def hosted_engine(paths: Paths) -> Engine:
    """An engine in a child process whose stderr goes to the engine log. Starts nothing yet."""
    from engine.client import HostedEngine

    return HostedEngine(log_path=str(paths.engine_log))
