"""History, baseline, Auto: what is kept and what follows from it."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from app import auto_spec
from app.bench import environment, workloads
from app.bench.records import Plan, Record, Verdict
from app.bench.runner import Runner
from app.bench.store import BenchmarkStore, StoreError, entry_of, newest
from app.conversation import RunRecord
from app.observed_rates import ObservedRates
from engine.types import LIBRARY_VERSION, Backend, FinishReason, LoadOptions, SpecMode
from tests.fakes.paced_engine import PacedEngine


def make_record(path: Path, on: float = 80.0, date: float = 1_000.0, **plan: object) -> Record:
    path.write_bytes(b"x" * 10) if not path.exists() else None
    prompts = workloads.suite(workloads.CLASSES[:1], 2)
    made = Plan(model_path=str(path), prompts=prompts, **plan)  # type: ignore[arg-type]
    engine = PacedEngine(speed=lambda r, n: (on if r.speculative else 50.0) + n % 3 * 0.01)
    record = Runner(engine, made).run()
    env = msgspec.structs.replace(record.environment, date=date)
    return msgspec.structs.replace(record, environment=env)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[BenchmarkStore]:
    made = BenchmarkStore(tmp_path / "benchmarks.sqlite3")
    yield made
    made.close()


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return tmp_path / "some.litertlm"


def test_record_comes_back_whole(store: BenchmarkStore, model: Path) -> None:
    record = make_record(model)
    store.add(record)
    assert store.get(record.id) == record
    assert store.get("other") is None


def test_newest_first_and_filters(store: BenchmarkStore, model: Path, tmp_path: Path) -> None:
    old = make_record(model, date=10)
    new = make_record(model, date=20, backend=Backend.GPU)
    other = make_record(tmp_path / "other.litertlm", date=15)
    for record in (old, new, other):
        store.add(record)
    assert [e.id for e in store.entries()] == [new.id, other.id, old.id]
    assert [e.id for e in store.entries(model="some")] == [new.id, old.id]
    assert [e.id for e in store.entries(backend=Backend.GPU)] == [new.id]
    assert store.entries(model="some", backend=Backend.NPU) == []


def test_one_baseline_for_each_model(store: BenchmarkStore, model: Path, tmp_path: Path) -> None:
    first, second = make_record(model, date=1), make_record(model, date=2)
    other = make_record(tmp_path / "other.litertlm", date=3)
    for record in (first, second, other):
        store.add(record)
    store.set_baseline(other.id)
    store.set_baseline(first.id)
    store.set_baseline(second.id)
    assert {e.id for e in store.entries() if e.baseline} == {second.id, other.id}
    store.set_baseline(second.id, on=False)
    assert {e.id for e in store.entries() if e.baseline} == {other.id}


def test_delete_can_be_undone(store: BenchmarkStore, model: Path) -> None:
    record = make_record(model)
    store.add(record)
    store.set_notes(record.id, "after the update")
    gone = store.delete(record.id)
    assert store.entries() == []
    assert gone is not None
    store.add(gone)
    assert store.entries()[0].notes == "after the update"
    assert store.delete("other") is None


def test_newer_file_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "b.sqlite3"
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(StoreError):
        BenchmarkStore(path)
    db = sqlite3.connect(path)
    assert db.execute("PRAGMA user_version").fetchone() == (99,)
    db.close()


def test_row_of_another_version_is_left_out(
    store: BenchmarkStore, model: Path, tmp_path: Path
) -> None:
    good, bad = make_record(model), make_record(model)
    store.add(good)
    store.add(bad)
    db = sqlite3.connect(tmp_path / "benchmarks.sqlite3")
    with db:
        db.execute("UPDATE comparison SET entry = '{}', record = '{' WHERE id = ?", (bad.id,))
    db.close()
    assert [e.id for e in store.entries()] == [good.id]
    assert store.get(bad.id) is None


@pytest.mark.skipif(sys.platform == "win32", reason="file modes")
def test_file_is_private(store: BenchmarkStore, tmp_path: Path) -> None:
    assert stat.S_IMODE((tmp_path / "benchmarks.sqlite3").stat().st_mode) == 0o600


def choice(record: Record, **other: object) -> auto_spec.AutoChoice:
    entry = entry_of(record)
    wanted: dict[str, object] = {
        "model_key": entry.model_key,
        "backend": Backend.CPU,
        "machine": entry.machine,
        **other,
    }
    return auto_spec.choose([entry], **wanted)  # type: ignore[arg-type]


def test_auto_is_on_only_for_a_clear_win(model: Path) -> None:
    won = choice(make_record(model, on=80))
    assert (won.on, won.measured) == (True, True)
    lost = choice(make_record(model, on=45))
    assert (lost.on, lost.measured) == (False, True)
    same = choice(make_record(model, on=50.2))
    assert (same.on, same.verdict) == (False, Verdict.UNCLEAR)


@pytest.mark.parametrize(
    "other",
    [{"model_key": "x"}, {"backend": Backend.GPU}, {"engine": "0.17.0"}, {"machine": "other"}],
)
def test_auto_is_off_for_another_file_backend_engine_or_machine(
    model: Path, other: dict[str, object]
) -> None:
    found = choice(make_record(model), **other)
    assert (found.on, found.measured) == (False, False)
    assert found.told == "not measured yet"


def test_newest_valid_result_wins(model: Path) -> None:
    old, new = make_record(model, on=80, date=1), make_record(model, on=45, date=2)
    few = make_record(model, on=90, date=3, runs=1)
    entries = [entry_of(r) for r in (old, new, few)]
    found = newest(
        entries,
        model_key=entries[0].model_key,
        backend=Backend.CPU,
        engine=LIBRARY_VERSION,
        machine=entries[0].machine,
    )
    assert found is not None
    assert found.id == new.id, "too few runs are no valid result"


def test_a_result_cut_short_early_does_not_decide(model: Path) -> None:
    """One class of six is no reason to switch every chat."""
    model.write_bytes(b"x" * 10)
    plan = Plan(model_path=str(model), prompts=workloads.suite())
    engine = PacedEngine(speed=lambda r, n: (80.0 if r.speculative else 50.0) + n % 3 * 0.01)
    runner = Runner(engine, plan)
    engine.on_send = lambda n: runner.cancel() if n == 30 else None
    record = runner.run()
    assert record.overall is not None
    assert record.overall.verdict is Verdict.FASTER
    assert not choice(record).on
    runner = Runner(engine, plan)
    engine.sends = 0
    engine.on_send = lambda n: runner.cancel() if n == 100 else None
    assert choice(runner.run()).on


def test_auto_follows_the_file_itself(model: Path) -> None:
    record = make_record(model)
    auto = auto_spec.AutoSpec([entry_of(record)])
    assert auto.resolve(SpecMode.AUTO, str(model), Backend.CPU)
    assert not auto.resolve(SpecMode.OFF, str(model), Backend.CPU)
    assert auto.resolve(SpecMode.ON, str(model), Backend.GPU)
    model.write_bytes(b"another model of another size")
    assert not auto.resolve(SpecMode.AUTO, str(model), Backend.CPU)
    model.unlink()
    assert not auto.resolve(SpecMode.AUTO, str(model), Backend.CPU)


def test_texts_of_picker_and_card(model: Path) -> None:
    import time

    noon = time.mktime((time.localtime().tm_year, 11, 29, 12, 0, 0, 0, 0, -1))
    found = choice(make_record(model, on=80, date=noon))
    assert found.told == "1.60× here"
    assert found.texts == {
        SpecMode.OFF: "50.0 tok/s here",
        SpecMode.ON: "80.0 tok/s here",
        SpecMode.AUTO: "On: 1.60× here, measured 29 Nov",
    }
    assert set(auto_spec.AutoChoice().texts.values()) == {
        "not measured yet",
        "Off: not measured yet",
    }


def test_a_card_tells_of_every_backend_in_the_words_of_the_picker() -> None:
    good = auto_spec.AutoChoice(
        on=True, measured=True, speedup=1.6, date=1.0, verdict=Verdict.FASTER
    )
    cannot = auto_spec.AutoChoice(measured=True, date=1.0, verdict=Verdict.CANNOT)
    unknown = auto_spec.AutoChoice()

    def card(cpu: auto_spec.AutoChoice, gpu: auto_spec.AutoChoice, preferred: Backend) -> str:
        return auto_spec.on_card({Backend.CPU: cpu, Backend.GPU: gpu}, preferred).text

    assert card(unknown, unknown, Backend.CPU) == "not measured yet"
    assert card(good, unknown, Backend.CPU) == "speculation 1.60× here"
    assert card(good, cannot, Backend.CPU) == "speculation CPU: 1.60× here, GPU: cannot run here"
    assert card(unknown, cannot, Backend.CPU) == (
        "speculation CPU: not measured yet, GPU: cannot run here"
    )
    assert card(good, cannot, Backend.GPU) == "speculation GPU: cannot run here, CPU: 1.60× here"
    found = auto_spec.on_card({Backend.CPU: unknown, Backend.GPU: good}, Backend.CPU)
    assert (found.speedup, found.measured) == (1.6, False)


def run(tps: float, *, on: bool, tokens: int = 50, model: str = "m") -> RunRecord:
    return RunRecord(
        model=model,
        model_path=model,
        backend="cpu",
        speculative=on,
        engine_version="0.18.1",
        reason=FinishReason.END,
        decode_tps=tps,
        decode_tokens=tokens,
    )


class KeptValues:
    """The part of the history that keeps small values."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}

    def set_value(self, name: str, value: object) -> None:
        self.kept[name] = msgspec.json.encode(value)

    async def value(self, name: str, kind: type[object]) -> object:
        return msgspec.json.decode(self.kept[name], type=kind) if name in self.kept else None


