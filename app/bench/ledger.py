"""What a running comparison has gathered so far, and the record made of it.

Owned by the runner and its thread. A record can be made at any moment: after a cancel it
holds what was measured until then.
"""

from __future__ import annotations

import statistics
import uuid
from collections.abc import Iterable, Mapping

import msgspec

from app.bench import environment, equality, schedule, summary
from app.bench.records import Difference, Environment, Plan, Record, Sample
from app.model_names import display_name
from engine.types import ErrorInfo, Outcome, UnloadReport


class Ledger:
    """Samples, texts of the first repetition, and facts of each engine life."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self.samples: list[Sample] = []
        self.depth: list[Sample] = []
        self.synthetic: list[Sample] = []
        self.texts: dict[tuple[str, bool], Outcome] = {}
        self.loads: list[float] = []
        self.first_load: float | None = None
        self.environment: Environment | None = None
        self.on_missing: ErrorInfo | None = None
        self.synthetic_overdue = False
        self.model = display_name(plan.model_path)
        self._model_key = environment.model_key(plan.model_path)
        self._rates: dict[str, float] = {}
        self._peak: int | None = None
        self.peaks: dict[tuple[str, bool], int] = {}
        """Peak memory in bytes by group and leg, of processes in which only that leg ran."""
        self.memory_source = ""

    @property
    def empty(self) -> bool:
        return not (self.samples or self.depth or self.synthetic)

    def ended(self, key: str, report: UnloadReport) -> None:
        """Takes what an engine said when it went away; `key` names the group it ran."""
        if report.acceptance_rate is not None and key:
            self._rates[key] = report.acceptance_rate
        if report.peak_memory is not None:
            self._peak = max(self._peak or 0, report.peak_memory)

    def used(self, peaks: Mapping[str, int | None], source: str, *, on: bool) -> None:
        """Takes peak memory by group, of a process in which only one leg ran."""
        for key, peak in peaks.items():
            if key and peak is not None:
                self.peaks[key, on] = max(self.peaks.get((key, on), 0), peak)
                self.memory_source = self.memory_source or source

    def synthetic_lost(self) -> None:
        """The synthetic test's speculating send did not end: its life counts for nothing."""
        self.synthetic.clear()
        self._rates.pop("synthetic", None)
        self.synthetic_overdue = True

    def means(self) -> tuple[float | None, float | None]:
        """Mean decode speeds off and on so far, for the progress line."""
        samples = self.samples or self.depth or self.synthetic
        return _mean(samples, speculative=False), _mean(samples, speculative=True)

    def record(self, cache_state: str, stopped: str, failure: ErrorInfo | None = None) -> Record:
        """`stopped` is "" for a whole comparison, else why it ended early."""
        plan = self._plan
        compared, differences = self._texts()
        groups = summary.classes(self.samples, self._rates, compared, differences)
        groups = tuple(summary.with_memory(g, self.peaks) for g in groups)
        whole = summary.overall(self.samples, groups, compared, differences)
        whole = summary.with_memory(whole, self.peaks, groups) if whole else None
        if self.on_missing is not None:
            groups = tuple(summary.without_on(g) for g in groups)
            whole = summary.without_on(whole) if whole else None
        return Record(
            id=uuid.uuid4().hex,
            model=self.model,
            model_key=self._model_key,
            plan=plan,
            environment=self.environment or environment.capture(plan, None, cache_state),
            samples=(*self.samples, *self.depth, *self.synthetic),
            overall=whole,
            groups=groups,
            depths=tuple(
                summary.with_memory(g, self.peaks)
                for g in summary.depth_groups(self.depth, self._rates)
            ),
            synthetic=summary.synthetic(
                self.synthetic,
                plan.prefill_tokens,
                plan.decode_tokens,
                self._rates.get("synthetic"),
                peaks=self.peaks,
                overdue=self.synthetic_overdue,
            ),
            differences=tuple(differences),
            load_first_s=self.first_load,
            load_warm_s=statistics.median(self.loads) if self.loads else None,
            peak_memory=self._peak,
            memory_source=self.memory_source,
            complete=not stopped,
            stopped=stopped,
            failure=failure,
            on_missing=self.on_missing,
        )

    def _texts(self) -> tuple[list[str], list[Difference]]:
        """Prompts whose texts can be compared (greedy on both sides), and where they part."""
        compared: list[str] = []
        found: list[Difference] = []
        for prompt in self._plan.prompts if self._plan.sampling.top_k == 1 else ():
            off = self.texts.get((prompt.id, False))
            on = self.texts.get((prompt.id, True))
            if off is None or on is None:
                continue
            compared.append(prompt.id)
            parted = equality.difference(prompt.id, off.text, on.text, off.reason, on.reason)
            if parted is not None:
                found.append(parted)
        return compared, found


def to_sample(
    send: schedule.Send, outcome: Outcome, *, part: str, order: int, share: float
) -> Sample:
    """The figures of one send; those the engine did not give stay None."""
    sample = Sample(
        prompt_id=send.prompt.id,
        workload=send.prompt.workload,
        repetition=send.repetition,
        speculative=send.speculative,
        order=order,
        reason=outcome.reason,
        part=part,
        depth=share,
        context_used=outcome.context_used,
        chunk_times=outcome.chunk_times,
    )
    bench = outcome.benchmark
    if bench is None:
        return sample
    return msgspec.structs.replace(
        sample,
        decode_tps=bench.decode_tps,
        prefill_tps=bench.prefill_tps,
        ttft_s=bench.ttft_s,
        elapsed_s=bench.elapsed_s,
        decode_tokens=bench.decode_tokens,
        prefill_tokens=bench.prefill_tokens,
        steps=bench.steps,
    )


def _mean(samples: Iterable[Sample], *, speculative: bool) -> float | None:
    speeds = [s.decode_tps for s in samples if s.speculative is speculative and s.decode_tps]
    return statistics.fmean(speeds) if speeds else None
