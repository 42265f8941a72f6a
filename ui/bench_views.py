"""What the Benchmark tab shows: plain frozen values, made by its controller. No Qt."""

from __future__ import annotations

from dataclasses import dataclass

from engine.types import Backend


@dataclass(frozen=True, slots=True, kw_only=True)
class BarRow:
    """One class of prompts: mean speeds off and on with their deviations, in tok/s."""

    label: str
    off: float | None
    on: float | None
    off_std: float | None = None
    on_std: float | None = None
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of a picture. `low`/`high` are a band per point, empty for none.
    `color` names a token of the theme."""

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    color: str = "accent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A picture beside the bars. `level` draws a horizontal reference (1 for speedups);
    `note` says what its thin lines are."""

    key: str
    title: str
    x_label: str
    y_label: str
    lines: tuple[Line, ...]
    level: float | None = None
    ticks: tuple[tuple[float, str], ...] = ()
    note: str = ""
    empty: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultView:
    """One comparison. `tone`: "accent" faster, "bad" slower, "" no clear difference.

    `head` and `rows` are the table; `tips` gives a tooltip per cell of `rows`. The first
    `brief` rows are always shown, the others with the details. `heading` stands above exported
    pictures."""

    id: str
    value: str
    tone: str
    headline: str
    detail: str
    partial: str = ""
    warning: str = ""
    bars: tuple[BarRow, ...] = ()
    pictures: tuple[Picture, ...] = ()
    head: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    tips: tuple[tuple[str, ...], ...] = ()
    brief: int = 1
    heading: str = ""
    foot: str = ""
    report: str = ""
    command: str = ""
    notes: str = ""
    baseline: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryRow:
    """One line of the history: model, what it ran on and when, and the speedup."""

    id: str
    title: str
    subtitle: str
    value: str
    tone: str = ""
    tip: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryView:
    """The list and its filters; an empty filter text means all."""

    rows: tuple[HistoryRow, ...] = ()
    models: tuple[str, ...] = ()
    backends: tuple[Backend, ...] = ()
    selected: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressView:
    """A running comparison. `share` is 0 to 1, None while nothing can be counted."""

    title: str
    text: str
    share: float | None = None
    stopping: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetView:
    """What would be measured: (path, name) pairs to choose from and the chosen one.
    `problem` says why Compare is disabled, "" if it is not."""

    models: tuple[tuple[str, str], ...] = ()
    path: str = ""
    name: str = ""
    backend: Backend = Backend.CPU
    backends: tuple[Backend, ...] = (Backend.CPU, Backend.GPU)
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchChoice:
    """What the person asked for; `workloads` are the values of the prompt classes."""

    workloads: tuple[str, ...]
    per_class: int
    runs: int
    own_prompt: str = ""
    depth: bool = False
    synthetic: bool = False
