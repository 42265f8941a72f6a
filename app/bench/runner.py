"""Runs a plan against an `Engine` and gives a record.

Synchronous: `Runner.run` blocks the calling thread, which must be the one the engine
belongs to (the engine worker in the window, the main thread on the command line).
`cancel` may come from any thread at any moment; what was measured until then is kept.

Engine lives. The acceptance rate exists only as one log line when an engine goes away, over
its whole life. So every class, every depth and the synthetic test has a life of its own:
load, one unrecorded round of the very same prompts on both legs, the timed rounds, unload.
Off sends draft nothing and greedy drafting repeats exactly, so the life's rate is the rate
of the timed on-leg. Both legs share the life, loaded with the drafter in place: they differ
in the per-conversation switch alone. Every send has a fresh conversation. The memory of a
leg is read in two further lives, with and without the drafter, where nothing is timed.
(Google's
`litert-lm benchmark` makes an engine for every run instead: on a GPU its figures hold the
first use of each engine, which a chat meets once.)
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from app.bench import depth, environment, schedule, summary
from app.bench.disk import room_for_cache, scratch
from app.bench.driver import Cancelled, Driver, Overdue, sampler_of
from app.bench.ledger import Ledger, to_sample
from app.bench.peak import OWN, PeakMeter
from app.bench.records import Plan, Progress, Prompt, Record, Sample, Workload
from engine.errors import EngineCrashed, EngineError, LoadError
from engine.protocol import Engine
from engine.types import LoadedModel, LoadOptions, Message, Outcome

SYNTHETIC = Prompt("synthetic", Workload.OWN, "Hello")

ON_DEADLINE_S = 20.0
ON_FACTOR = 8.0
"""A padded reply with speculation may take this long, or so many times the slowest one
without: engine 0.18.1 was seen never to end one, and its stop token does not count here."""


class Runner:
    """One comparison; use once. `on_progress` is called on the running thread."""

    def __init__(
        self,
        engine: Engine,
        plan: Plan,
        on_progress: Callable[[Progress], None] = lambda _: None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._engine = engine
        self._plan = plan
        self._report = on_progress
        self._clock = clock
        self._driver = Driver(engine)
        self._ledger = Ledger(plan)
        self._cache = ""
        self._cache_state = ""
        self._done = 0
        self._total = schedule.sends(plan)
        self._sending_s = 0.0
        self._started = 0.0
        self._padding = plan.sampling
        self._padded_on = plan.padded_on
        self._drafted = False
        self._slowest_off = 0.0

    def cancel(self) -> None:
        """Stops at once: a load is killed, a send is cancelled. Any thread."""
        self._driver.cancel()

    def run(self) -> Record:
        """The whole plan. Raises `EngineError` only if nothing at all was measured, and
        `Cancelled` likewise; otherwise a failure ends the record early, with its code."""
        self._started = self._clock()
        stopped, failure = "", None
        with scratch(self._plan.cache_dir) as folder:
            try:
                self._prepare_cache(folder)
                self._classes()
                self._memory()
                self._depths()
                self._padded()
            except Cancelled:
                stopped = "cancelled"
            except EngineError as error:
                stopped, failure = error.code, error
            finally:
                with suppress(EngineError):
                    self._engine.unload()
        if self._ledger.empty:
            if failure is not None:
                raise failure
            if stopped:
                raise Cancelled
        told = failure.info() if failure is not None else None
        return self._ledger.record(self._cache_state, stopped, told)

    # Lives

    def _prepare_cache(self, empty: Path) -> None:
        plan = self._plan
        self._cache, self._cache_state = plan.cache_dir, ""
        if plan.cache == "disk" and plan.cold_load and room_for_cache(plan.model_path, empty):
            self._cache = str(empty)
        self._cache_state = environment.cache_state(plan.cache, self._cache)
        if self._cache_state == "disk, warm":
            return
        with self._life("load_first"):
            self._ledger.first_load = self._ledger.loads.pop()

    @contextmanager
    def _life(self, phase: str, key: str = "", *, padded: bool = False) -> Iterator[LoadedModel]:
        """One engine from load to unload; its rate is stored under `key`."""
        plan = self._plan
        self._tell(phase)
        wanted = self._padded_on if padded else bool(plan.prompts)
        options = self._options(speculative=wanted and self._ledger.on_missing is None)
        if padded:
            sizes = {"prefill_tokens": plan.prefill_tokens, "decode_tokens": plan.decode_tokens}
            options = msgspec.structs.replace(options, **sizes)
        loaded = self._load(options)
        self._ledger.loads.append(loaded.load_seconds)
        if self._ledger.environment is None:
            self._ledger.environment = environment.capture(plan, loaded, self._cache_state)
        try:
            yield loaded
        finally:
            with suppress(EngineCrashed):
                report = self._engine.unload()
                self._ledger.ended(key, report)
                if not loaded.options.speculative:
                    self._ledger.used({key: report.peak_memory}, OWN, on=False)

    def _options(self, *, speculative: bool) -> LoadOptions:
        plan = self._plan
        return LoadOptions(
            model_path=plan.model_path,
            backend=plan.backend,
            context_tokens=plan.context_tokens,
            threads=plan.threads,
            cache=plan.cache,
            cache_dir=self._cache,
            speculative=speculative,
            gpu_float16=plan.gpu_float16,
        )

    def _load(self, options: LoadOptions) -> LoadedModel:
        """Loads with the drafter; where only that fails, goes on without it and notes why, so
        that the leg without speculation is measured all the same."""
        if not options.speculative:
            return self._driver.load(options)
        try:
            loaded = self._driver.load(options)
            if loaded.info.supports_mtp is False:
                raise LoadError("no_drafter", name=self._ledger.model)
        except (LoadError, EngineCrashed) as error:
            if self._drafted or (error.code == "no_drafter" and self._plan.prompts):
                raise
            loaded = self._driver.load(msgspec.structs.replace(options, speculative=False))
            self._ledger.on_missing = error.info()
            self._total = schedule.sends(self._plan, on=False)
        else:
            self._drafted = True
        return loaded

    def _classes(self) -> None:
        for workload, prompts in schedule.by_class(self._plan.prompts).items():
            with self._life("load", workload.value):
                for send in self._possible(schedule.rounds(prompts, self._plan.runs)):
                    self._measure(send, self._ledger.samples, "suite")

    def _possible(self, sends: Iterator[schedule.Send]) -> Iterator[schedule.Send]:
        return (s for s in sends if not s.speculative or self._ledger.on_missing is None)

    def _memory(self) -> None:
        """Peak memory of each leg in a process of its own: the engine as a person has it who
        leaves speculation off, and the one with the drafter. Where only the first can run,
        the timed lives were that already."""
        if self._ledger.on_missing is not None or not self._plan.prompts:
            return
        for on in (False, True):
            self._tell("memory")
            meter = PeakMeter(self._driver.load(self._options(speculative=on)).pid)
            try:
                for prompt in schedule.memory_prompts(self._plan.prompts):
                    send = schedule.Send(prompt, schedule.WARM_UP, on)
                    self._tell("memory", send)
                    with meter.of(prompt.workload.value), self._counted():
                        self._driver.send(send, self._plan.sampling, self._plan.max_tokens)
            finally:
                with suppress(EngineCrashed):
                    report = self._engine.unload()
                    self._ledger.ended("", report)
                    self._ledger.used(meter.whole(report.peak_memory), meter.source, on=on)

    def _depths(self) -> None:
        plan = self._plan
        prompts, runs = schedule.depth_prompts(plan), schedule.depth_runs(plan)
        for share in plan.depths if prompts else ():
            with self._life("load", summary.depth_key(share)) as loaded:
                history = depth.history(
                    share, loaded.context_tokens, plan.max_tokens, self._engine.count_tokens
                )
                for send in self._possible(schedule.rounds(prompts, runs)):
                    self._measure(send, self._ledger.depth, "depth", share, history)

    def _padded(self) -> None:
        plan = self._plan
        if not (plan.prefill_tokens and plan.decode_tokens):
            return
        try:
            self._padded_life()
        except Overdue:
            # Nothing of a life that did not end is kept; the other leg gets one of its own.
            self._ledger.synthetic_lost()
            self._padded_on = False
            self._total = self._done + plan.runs + 1
            self._padded_life()

    def _padded_life(self) -> None:
        with self._life("load", "synthetic", padded=True) as loaded:
            self._padding = sampler_of(loaded.info)
            for send in self._possible(
                schedule.padded(SYNTHETIC, self._plan.runs, on=self._padded_on)
            ):
                self._measure(send, self._ledger.synthetic, "synthetic")

    def _measure(
        self,
        send: schedule.Send,
        into: list[Sample],
        part: str,
        share: float = 0.0,
        history: Sequence[Message] = (),
    ) -> None:
        warm_up = send.repetition == schedule.WARM_UP
        phase = "measure" if part == "suite" else part
        self._tell("warmup" if warm_up and part != "synthetic" else phase, send, share)
        with self._counted():
            outcome = self._send(send, tuple(history), padded=part == "synthetic")
        if warm_up:
            return
        into.append(to_sample(send, outcome, part=part, order=self._done, share=share))
        if send.repetition == 0 and part == "suite":
            self._ledger.texts[send.prompt.id, send.speculative] = outcome

    @contextmanager
    def _counted(self) -> Iterator[None]:
        """One send that ended, for the time left."""
        before = self._clock()
        yield
        self._sending_s += self._clock() - before
        self._done += 1

    def _send(self, send: schedule.Send, history: tuple[Message, ...], *, padded: bool) -> Outcome:
        if not padded:
            return self._driver.send(send, self._plan.sampling, self._plan.max_tokens, history)
        allowed = max(ON_DEADLINE_S, ON_FACTOR * self._slowest_off) if send.speculative else None
        before = self._clock()
        outcome = self._driver.send(
            send, self._padding, self._plan.decode_tokens, history, deadline_s=allowed
        )
        if not send.speculative:
            self._slowest_off = max(self._slowest_off, self._clock() - before)
        return outcome

    def _tell(self, phase: str, send: schedule.Send | None = None, share: float = 0.0) -> None:
        left = self._total - self._done
        mean = self._sending_s / self._done if self._done else None
        off, on = self._ledger.means()
        self._report(
            Progress(
                phase=phase,
                done=self._done,
                total=self._total,
                workload=send.prompt.workload if send else None,
                depth=share,
                speculative=send.speculative if send else None,
                repetition=max(0, send.repetition) if send else 0,
                eta_s=left * mean if mean is not None else None,
                elapsed_s=self._clock() - self._started,
                off_tps=off,
                on_tps=on,
            )
        )


__all__ = ["Cancelled", "Runner"]
