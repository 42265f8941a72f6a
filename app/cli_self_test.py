"""`tandem self-test`: does the engine work on this machine?

Loads the bundled model in the engine process and asks it with speculation off and on.
`run` is shared with the window (Help, Check engine).
"""

from __future__ import annotations

import argparse
import platform
from collections.abc import Callable, Sequence

import resources
from app import paths as app_paths
from app import wording
from app.cli import fail
from app.model_names import display_name
from app.paths import Paths
from app.version import APP_NAME, VERSION
from engine import model_file
from engine.errors import EngineError
from engine.protocol import Engine, TextSink
from engine.types import (
    LIBRARY_VERSION,
    Backend,
    FinishReason,
    GenerateRequest,
    LoadOptions,
    Message,
    Sampling,
    TextPart,
)
from ui import format as fmt

PROMPT = "Say hello in one short sentence."


class SelfTestFailed(Exception):
    """The round trip did not bring what it should; the text is a sentence."""


def main(argv: Sequence[str]) -> int:
    p = argparse.ArgumentParser(prog="tandem self-test", description="Checks the engine.")
    p.add_argument("--backend", choices=[b.value for b in Backend], default="cpu")
    args = p.parse_args(argv)
    from app.engine_factory import hosted_engine

    paths = app_paths.resolve()
    options = load_options(paths, Backend(args.backend))
    engine = hosted_engine(paths)
    try:
        run(engine, options, print)
    except EngineError as problem:
        return fail(wording.terminal_sentence(problem, options))
    except SelfTestFailed as problem:
        return fail(str(problem))
    finally:
        engine.close()
    return 0


def load_options(paths: Paths, backend: Backend = Backend.CPU) -> LoadOptions:
    path = str(resources.DEMO_MODEL)
    return LoadOptions(model_path=path, backend=backend, cache_dir=str(paths.engine_cache(path)))


def versions() -> tuple[tuple[str, str], ...]:
    return (
        (APP_NAME, VERSION),
        ("LiteRT-LM", LIBRARY_VERSION),
        ("Python", platform.python_version()),
        ("System", platform.platform()),
    )


def run(engine: Engine, options: LoadOptions, say: Callable[[str], None]) -> None:
    """Says each step in a line. Raises `EngineError` or `SelfTestFailed`. Blocks."""
    for name, version in versions():
        say(f"{name} {version}")
    info = model_file.inspect(options.model_path)
    loaded = engine.load(options)
    say(
        f"loaded {display_name(info.path)} on {wording.backend_name(options.backend)} "
        f"in {loaded.load_seconds:.2f} s (process {loaded.pid})"
    )
    for number, speculative in enumerate((False, True), start=1):
        if speculative and not info.supports_mtp:
            continue
        request = GenerateRequest(
            run_id=number,
            chat_key=f"self-test-{number}",
            message=Message(role="user", parts=(TextPart(text=PROMPT),)),
            sampling=Sampling(top_k=1, max_output_tokens=48, seed=0),
            speculative=speculative,
            keep=False,
        )
        streamed: list[str] = []
        outcome = engine.generate(request, _collector(streamed))
        words = "on" if speculative else "off"
        if outcome.error is not None:
            sentence = wording.terminal_sentence(outcome.error, options, info)
            raise SelfTestFailed(f"speculation {words}: {sentence}")
        if outcome.reason not in (FinishReason.END, FinishReason.LIMIT) or not outcome.text:
            raise SelfTestFailed(f"speculation {words}: no answer came ({outcome.reason}).")
        if "".join(streamed) != outcome.text:
            raise SelfTestFailed(f"speculation {words}: the streamed text differs from the answer.")
        speed = fmt.tps(outcome.benchmark.decode_tps if outcome.benchmark else None)
        say(f"speculation {words}: answer received, {speed} tok/s decode")
    engine.unload()
    say("self-test passed")


def _collector(into: list[str]) -> TextSink:
    return lambda batch: into.append(batch.text)
