"""The numbers of one chat's gauge at each moment of a send. Pure functions."""

from __future__ import annotations

from collections.abc import Iterable

from app.conversation import Node
from engine.types import TextBatch
from ui.views import GaugeView


def stored_gauge(path: Iterable[Node]) -> GaugeView:
    """The numbers of the last finished answer of a path."""
    for node in reversed(list(path)):
        if node.run is not None and node.run.context_used is not None:
            return gauge_of(node)
    return GaugeView()


def gauge_of(node: Node) -> GaugeView:
    """The numbers of a finished answer."""
    run = node.run
    if run is None:
        return GaugeView()
    return GaugeView(
        used=run.context_used,
        total=run.context_total,
        elapsed_s=run.elapsed_s,
        decode_tps=run.decode_tps,
        ttft_s=run.ttft_s,
    )


def waiting_gauge(old: GaugeView) -> GaugeView:
    """Before the first text only the context of the turn before is known."""
    return GaugeView(used=old.used, total=old.total, live=True)


def live_gauge(old: GaugeView, batch: TextBatch, *, speculative: bool) -> GaugeView:
    """The cumulative rate. A chunk is a token only without speculation; with it the tokens
    are counted by the model's tokenizer, and the rate is unknown where they are not."""
    rate = None
    tokens = batch.tokens if speculative else batch.steps
    if tokens is not None and batch.first_s is not None and batch.steps > 1:
        spent = batch.elapsed_s - batch.first_s
        before = tokens / batch.steps  # what came with the first chunk, which starts the clock
        rate = (tokens - before) / spent if spent > 0 else None
    return GaugeView(
        used=old.used,
        total=old.total,
        elapsed_s=batch.elapsed_s,
        decode_tps=rate,
        ttft_s=batch.first_s,
        live=True,
    )


def broken_gauge(old: GaugeView) -> GaugeView:
    """After a failure: what is known for certain, nothing live."""
    return GaugeView(used=old.used, total=old.total, elapsed_s=old.elapsed_s)
