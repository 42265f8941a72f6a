"""`Auto (measured)`: speculation follows this person's own measurements, never a promise.

Pure and thread-neutral: it decides from a list of entries that somebody else read from the
benchmark store. Off where nothing valid was measured or the result is no clear win. What
chats really reached is told beside it, but decides nothing: it compares different texts.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from app.bench import environment
from app.bench.records import Verdict
from app.bench.store import Entry, newest
from engine.types import LIBRARY_VERSION, Backend, SpecMode
from ui import bench_strings as words
from ui import format as fmt
from ui import strings

MIN_ANSWERS = 3
"""Fewer answers on a side say nothing about real use."""

MIN_TOKENS = 16
"""A shorter answer has no decode speed worth the name."""


class AutoChoice(msgspec.Struct, frozen=True, kw_only=True):
    """What Auto does now and why."""

    on: bool = False
    measured: bool = False
    speedup: float | None = None
    off_tps: float | None = None
    on_tps: float | None = None
    date: float | None = None
    verdict: Verdict = Verdict.TOO_FEW
    entry_id: str = ""

    @property
    def told(self) -> str:
        """`1.60× here`, that it cannot run here, or that nothing was measured: the words of the
        picker and of the model card."""
        if not self.measured:
            return words.NOT_MEASURED
        if self.verdict is Verdict.CANNOT:
            return words.CANNOT_HERE
        return words.SPEEDUP_HERE.format(speedup=fmt.speedup(self.speedup))

    @property
    def texts(self) -> dict[SpecMode, str]:
        """Text of each choice of the speculative picker."""
        side = words.ON if self.on else words.OFF
        auto = f"{side}: {self.told}"
        if not self.measured or self.date is None:
            return {SpecMode.OFF: self.told, SpecMode.ON: self.told, SpecMode.AUTO: auto}
        off = words.RATE_HERE.format(rate=fmt.tps(self.off_tps))
        if self.verdict is Verdict.CANNOT:
            return {SpecMode.OFF: off, SpecMode.ON: self.told, SpecMode.AUTO: auto}
        return {
            SpecMode.OFF: off,
            SpecMode.ON: words.RATE_HERE.format(rate=fmt.tps(self.on_tps)),
            SpecMode.AUTO: words.MEASURED_ON.format(result=auto, day=day(self.date)),
        }


class OnCard(msgspec.Struct, frozen=True, kw_only=True):
    """What a model card says of speculation. `speedup` is for sorting; `measured` is whether
    the backend in use has a result."""

    text: str = words.NOT_MEASURED
    speedup: float | None = None
    measured: bool = False


def on_card(choices: Mapping[Backend, AutoChoice], preferred: Backend) -> OnCard:
    """The words of the picker for every backend that has a result, the preferred one first;
    `choices` has all backends of the model."""
    order = sorted(choices, key=lambda b: b is not preferred)
    known = [b for b in order if choices[b].measured]
    if not known:
        return OnCard()
    if known == order[:1]:
        text = words.SPECULATION.format(told=choices[known[0]].told)
    else:
        shown = dict.fromkeys((order[0], *known))
        told = ", ".join(f"{strings.BACKENDS[b]}: {choices[b].told}" for b in shown)
        text = words.SPECULATION.format(told=told)
    return OnCard(
        text=text,
        speedup=next((s for b in known if (s := choices[b].speedup) is not None), None),
        measured=bool(order) and order[0] in known,
    )


def day(date: float) -> str:
    """`29 Nov`, with the year if it is not this one."""
    when, now = time.localtime(date), time.localtime()
    text = f"{when.tm_mday} {time.strftime('%b', when)}"
    return text if when.tm_year == now.tm_year else f"{text} {when.tm_year}"


def choose(
    entries: Sequence[Entry],
    *,
    model_key: str,
    backend: Backend,
    engine: str = LIBRARY_VERSION,
    machine: str,
) -> AutoChoice:
    """The choice for one exact file, backend, engine version and machine."""
    entry = newest(entries, model_key=model_key, backend=backend, engine=engine, machine=machine)
    if entry is None:
        return AutoChoice()
    return AutoChoice(
        on=entry.verdict is Verdict.FASTER,
        measured=True,
        speedup=entry.speedup,
        off_tps=entry.off_tps,
        on_tps=entry.on_tps,
        date=entry.date,
        verdict=entry.verdict,
        entry_id=entry.id,
    )


class AutoSpec:
    """`choose` over the entries known so far; `update` after every change of the store.

    Belongs to the main thread: no files but one `stat` of the model per call.
    """

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self._entries = tuple(entries)
        self._machine = environment.machine_key()

    def update(self, entries: Iterable[Entry]) -> None:
        self._entries = tuple(entries)

    def choice(self, model_path: str, backend: Backend) -> AutoChoice:
        return choose(
            self._entries,
            model_key=environment.model_key(model_path),
            backend=backend,
            machine=self._machine,
        )

    def resolve(self, mode: SpecMode, model_path: str, backend: Backend) -> bool:
        """The true or false that the engine gets."""
        if mode is SpecMode.AUTO:
            return self.choice(model_path, backend).on
        return mode is SpecMode.ON


class Observed(msgspec.Struct, frozen=True):
    """Decode speeds of real answers, medians; not a comparison of the same texts."""

    off_tps: float | None
    on_tps: float | None
    off_answers: int
    on_answers: int

    @property
    def text(self) -> str:
        """A line for a footer; "" until both sides have enough answers."""
        if self.off_answers < MIN_ANSWERS or self.on_answers < MIN_ANSWERS:
            return ""
        return (
            f"In your chats: off {fmt.tps(self.off_tps)} tok/s ({self.off_answers} answers), on "
            f"{fmt.tps(self.on_tps)} tok/s ({self.on_answers} answers). Real use, different "
            "texts: not a measurement."
        )


def observed(rates: Iterable[tuple[bool, float]]) -> Observed:
    """What answers of one model file and backend reached: (speculating, tok/s) each."""
    sides: dict[bool, list[float]] = {False: [], True: []}
    for on, tps in rates:
        sides[on].append(tps)
    return Observed(
        off_tps=statistics.median(sides[False]) if sides[False] else None,
        on_tps=statistics.median(sides[True]) if sides[True] else None,
        off_answers=len(sides[False]),
        on_answers=len(sides[True]),
    )