def test_real_use_is_labelled_and_needs_both_sides() -> None:
    history = KeptValues()
    rates = ObservedRates(history, lambda: None)  # type: ignore[arg-type]
    rates.add(run(50, on=False))
    asyncio.run(rates.open())
    for one in (run(52, on=False), run(54, on=False), run(80, on=True)):
        rates.add(one)
    assert rates.of("m", Backend.CPU).text == ""
    for one in (run(82, on=True), run(84, on=True), run(999, on=True, tokens=2)):
        rates.add(one)
    rates.add(run(1, on=False, model="another"))
    rates.add(msgspec.structs.replace(run(1, on=False), reason=FinishReason.STOPPED))
    found = rates.of("m", Backend.CPU)
    assert (found.off_tps, found.on_tps) == (52, 82)
    assert "not a measurement" in found.text
    assert rates.of("m", Backend.GPU).text == ""
    later = ObservedRates(history, lambda: None)  # type: ignore[arg-type]
    asyncio.run(later.open())
    assert later.of("m", Backend.CPU) == found, "kept for the next run of the program"


def test_environment_is_filled_in(model: Path) -> None:
    env = make_record(model).environment
    assert env.tandem
    assert env.engine == "0.18.1"
    assert env.cores
    assert env.cpu
    assert env.machine == environment.machine_key()


