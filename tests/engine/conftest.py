"""Engines and requests for the contract tests: the same tests run against both engines."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engine.client import HostedEngine
from engine.litert import LiteRtEngine
from engine.types import (
    Constraint,
    ConstraintKind,
    FinishReason,
    GenerateRequest,
    LoadOptions,
    Message,
    Outcome,
    Sampling,
    TextBatch,
    TextPart,
)
from tests.engine.talk import Talk
from tests.fakes.variants import make_variant

AnyEngine = LiteRtEngine | HostedEngine
Variants = Callable[[str], Path]

LONG = Constraint(ConstraintKind.REGEX, "[a-z ,.]{3000,}")
"""Keeps an answer going for seconds, so that a busy machine gets to stop it on its way."""

FINE = (FinishReason.END, FinishReason.LIMIT)
"""Ways an answer ends well; which one, a small model decides."""


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("engine-cache")


@pytest.fixture(scope="session")
def variant(demo_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Variants:
    """The demo model as "thinking", "tools", "min_runtime", "small" (512 tokens), "senses",
    "gemma3" or "gemma4"."""
    folder = tmp_path_factory.mktemp("variants")
    made: dict[str, Path] = {}

    def get(name: str) -> Path:
        if name not in made:
            target = folder / f"{name}.litertlm"
            made[name] = make_variant(
                demo_model,
                target,
                thinking=name == "thinking",
                tools=name == "tools",
                min_runtime="9.9.9" if name == "min_runtime" else None,
                max_tokens=512 if name == "small" else None,
                senses=name == "senses",
                model_type=name if name in ("gemma3", "gemma4") else "",
            )
        return made[name]

    return get


def new_engine(kind: str, log: Path) -> AnyEngine:
    return HostedEngine(log_path=log) if kind == "hosted" else LiteRtEngine()


@pytest.fixture(scope="module", params=["in_process", "hosted"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def shared(
    kind: str, demo_model: Path, cache: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[AnyEngine]:
    """One engine with the demo model for a whole module; chats are kept apart by key."""
    engine = new_engine(kind, tmp_path_factory.mktemp("log") / "engine.log")
    engine.load(LoadOptions(model_path=str(demo_model), cache_dir=str(cache)))
    yield engine
    engine.close()


@pytest.fixture
def fresh(kind: str, tmp_path: Path) -> Iterator[AnyEngine]:
    """An engine of one test, nothing loaded."""
    engine = new_engine(kind, tmp_path / "engine.log")
    yield engine
    engine.close()


def user(text: str) -> Message:
    return Message("user", (TextPart(text),))


def assistant(text: str) -> Message:
    return Message("assistant", (TextPart(text),))


class Chat:
    """A conversation driven the way the program does it: it keeps the transcript."""

    _keys = itertools.count(1)
    _runs = itertools.count(1)

    def __init__(self, engine: AnyEngine, system: str = "", speculative: bool = False) -> None:
        self.engine = engine
        self.key = f"chat-{next(self._keys)}"
        self.system = system
        self.speculative = speculative
        self.history: tuple[Message, ...] = ()
        self.batches: list[TextBatch] = []
        self.on_batch: Callable[[TextBatch], None] = lambda _batch: None
        self.run_id = 0

    def request(self, text: str | Message, **more: object) -> GenerateRequest:
        self.run_id = next(self._runs)
        limit = more.pop("limit", 60)
        values: dict[str, object] = {
            "run_id": self.run_id,
            "chat_key": self.key,
            "message": user(text) if isinstance(text, str) else text,
            "history": self.history,
            "system": self.system,
            "speculative": self.speculative,
            "sampling": Sampling(top_k=1, max_output_tokens=limit),  # type: ignore[arg-type]
        }
        return GenerateRequest(**(values | more))  # type: ignore[arg-type]

    def run(self, request: GenerateRequest) -> Outcome:
        self.batches = []

        def sink(batch: TextBatch) -> None:
            self.batches.append(batch)
            self.on_batch(batch)

        outcome = self.engine.generate(request, sink)
        assert "".join(b.text for b in self.batches) == outcome.text
        assert "".join(b.thought for b in self.batches) == outcome.thought
        assert all(b.run_id == request.run_id for b in self.batches)
        return outcome

    def send(self, text: str | Message, **more: object) -> Outcome:
        """Sends and appends the exchange to the transcript, also a stopped one."""
        request = self.request(text, **more)
        outcome = self.run(request)
        if outcome.text:
            self.history = (*self.history, request.message, assistant(outcome.text))
        return outcome

    def send_long(self, text: str) -> Outcome:
        """An answer of 400 tokens, without speculation; the turn after it is rebuilt."""
        return self.send(text, limit=400, constraint=LONG)

    def send_and_stop(self, text: str, after_steps: int = 1) -> Outcome:
        """Tries again when the answer was at its end before the stop came: a busy machine, or an
        answer that is short, so the question changes a little."""
        before = self.history
        self.on_batch = lambda b: (
            self.engine.cancel(self.run_id) if b.steps >= after_steps else None
        )
        try:
            for more in range(20):
                self.history = before
                outcome = self.send(text + " And then?" * more)
                if outcome.reason is FinishReason.STOPPED:
                    break
            return outcome
        finally:
            self.on_batch = lambda _batch: None


@pytest.fixture
def talk(demo_model: Path) -> Iterator[Talk]:
    engine = LiteRtEngine()
    engine.load(LoadOptions(model_path=str(demo_model), cache="no", context_tokens=1024))
    yield Talk(engine)
    engine.close()
