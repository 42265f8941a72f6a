"""The live rate: cumulative, from tokens, and unknown where tokens are unknown."""

from __future__ import annotations

import pytest

from app.chat_gauge import live_gauge
from engine.types import TextBatch
from ui.views import GaugeView


def rate(*, speculative: bool, tokens: int | None) -> float | None:
    batch = TextBatch(run_id=1, steps=11, elapsed_s=1.2, first_s=0.2, tokens=tokens)
    return live_gauge(GaugeView(), batch, speculative=speculative).decode_tps


def test_without_speculation_a_chunk_is_a_token() -> None:
    assert rate(speculative=False, tokens=None) == pytest.approx(10.0)


def test_while_speculating_the_counted_tokens_make_the_rate() -> None:
    assert rate(speculative=True, tokens=33) == pytest.approx(30.0)


def test_while_speculating_a_chunk_count_is_never_a_rate() -> None:
    assert rate(speculative=True, tokens=None) is None
