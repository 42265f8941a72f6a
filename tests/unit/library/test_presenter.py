"""Cards in every state a person needs to tell apart, and a sentence for every failure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from app.auto_spec import OnCard
from app.library import details, failures, presenter
from app.library.catalogue import CatalogueEntry, load_catalogue
from app.library.download_cards import ways_on
from app.library.download_types import DownloadState, DownloadStatus
from app.library.failures import Failure
from app.library.fit import Machine
from app.library.knowledge import Engine, Knowledge
from app.library.local import LocalModel, Source
from engine import model_file
from engine.types import Backend, ErrorInfo, FileState, Modality
from ui import model_strings as words
from ui.model_views import ModelRowView

GB = 10**9
BIG = Machine(memory_total=64 * GB, memory_available=60 * GB, disk_free=900 * GB)


@pytest.fixture
def model(demo_model: Path) -> LocalModel:
    info = model_file.inspect(demo_model)
    return LocalModel(
        path="/m/smol.litertlm",
        name="Smol",
        source=Source.OWN,
        bytes=186_300_096,
        mtime_ns=info.mtime_ns,
        info=info,
    )


def one(model: LocalModel, **known: Any) -> ModelRowView:
    rows = presenter.rows(Knowledge(models=(model,), **({"machine": BIG} | known)))
    return next(r for r in rows if r.key == model.path)


def ids(row: ModelRowView) -> list[str]:
    return [a.id for a in row.actions]


def entry(number: int = 0) -> CatalogueEntry:
    return load_catalogue()[number]


def status(state: DownloadState, number: int = 0, **more: Any) -> DownloadStatus:
    e = entry(number)
    values: dict[str, Any] = {
        "key": e.key, "name": e.name, "url": "u", "target": f"/m/{e.file}", "total": e.bytes,
    }  # fmt: skip
    return DownloadStatus(state=state, **(values | more))


def offered(found: DownloadStatus | None = None, number: int = 0, **known: Any) -> ModelRowView:
    downloads = {found.key: found} if found else {}
    know = Knowledge(catalogue=load_catalogue(), downloads=downloads, machine=BIG, **known)
    return next(r for r in presenter.rows(know) if r.key == entry(number).key)


def test_a_loaded_model_as_in_the_sketch(model: LocalModel) -> None:
    row = one(
        model,
        engine=Engine(loaded=model.path, backend=Backend.CPU),
        cache_bytes={model.path: 172_000_000},
        speculation={model.path: OnCard(text="speculation 1.60× here", measured=True)},
        used={model.path: 5.0},
    )
    assert row.badges == ("MTP", "text")
    assert row.line == (
        "186 MB + 172 MB cache · context 1024 · loaded on CPU · speculation 1.60× here"
    )
    assert ids(row) == ["unload"]


def test_a_model_that_can_be_loaded(model: LocalModel) -> None:
    row = one(model)
    assert row.line == "186 MB · context 1024 · not measured yet"
    assert ids(row) == ["measure", "load"]
    assert ids(one(model, speculation={model.path: OnCard(measured=True)})) == ["load"]
    menu = [a.id for a in row.menu]
    assert {"details", "measure", "show", "clear_cache", "delete"} <= set(menu)
    assert "fits" in row.abilities


def test_loading_and_failing(model: LocalModel) -> None:
    row = one(model, engine=Engine(loading=model.path))
    assert words.LOADING_HERE in row.line
    assert ids(row) == ["cancel_load"]
    row = one(model, engine=Engine(failed={model.path: "not enough memory"}))
    assert row.line.endswith("load failed: not enough memory")
    assert ids(row) == ["measure", "load"]


def test_files_of_others_are_not_deleted(model: LocalModel) -> None:
    for source in Source:
        menu = {a.id for a in one(msgspec.structs.replace(model, source=source)).menu}
        assert ("delete" in menu) == (source in {Source.OWN, Source.FOLDER})
        assert ("forget" in menu) == (source is Source.OPENED)
        assert ("copy_in" in menu) == (source in {Source.OPENED, Source.CLI, Source.HUB_CACHE})


def test_plain_models_say_nothing_of_speculation(model: LocalModel) -> None:
    assert model.info is not None
    info = msgspec.structs.replace(
        model.info,
        supports_mtp=False,
        supports_thinking=True,
        supports_tools=True,
        modalities=(Modality.TEXT, Modality.VISION, Modality.AUDIO),
    )
    row = one(msgspec.structs.replace(model, info=info))
    assert row.badges == ("thinking", "vision", "audio", "tools")
    assert "measured" not in row.line
    assert "measure" not in {a.id for a in row.menu}


def test_an_incomplete_file_can_be_fetched_again(model: LocalModel) -> None:
    assert model.info is not None
    info = msgspec.structs.replace(
        model.info,
        state=FileState.INCOMPLETE,
        file_bytes=1_204_224_000,
        expected_bytes=entry().bytes,
    )
    cut = msgspec.structs.replace(model, info=info)
    row = one(cut, catalogue=load_catalogue())
    assert row.problem == "File is incomplete: 1,204,224,000 of 2,588,147,712 bytes"
    assert ids(row) == ["download_again"]
    foreign = msgspec.structs.replace(cut, source=Source.FOLDER)
    assert ids(one(foreign, catalogue=load_catalogue())) == []
    own = msgspec.structs.replace(info, expected_bytes=5 * GB)
    unknown = msgspec.structs.replace(cut, info=own)
    assert ids(one(unknown, catalogue=load_catalogue())) == []
    assert ids(one(unknown, origins={cut.path: "o/r/x"})) == ["download_again"]


def test_newer_engine_wanted(model: LocalModel) -> None:
    assert model.info is not None
    info = msgspec.structs.replace(model.info, state=FileState.NEEDS_RUNTIME, min_runtime="9.9.9")
    row = one(msgspec.structs.replace(model, info=info))
    assert "needs engine 9.9.9, Tandem has 0.18.1" in row.problem
    assert ids(row) == ["try_anyway"]


@pytest.mark.parametrize(
    "code", ["login_page", "lfs_pointer", "empty", "is_folder", "other_version", "not_a_model"]
)
def test_no_model_at_all(model: LocalModel, code: str) -> None:
    bad = msgspec.structs.replace(model, info=None, problem=ErrorInfo(code))
    row = one(bad)
    assert row.problem
    assert row.problem_level == "bad"
    assert ids(row) == []
    assert "details" not in {a.id for a in row.menu}


def test_catalogue_entries(model: LocalModel) -> None:
    row = offered()
    assert row.badges == ("MTP", "thinking", "vision", "audio")
    assert row.line == "2.59 GB · context 32000 · needs about 8 GB of memory · fits"
    assert ids(row) == ["download"]
    gated = offered(number=3)
    assert gated.line == "3.66 GB · licence to accept on Hugging Face, token needed"
    small = Machine(memory_total=9 * GB, memory_available=5 * GB, disk_free=900 * GB)
    know = Knowledge(catalogue=load_catalogue(), machine=small)
    lines = {r.name: r.line for r in presenter.rows(know)}
    assert lines["Gemma 4 E4B"].endswith("slow here")
    tiny = Machine(memory_total=2 * GB, memory_available=GB, disk_free=900 * GB)
    lines = {
        r.name: r.line for r in presenter.rows(Knowledge(catalogue=load_catalogue(), machine=tiny))
    }
    assert lines["Gemma 4 E2B"].endswith("won’t fit in memory")


def test_an_entry_that_is_here_is_not_offered(model: LocalModel) -> None:
    here = msgspec.structs.replace(model, path=f"/m/{entry().file}", bytes=entry().bytes)
    know = Knowledge(models=(here,), catalogue=load_catalogue())
    assert entry().key not in {r.key for r in presenter.rows(know)}


@pytest.mark.parametrize(
    ("found", "text", "buttons"),
    [
        (
            status(DownloadState.RUNNING, done=1_060_000_000, speed=24.1e6, seconds_left=63.0),
            "1.06 of 2.59 GB · 24.1 MB/s · 1 min left",
            ["pause", "cancel_download"],
        ),
        (
            status(DownloadState.RUNNING, done=1_060_000_000, speed=1.0, stalled_s=31.7),
            "1.06 of 2.59 GB · stalled for 31 s",
            ["pause", "cancel_download"],
        ),
        (
            status(DownloadState.RUNNING, done=10**9, note="changed"),
            "1.00 of 2.59 GB · the file on the server changed: began again",
            ["pause", "cancel_download"],
        ),
        (
            status(DownloadState.PAUSED, done=700_000_000),
            "Paused at 700 MB of 2.59 GB",
            ["resume", "cancel_download"],
        ),
        (status(DownloadState.QUEUED), words.QUEUED, ["pause", "cancel_download"]),
        (status(DownloadState.VERIFYING, done=1), words.VERIFYING, ["cancel_download"]),
        (
            status(
                DownloadState.WAITING,
                waiting_s=4.2,
                failure=Failure("unreachable", {"host": "huggingface.co"}),
            ),
            "huggingface.co cannot be reached. Are you online? Trying again in 4 s.",
            ["resume", "pause", "cancel_download"],
        ),
        (
            status(DownloadState.FAILED, failure=Failure("token_needed", {"host": "h"})),
            "h wants a token for this model.",
            ["token", "page", "cancel_download"],
        ),
        (
            status(
                DownloadState.FAILED,
                failure=Failure(
                    "no_space_cache", {"file": "2000000000", "cache": "2000000000", "free": "3"}
                ),
            ),
            "The file (2.00 GB) fits, but its engine cache (2.00 GB) does not; 3 B are free.",
            ["anyway", "resume", "cancel_download"],
        ),
    ],
)
def test_states_of_a_download(found: DownloadStatus, text: str, buttons: list[str]) -> None:
    row = offered(found)
    assert row.progress_text == text
    assert ids(row) == buttons


def test_a_download_by_hand_has_a_card_of_its_own() -> None:
    by_hand = DownloadStatus(
        key="o/r/x.litertlm", name="x", url="u", target="/m/x", state=DownloadState.RUNNING, done=5
    )
    rows = presenter.rows(Knowledge(downloads={by_hand.key: by_hand}))
    assert [(r.key, r.group, r.progress) for r in rows] == [(by_hand.key, "local", -1.0)]


def test_left_overs_can_be_deleted() -> None:
    rows = presenter.rows(Knowledge(orphans=("/m/x.litertlm.partial",)))
    assert ids(rows[0]) == ["delete"]


def test_every_failure_has_a_sentence_and_a_way_on() -> None:
    assert words.failure_codes() == failures.CODES
    for code in failures.CODES:
        text = words.failure(code, {})
        assert text.endswith((".", "?")), code
        assert "{" not in text
        assert ways_on(Failure(code))
    assert len({words.failure(c, {}) for c in failures.CODES}) == len(failures.CODES)
    assert set(words.WAYS_ON) <= failures.CODES
    assert words.failure("unheard of", {}) == "The download stopped."


def test_sentences_name_numbers_and_stay_on_one_line() -> None:
    text = words.failure("no_space", {"file": "2588147712", "cache": "100", "free": "5000000"})
    assert "2.59 GB" in text
    assert "5 MB" in text
    text = words.failure("wrong_size", {"expected": "1000000", "got": "5"})
    assert "1,000,000" in text
    assert "\n" not in words.failure("gone", {"host": "a\nb\u202e"})


def test_details(model: LocalModel) -> None:
    view = details.view(model, 12_000_000)
    groups = {title: dict(rows) for title, rows in view.groups}
    assert groups[words.GROUP_FILE]["Engine cache"] == "12 MB"
    assert groups[words.GROUP_ABILITIES]["Context"] == "1024 tokens"
    assert "<|im_end|>" in groups[words.GROUP_ABILITIES]["Stop tokens"]
    assert groups[words.GROUP_SAMPLER] == {"Temperature": "0.7", "Top-p": "0.95", "Top-k": "40"}
    assert groups[words.GROUP_LICENCE]["Licence"] == "Apache-2.0"
    assert "HuggingFaceTB" in groups[words.GROUP_LICENCE]["Authors"]
    assert view.template
    assert ("TFLiteModel", "tf_lite_mtp_drafter") in {s[:2] for s in view.sections}
    assert details.checksum_words("a", "") == "a"
    assert "as published" in details.checksum_words("a", "a")
    assert "differs" in details.checksum_words("a", "b")


def test_when() -> None:
    day = 86400.0
    assert presenter.when(1000, 1000) == "today"
    assert presenter.when(1000, 1000 + 1.5 * day) == "yesterday"
    assert presenter.when(1000, 1000 + 5.5 * day) == "5 days ago"
    assert presenter.when(1000, 1000 + 90 * day) == "1 Jan 1970"
