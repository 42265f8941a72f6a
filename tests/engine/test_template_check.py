"""A template that drops the system text or the person's words is said at the load (case 12)."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine import template_check
from engine.client import HostedEngine
from engine.errors import GenerationError
from engine.types import GenerateRequest, LoadOptions
from tests.fakes.variants import make_variant

HEAD = "{% for m in messages %}"
TAIL = "{% endfor %}"
WHOLE = "<|im_start|>{{ m.role }}\n{{ m.content if m.content is string else m.content[0].text }}"


def load(model: Path, tmp_path: Path) -> tuple[str, ...]:
    engine = HostedEngine(log_path=tmp_path / "engine.log")
    try:
        loaded = engine.load(LoadOptions(model_path=str(model), cache_dir=str(tmp_path / "cache")))
        return loaded.notes
    finally:
        engine.close()


def test_the_demo_model_drops_nothing(demo_model: Path, tmp_path: Path) -> None:
    assert not set(load(demo_model, tmp_path)) & set(template_check.NOTES)


@pytest.mark.parametrize(
    ("condition", "code"),
    [
        ("m.role != 'system'", "template_drops_system"),
        ("m.role == 'system'", "template_drops_user"),
    ],
)
def test_what_is_dropped_is_named(
    demo_model: Path, tmp_path: Path, condition: str, code: str
) -> None:
    template = f"{HEAD}{{% if {condition} %}}{WHOLE}{{% endif %}}{TAIL}"
    model = make_variant(demo_model, tmp_path / "drops.litertlm", template=template)
    assert set(load(model, tmp_path)) & set(template_check.NOTES) == {code}


@pytest.mark.parametrize("text", ["", " \n"])
def test_nothing_rendered_tells_nothing(text: str) -> None:
    assert template_check.notes(lambda _request: text) == ()


def test_a_library_that_cannot_render_tells_nothing() -> None:
    def fails(_request: GenerateRequest) -> str:
        raise GenerationError("send_failed")

    assert template_check.notes(fails) == ()