def test_a_cache_that_could_not_be_used_is_not_claimed(model: Path) -> None:
    loaded = PacedEngine().load(LoadOptions(model_path=str(model)))
    plan = Plan(model_path=str(model))
    assert environment.capture(plan, loaded, "disk, cold").cache == "disk, cold"
    refused = msgspec.structs.replace(loaded, notes=("cache_off",))
    assert environment.capture(plan, refused, "disk, cold").cache == "off"


@pytest.mark.parametrize(
    ("name", "kind", "wanted"),
    [
        ("llvmpipe (LLVM 17)", "CPU", True),
        ("SwiftShader Device", "", True),
        ("Microsoft Basic Render Driver", "", True),
        ("NVIDIA H200", "Discrete GPU", False),
        (None, None, False),
    ],
)
def test_software_adapters_are_known(name: str | None, kind: str | None, wanted: bool) -> None:
    assert environment.software_adapter(name, kind) is wanted


def test_a_file_that_was_replaced_is_another_model(tmp_path: Path) -> None:
    """Same name, same size: what was measured with the old file says nothing of the new."""
    path = tmp_path / "m.litertlm"
    path.write_bytes(b"old")
    before = environment.model_key(str(path))
    path.write_bytes(b"new")
    os.utime(path, ns=(1, 1))
    assert environment.model_key(str(path)) != before
    os.rename(path, tmp_path / "other.litertlm")
    assert environment.model_key(str(tmp_path / "other.litertlm")) != before
    assert environment.model_key(str(path)) == ""
