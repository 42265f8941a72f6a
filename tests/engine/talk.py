"""A chat with the engine in this process, driven turn by turn, and what its contexts hold."""

from __future__ import annotations

from engine.litert import LiteRtEngine
from engine.types import (
    Constraint,
    FinishReason,
    GenerateRequest,
    Message,
    Outcome,
    Sampling,
    TextBatch,
    TextPart,
)

STORY = "Tell me a very long story about ships, storms and sailors."
SLACK = 8
"""What a few turns differ by: an end that the template would add, and what nobody sees."""


class Talk:
    def __init__(self, engine: LiteRtEngine) -> None:
        self.engine = engine
        self.runs = 0

    def ask(
        self,
        key: str,
        history: list[Message],
        text: str,
        *,
        stop_after: int | None = None,
        speculative: bool = False,
        limit: int = 40,
        constraint: Constraint | None = None,
    ) -> Outcome:
        """One turn; `stop_after` chunks it is stopped."""
        self.runs += 1
        request = GenerateRequest(
            run_id=self.runs,
            chat_key=key,
            message=said("user", text),
            history=tuple(history),
            sampling=Sampling(
                top_k=1, temperature=1.0, max_output_tokens=limit if stop_after is None else None
            ),
            speculative=speculative,
            constraint=constraint,
        )

        def sink(batch: TextBatch) -> None:
            if stop_after is not None and batch.steps >= stop_after:
                self.engine.cancel(request.run_id)

        return self.engine.generate(request, sink)

    def whole(self, history: list[Message], text: str) -> int:
        """Entries of a prompt that holds all of `history` and `text`."""
        message = said("user", text)
        request = GenerateRequest(
            run_id=0, chat_key="none", message=message, history=tuple(history)
        )
        return self.engine.count_tokens(self.engine.render(request))

    def exchange(
        self,
        history: list[Message],
        text: str,
        *,
        stop_after: int | None = None,
        speculative: bool = False,
    ) -> tuple[Outcome, list[Message]]:
        """One turn of "chat", and the history with it. A Stop is tried again when the answer
        was at its end before it: a busy machine."""
        for _ in range(20):
            outcome = self.ask(
                "chat", history, text, stop_after=stop_after, speculative=speculative
            )
            if stop_after is None or outcome.reason is FinishReason.STOPPED:
                break
        return outcome, [*history, said("user", text), said("assistant", outcome.text)]


def said(role: str, text: str) -> Message:
    return Message(role, (TextPart(text),))


def context_before(outcome: Outcome) -> int:
    """Entries the answer was built on besides its own prompt and text."""
    assert outcome.benchmark is not None
    assert outcome.context_used is not None
    prompt, answer = outcome.benchmark.prefill_tokens, outcome.benchmark.decode_tokens
    assert prompt is not None
    assert answer is not None
    return outcome.context_used - prompt - answer


def built_on(outcome: Outcome) -> int:
    """Entries the answer was built on, its own prompt among them."""
    assert outcome.error is None
    assert outcome.benchmark is not None
    assert outcome.context_used is not None
    return outcome.context_used - (outcome.benchmark.decode_tokens or 0)
