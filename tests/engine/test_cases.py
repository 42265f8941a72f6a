"""Faults seen elsewhere that no other test plays (numbers of `docs/cases.md`)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.client import HostedEngine
from engine.types import GenerateRequest, LoadOptions, Message, Outcome, Sampling, TextPart
from ui import format as fmt
from ui.views import GaugeView

GREEDY = Sampling(top_k=1, max_output_tokens=12)


@pytest.fixture(scope="module")
def engine(demo_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HostedEngine]:
    folder = tmp_path_factory.mktemp("cases")
    made = HostedEngine(log_path=folder / "engine.log")
    made.load(LoadOptions(model_path=str(demo_model), cache_dir=str(folder / "cache")))
    yield made
    made.close()


class Asker:
    def __init__(self, engine: HostedEngine) -> None:
        self.engine = engine
        self.runs = 0

    def __call__(
        self, chat: str, text: str, system: str = "", history: tuple[Message, ...] = ()
    ) -> Outcome:
        self.runs += 1
        request = GenerateRequest(
            run_id=self.runs,
            chat_key=chat,
            message=Message(role="user", parts=(TextPart(text=text),)),
            history=history,
            system=system,
            sampling=GREEDY,
        )
        return self.engine.generate(request, lambda _batch: None)


@pytest.fixture(scope="module")
def ask(engine: HostedEngine) -> Asker:
    return Asker(engine)


def test_regenerating_the_first_turn_never_goes_on_with_another_chat(ask: Asker) -> None:
    """Case 37: elsewhere such a clone went on with another chat."""
    first = ask("branches", "Tell me about it.", system="You speak about the sea.")
    ask("another", "Tell me about it.", system="You speak about bread.")
    again = ask("branches", "Tell me about it.", system="You speak about the sea.")
    assert again.resumed == "rebuilt"
    assert again.text == first.text


def test_thirty_conversations_answer_as_the_first_did(ask: Asker) -> None:
    """Case 51: state of one conversation must not reach another."""
    facts = [f"My number is {n}{n + 1}{n + 2}." for n in (1, 4, 6)]
    alone = [ask(f"alone-{n}", fact).text for n, fact in enumerate(facts)]
    for number in range(30):
        which = number % len(facts)
        assert ask(f"many-{number}", facts[which]).text == alone[which], number


def test_a_typed_low_block_stays(engine: HostedEngine) -> None:
    """Case 52: `▁` is a blank in many tokenizers, and also a character."""
    message = Message(role="user", parts=(TextPart(text="a ▁ b"),))
    request = GenerateRequest(run_id=0, chat_key="block", message=message, keep=False)
    assert "a ▁ b" in engine.render(request)
    pieces = "".join(piece for _, piece in engine.tokenize("The quick brown fox"))
    assert pieces == "The quick brown fox"


def test_an_unknown_token_count_is_no_number() -> None:
    """Case 40: the engine says -1 where it does not know."""
    gauge = GaugeView(used=None, total=1024, elapsed_s=1.0)
    assert gauge.text() == "1.0s"
    assert not fmt.context_part(None, 1024)
