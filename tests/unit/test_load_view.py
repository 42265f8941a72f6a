"""What the load dialog offers for a file, and which backends it refuses with a reason."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from app.backend_check import BackendCheck
from app.load_view import badges, load_view, model_card
from app.settings import Settings
from engine import threads
from engine.types import Backend, FileState, LoadOptions, Modality, SpecMode
from tests.fakes.scripted_engine import scripted_info
from ui import strings

OPTIONS = LoadOptions(model_path="/m.litertlm")


def test_a_file_without_a_drafter_offers_no_speculation() -> None:
    for mtp in (True, False):
        info = scripted_info("/m.litertlm", mtp=mtp)
        view = load_view(info, OPTIONS, SpecMode.OFF, BackendCheck())
        assert view.spec.available is mtp


def test_a_gpu_only_file_offers_the_gpu_only() -> None:
    info = scripted_info("/m.litertlm", backends=[Backend.GPU])
    view = load_view(info, OPTIONS, SpecMode.OFF, BackendCheck())
    assert [b.backend for b in view.backends] == [Backend.GPU]
    assert view.backend is Backend.GPU


def test_a_backend_that_failed_here_is_disabled_with_its_reason_until_it_works() -> None:
    check = BackendCheck()
    check.failed(Backend.GPU, "no adapter")
    options = msgspec.structs.replace(OPTIONS, backend=Backend.GPU)
    info = scripted_info("/m.litertlm")
    view = load_view(info, options, SpecMode.OFF, check)
    assert [b.reason for b in view.backends] == ["", "no adapter"]
    assert view.backend is Backend.CPU
    check.worked(Backend.GPU)
    assert load_view(info, options, SpecMode.OFF, check).backend is Backend.GPU


def test_the_processor_says_how_many_threads_it_gets(monkeypatch: pytest.MonkeyPatch) -> None:
    def text(chosen: int) -> str:
        options = msgspec.structs.replace(OPTIONS, threads=chosen)
        info = scripted_info("/m.litertlm", backends=[Backend.CPU])
        return load_view(info, options, SpecMode.OFF, BackendCheck()).backends[0].text

    monkeypatch.setattr(threads, "usable_cores", lambda: 2)
    assert (text(0), text(1), text(8)) == ("2 threads", "1 thread", "8 threads")


def test_the_context_offered_is_moderate_and_never_more_than_the_file_has() -> None:
    info = scripted_info("/m.litertlm")
    view = load_view(info, OPTIONS, SpecMode.OFF, BackendCheck())
    assert (view.context_tokens, view.max_context) == (1024, 1024)
    big = msgspec.structs.replace(info, max_context=131_072)
    assert load_view(big, OPTIONS, SpecMode.OFF, BackendCheck()).context_tokens == 4096
    wanted = msgspec.structs.replace(OPTIONS, context_tokens=9999)
    assert load_view(info, wanted, SpecMode.OFF, BackendCheck()).context_tokens == 1024
    unknown = msgspec.structs.replace(info, max_context=None)
    assert load_view(unknown, OPTIONS, SpecMode.OFF, BackendCheck()).max_context is None


def test_a_cut_file_is_shown_with_its_problem() -> None:
    info = scripted_info("/m.litertlm")
    cut = msgspec.structs.replace(info, state=FileState.INCOMPLETE, expected_bytes=99)
    card = model_card(cut, recent=True, loaded=False)
    assert "incomplete" in card.problem
    assert card.group == strings.RECENT
    assert model_card(info, recent=False, loaded=True).problem == ""


def test_badges_name_what_a_model_can_do() -> None:
    info = scripted_info("/m.litertlm")
    able = msgspec.structs.replace(
        info,
        supports_thinking=True,
        supports_tools=True,
        modalities=(Modality.TEXT, Modality.VISION, Modality.AUDIO),
    )
    assert badges(able) == ("MTP", "thinking", "tools", "vision", "audio")
    assert badges(scripted_info("/m.litertlm", mtp=False)) == ("text",)


def test_the_default_settings_ask_for_the_default_context() -> None:
    assert Settings().context_tokens == 0


def test_what_was_measured_belongs_to_its_backend() -> None:
    info = scripted_info("/m.litertlm", backends=[Backend.CPU, Backend.GPU])
    view = load_view(
        info,
        OPTIONS,
        SpecMode.AUTO,
        BackendCheck(),
        lambda path, on: {SpecMode.ON: f"{Path(path).name} on {on.value}"},
    )
    assert view.spec.text_of(SpecMode.ON) == "m.litertlm on cpu"
    assert view.spec_texts[Backend.GPU] == {SpecMode.ON: "m.litertlm on gpu"}
