"""`tandem chat`: an answer, or a conversation, in the terminal.

The engine runs on a helper thread; the main thread waits and turns the first Ctrl+C into a
stop of the reply and a second one into the end of the engine. No Qt, no asyncio.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import itertools
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import resources
from app import paths as app_paths
from app import wording
from app.cli import fail
from app.engine_factory import hosted_engine
from app.model_names import display_name
from app.paths import Paths
from app.settings import SettingsStore
from engine import model_file
from engine.errors import EngineCrashed, EngineError
from engine.protocol import Engine
from engine.types import (
    Backend,
    ErrorInfo,
    FinishReason,
    GenerateRequest,
    LoadOptions,
    Message,
    ModelInfo,
    Outcome,
    Sampling,
    TextBatch,
    TextPart,
)
from ui import format as fmt
from ui import strings

T = TypeVar("T")
EngineFactory = Callable[[Paths], Engine]
POLL_S = 0.2


def default_model(paths: Paths) -> str:
    """The last used model if it is still there, else the bundled one."""
    last = SettingsStore(paths.settings_file).value.model_path
    return last if last and Path(last).is_file() else str(resources.DEMO_MODEL)


def main(
    file: str | None,
    prompt: str | None,
    args: argparse.Namespace,
    make_engine: EngineFactory | None = None,
) -> int:
    """`args` are those of `cli.chat_parser`; `make_engine` is for tests."""
    paths = app_paths.resolve()
    path = str(Path(file or default_model(paths)).expanduser().absolute())
    options = LoadOptions(model_path=path)
    try:
        info = model_file.inspect(path)
        model_file.check_loadable(info)
    except EngineError as problem:
        return fail(wording.terminal_sentence(problem, options))
    if args.spec and not info.supports_mtp:
        return fail(wording.terminal_sentence(ErrorInfo("no_drafter"), options, info))
    options = _options(path, info, args, paths)
    if options.backend not in info.backends:
        possible = ", ".join(strings.BACKENDS[b] for b in info.backends)
        return fail(
            f"{display_name(info.path)} does not run on {args.backend}; it runs on: {possible}."
        )
    with _Helper(make_engine or hosted_engine, paths) as helper:
        return _Session(helper, options, info, args).run(prompt)


def _options(path: str, info: ModelInfo, args: argparse.Namespace, paths: Paths) -> LoadOptions:
    backend = Backend(args.backend) if args.backend else info.backends[0]
    if args.backend is None and Backend.CPU in info.backends:
        backend = Backend.CPU
    return LoadOptions(
        model_path=path,
        backend=backend,
        context_tokens=args.context,
        threads=args.threads,
        cache=args.cache,
        cache_dir=str(paths.engine_cache(path)),
        speculative=args.spec,
    )


class _Helper:
    """Owns the engine on one thread; `call` waits for it while staying open to Ctrl+C."""

    def __init__(self, make: EngineFactory, paths: Paths) -> None:
        self._pool = concurrent.futures.ThreadPoolExecutor(1, thread_name_prefix="engine")
        self._make: Callable[[], Engine] = lambda: make(paths)
        self.engine: Engine | None = None

    def __enter__(self) -> _Helper:
        return self

    def __exit__(self, *_: object) -> None:
        engine = self.engine
        if engine is not None:
            done = self._pool.submit(engine.close)
            try:
                done.result(3)
            except (concurrent.futures.TimeoutError, KeyboardInterrupt):
                engine.kill()
            except EngineError:
                pass
        self._pool.shutdown(wait=True)

    def call(self, work: Callable[[Engine], T], on_interrupt: Callable[[int], None]) -> T:
        """Runs `work(engine)`. `on_interrupt(n)` is called at the n-th Ctrl+C."""

        def job() -> T:
            if self.engine is None:
                self.engine = self._make()
            return work(self.engine)

        future = self._pool.submit(job)
        count = 0
        while True:
            try:
                return future.result(POLL_S)
            except concurrent.futures.TimeoutError:
                if future.done():
                    return future.result()
            except KeyboardInterrupt:
                count += 1
                on_interrupt(count)


class _Session:
    """One conversation in the terminal."""

    def __init__(
        self, helper: _Helper, options: LoadOptions, info: ModelInfo, args: argparse.Namespace
    ) -> None:
        self._helper = helper
        self._options = options
        self._info = info
        self._args = args
        self._history: list[Message] = []
        self._runs = itertools.count(1)
        self._loaded = False

    def run(self, prompt: str | None) -> int:
        try:
            if prompt is not None:
                self._load()
                return self._answer(prompt)
            if not sys.stdin.isatty():
                return self._piped()
            return self._loop()
        except EngineError as problem:
            return fail(wording.terminal_sentence(problem, self._options, self._info))

    def _piped(self) -> int:
        """One prompt per line; a failed one does not keep the others from being asked."""
        code = 0
        for line in sys.stdin:
            text = line.strip()
            if text:
                self._load()
                code = self._answer(text) or code
        return code

    def _loop(self) -> int:
        self._load()
        print(f"{display_name(self._info.path)} on {wording.backend_name(self._options.backend)}. "
              "Ctrl+C stops an answer, Ctrl+D ends.", file=sys.stderr)  # fmt: skip
        while True:
            try:
                text = input("> ").strip()
            except EOFError:
                print()
                return 0
            except KeyboardInterrupt:
                print("\n(Ctrl+D ends)", file=sys.stderr)
                continue
            if not text:
                continue
            try:
                self._load()
                self._answer(text)
            except EngineError as problem:
                if not isinstance(problem, EngineCrashed):
                    raise
                self._loaded = False
                fail(wording.terminal_sentence(problem, self._options, self._info))

    def _load(self) -> None:
        if self._loaded:
            return
        tty = sys.stderr.isatty()
        backend = wording.backend_name(self._options.backend)
        if tty:
            print(
                f"Loading {display_name(self._info.path)} on {backend}…",
                end="",
                file=sys.stderr,
                flush=True,
            )
        start = time.monotonic()
        try:
            self._helper.call(lambda engine: engine.load(self._options), self._interrupt_load)
        finally:
            if tty:
                print("\r\033[K", end="", file=sys.stderr, flush=True)
        self._loaded = True
        if tty:
            print(f"Loaded in {time.monotonic() - start:.1f} s", file=sys.stderr)

    def _interrupt_load(self, _count: int) -> None:
        if self._helper.engine is not None:
            self._helper.engine.kill()

    def _answer(self, text: str) -> int:
        run_id = next(self._runs)
        request = GenerateRequest(
            run_id=run_id,
            chat_key="terminal",
            message=Message(role="user", parts=(TextPart(text=fmt.clean_text(text)),)),
            history=tuple(self._history),
            system=self._args.system,
            sampling=self._sampling(),
            speculative=self._args.spec,
        )

        def interrupt(count: int) -> None:
            engine = self._helper.engine
            if engine is not None:
                engine.cancel(run_id) if count == 1 else engine.kill()

        outcome = self._helper.call(lambda e: e.generate(request, _show), interrupt)
        return self._finish(request, outcome)

    def _sampling(self) -> Sampling:
        stored = self._info.sampler
        base = Sampling()
        return Sampling(
            temperature=base.temperature if stored.temperature is None else stored.temperature,
            top_p=base.top_p if stored.top_p is None else stored.top_p,
            top_k=base.top_k if stored.top_k is None else stored.top_k,
            seed=self._args.seed,
            max_output_tokens=self._args.max_tokens,
        )

    def _finish(self, request: GenerateRequest, outcome: Outcome) -> int:
        if outcome.text and not outcome.text.endswith("\n"):
            print()
        if outcome.error is not None:
            info = outcome.error
            params = {**info.params}
            if outcome.needs is not None:
                params |= {"needs": str(outcome.needs), "left": str(outcome.left or 0)}
            error = ErrorInfo(info.code, info.detail, params)
            return fail(wording.terminal_sentence(error, self._options, self._info))
        if outcome.text:
            answer = Message(role="assistant", parts=(TextPart(text=outcome.text),))
            self._history += [request.message, answer]
        print(_gauge(outcome), flush=True)
        if outcome.reason is not FinishReason.END:
            print(f"({strings.STOP_REASONS[outcome.reason]})", file=sys.stderr)
        if not outcome.text and outcome.reason is not FinishReason.STOPPED:
            code = "only_thoughts" if outcome.thought else "empty_answer"
            return fail(wording.terminal_sentence(ErrorInfo(code)))
        return 0


def _show(batch: TextBatch) -> None:
    """Model text is untrusted: control characters never reach the terminal."""
    if batch.text:
        print(fmt.clean_text(batch.text), end="", flush=True)


def _gauge(outcome: Outcome) -> str:
    numbers = outcome.benchmark
    return fmt.gauge_line(
        used=outcome.context_used,
        total=outcome.context_total,
        elapsed_s=numbers.elapsed_s if numbers else None,
        decode_tps=numbers.decode_tps if numbers else None,
        ttft_s=numbers.ttft_s if numbers else None,
    )
