"""A new native conversation with the settings of a request. Errors: `NativeError`."""

from __future__ import annotations

import random
from collections.abc import Sequence

from engine import wire
from engine._ffi import Native, Owned
from engine.types import GenerateRequest, Message


def create(
    native: Native,
    engine: Owned,
    request: GenerateRequest,
    speculative: bool,
    history: Sequence[Message],
    *,
    thinks: bool,
) -> Owned:
    """`history` becomes its preface; `thinks`: the model can. The caller owns the result."""
    sampling = wire.safe_sampling(request.sampling)
    seed = random.randrange(1, 1 << 31) if sampling.seed is None else sampling.seed
    constrained = request.constraint is not None
    # A thinking config together with a constraint ends in a native panic (0.18.1).
    thinking = request.thinking if thinks and not constrained else None
    with native.session_config(
        top_k=sampling.top_k,
        top_p=sampling.top_p,
        temperature=sampling.temperature,
        seed=seed,
        speculative=speculative,
    ) as session:
        return native.conversation(
            engine,
            session,
            system=wire.system_json(request.system),
            messages=wire.messages_json(history),
            tools=wire.tools_json(request.tools),
            constrained=constrained,
            thinking=thinking,
            thinking_budget=request.thinking_budget if thinking else None,
        )
