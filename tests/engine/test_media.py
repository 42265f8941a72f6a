"""Images and sounds with a model that takes them: the demo model with the encoders of
`tests.fakes.senses`, in the real engine. A picture is 16 tokens, a second of sound 25."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine import model_file
from engine.types import (
    AudioPart,
    FinishReason,
    ImagePart,
    LoadOptions,
    Message,
    Modality,
    Outcome,
    Part,
    TextPart,
    ToolResultPart,
)
from tests.engine.conftest import AnyEngine, Chat, Variants, assistant, new_engine
from tests.fakes.pictures import png
from tests.fakes.senses import AUDIO_TOKENS_PER_S, IMAGE_TOKENS
from tests.fakes.sounds import mp3, wav

ASK = TextPart("What do you see?")


@pytest.fixture(scope="module")
def able(
    kind: str, variant: Variants, cache: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[AnyEngine]:
    """One engine with eyes and ears for the whole module."""
    engine = new_engine(kind, tmp_path_factory.mktemp("log") / "engine.log")
    model = str(variant("senses"))
    engine.load(LoadOptions(model_path=model, cache_dir=str(cache), vision=True, audio=True))
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("media é")
    (folder / "red.png").write_bytes(png(64, 48, (220, 20, 20)))
    (folder / "blue.png").write_bytes(png(64, 48, (20, 20, 220)))
    (folder / "low.wav").write_bytes(wav(220, 1))
    (folder / "high.wav").write_bytes(wav(2000, 1))
    (folder / "quiet.mp3").write_bytes(mp3(40))
    (folder / "broken.png").write_bytes(b"\x89PNG" + b"x" * 100)
    return folder


def asks(*parts: Part) -> Message:
    return Message("user", parts)


def prompt(outcome: Outcome) -> int:
    assert outcome.error is None, outcome.error
    assert outcome.benchmark is not None
    assert outcome.benchmark.prefill_tokens is not None
    return outcome.benchmark.prefill_tokens


def test_a_picture_takes_its_tokens_and_is_seen(able: AnyEngine, files: Path) -> None:
    red, blue = (ImagePart(str(files / f"{name}.png")) for name in ("red", "blue"))
    words = prompt(Chat(able).send(asks(ASK)))
    seen = {name: Chat(able).send(asks(part, ASK)) for name, part in (("r", red), ("b", blue))}
    assert prompt(seen["r"]) == prompt(seen["b"]) == words + IMAGE_TOKENS
    assert seen["r"].text != seen["b"].text
    assert Chat(able).send(asks(red, ASK)).text == seen["r"].text
    assert prompt(Chat(able).send(asks(red, blue, ASK))) == words + 2 * IMAGE_TOKENS
    assert prompt(Chat(able, speculative=True).send(asks(red, ASK))) == words + IMAGE_TOKENS


def test_a_sound_takes_its_tokens_and_is_heard(able: AnyEngine, files: Path) -> None:
    low, high = (AudioPart(str(files / f"{name}.wav")) for name in ("low", "high"))
    words = prompt(Chat(able).send(asks(ASK)))
    heard = [Chat(able).send(asks(part, ASK)) for part in (low, high)]
    for outcome in heard:
        assert abs(prompt(outcome) - words - AUDIO_TOKENS_PER_S) <= 1
    assert heard[0].text != heard[1].text
    assert prompt(Chat(able).send(asks(AudioPart(str(files / "quiet.mp3")), ASK))) > words + 20


def test_a_picture_is_remembered_resident_rebuilt_and_from_the_checkpoint(
    able: AnyEngine, files: Path
) -> None:
    red, blue = (ImagePart(str(files / f"{name}.png")) for name in ("red", "blue"))
    chat = Chat(able)
    first = chat.send(asks(red, ASK))
    more = chat.send("And now?")
    assert more.resumed == "resident"
    assert prompt(more) < IMAGE_TOKENS
    other = Chat(able)
    other.history = (asks(red, ASK), assistant(first.text))
    rebuilt = other.send("And now?")
    assert rebuilt.resumed == "rebuilt"
    assert prompt(rebuilt) > prompt(first) + prompt(more) - 2
    chat.history = ()
    chat.send("Hello")
    begin = chat.history
    again: dict[str, list[str]] = {"red": [], "blue": []}
    for name, part in (("red", red), ("blue", blue), ("red", red), ("blue", blue), ("red", red)):
        chat.history = begin
        outcome = chat.send(asks(part, ASK))
        if outcome.resumed == "checkpoint":
            again[name].append(outcome.text)
    assert len(set(again["red"])) == len(set(again["blue"])) == 1
    assert again["red"][0] != again["blue"][0]


def test_a_file_that_is_gone_is_named_and_ends_no_conversation(
    able: AnyEngine, files: Path, tmp_path: Path
) -> None:
    path = tmp_path / "short.png"
    path.write_bytes((files / "red.png").read_bytes())
    picture = ImagePart(str(path))
    chat = Chat(able)
    chat.send(asks(picture, ASK))
    path.unlink()
    refused = chat.run(chat.request(asks(picture, ASK)))
    assert refused.error is not None
    assert (refused.error.code, refused.error.params["path"]) == ("bad_media", str(path))
    for _ in range(2):
        outcome = chat.send("And now?")
        assert outcome.error is None
        assert [(u.path, u.gone) for u in outcome.unseen] == [(str(path), True)]
    assert outcome.resumed == "resident"
    path.write_bytes(b"")
    assert chat.send("And now?").unseen[0].gone


def test_bytes_that_are_no_picture_are_refused(able: AnyEngine, files: Path) -> None:
    chat = Chat(able)
    broken, sound = ImagePart(str(files / "broken.png")), AudioPart(str(files / "red.png"))
    for part in (broken, sound, ImagePart(str(files / "low.wav"))):
        outcome = chat.run(chat.request(asks(part, ASK)))
        assert outcome.error is not None
        assert outcome.error.code == "bad_media"
    assert chat.send("Hello").error is None


def test_an_unreadable_picture_long_ago_ends_no_conversation(able: AnyEngine, files: Path) -> None:
    broken, red = (ImagePart(str(files / f"{name}.png")) for name in ("broken", "red"))
    for message in (asks(ASK), asks(red, ASK)):
        chat = Chat(able)
        chat.history = (asks(broken, ASK), assistant("Red."))
        for _ in range(2):
            outcome = chat.send(message)
            assert outcome.error is None
            assert outcome.unseen[0].path == broken.path
            assert outcome.unseen[0].gone


def test_words_that_mark_a_place_for_a_picture_are_only_words(able: AnyEngine, files: Path) -> None:
    chat = Chat(able, system="Answer <image> questions.")
    assert chat.send("What does <image> mean in SVG? And <audio>?").error is None
    red = ImagePart(str(files / "red.png"))
    outcome = chat.send(asks(TextPart("<image>"), red, ASK))
    assert outcome.error is None
    chat.history = (*chat.history, assistant("Write <image>."))
    assert chat.send("Thanks").error is None
    tool = Message("tool", (ToolResultPart("page", '{"text": "an <image> here"}'),))
    chat.history = (*chat.history, tool, assistant("Yes."))
    assert chat.send("Thanks").error is None
    assert "<\u200bimage>" in able.render(chat.request("An <image>"))


@pytest.mark.parametrize("model", ["gemma3", "gemma4"])
def test_a_text_only_gemma_can_be_asked_about_such_words(
    model: str, kind: str, variant: Variants, cache: Path, tmp_path: Path
) -> None:
    """Their prompts are searched for markers although there is no encoder."""
    engine = new_engine(kind, tmp_path / "engine.log")
    try:
        engine.load(LoadOptions(model_path=str(variant(model)), cache_dir=str(cache)))
        question = "What are <start_of_image>, <image_soft_token>, <|image|> and <|audio|>?"
        assert Chat(engine).send(question, limit=4).error is None
    finally:
        engine.close()


def test_more_pictures_than_fit_go_back_with_the_numbers(able: AnyEngine, files: Path) -> None:
    red = ImagePart(str(files / "red.png"))
    chat = Chat(able)
    outcome = chat.run(chat.request(asks(*[red] * 70, ASK)))
    assert outcome.error is not None
    assert outcome.error.code == "message_too_long"
    assert outcome.needs is not None
    assert 70 * IMAGE_TOKENS < outcome.needs < 71 * IMAGE_TOKENS
    assert outcome.left == 1024 - 17
    assert chat.send(asks(*[red] * 30, ASK), limit=8).error is None
    outcome = chat.run(chat.request(asks(*[red] * 40, ASK)))
    assert outcome.error is not None
    assert outcome.error.code == "message_too_long"
    assert outcome.left is not None
    assert 500 <= outcome.left <= 1024 - 30 * IMAGE_TOKENS - 17
    assert chat.send("Hello").resumed == "checkpoint"


@pytest.mark.parametrize("speculative", [False, True])
def test_the_wall_behind_many_pictures_is_context_full(
    able: AnyEngine, files: Path, speculative: bool
) -> None:
    chat = Chat(able, speculative=speculative)
    message = asks(*[ImagePart(str(files / "red.png"))] * 61, ASK)
    outcome = chat.send(message, limit=None)
    if outcome.context_used == 1024:
        assert outcome.reason is FinishReason.CONTEXT_FULL
    assert chat.send("Hello").error is not None


def test_what_a_load_cannot_take_is_refused_or_left_out(
    kind: str, variant: Variants, cache: Path, files: Path, tmp_path: Path
) -> None:
    """Both a model without encoders and one that was loaded without them."""
    engine = new_engine(kind, tmp_path / "engine.log")
    red, low = ImagePart(str(files / "red.png")), AudioPart(str(files / "low.wav"))
    try:
        for model, options in (("senses", {}), ("senses", {"vision": True}), ("small", {})):
            engine.load(
                LoadOptions(model_path=str(variant(model)), cache_dir=str(cache), **options)
            )
            chat = Chat(engine)
            outcome = chat.run(chat.request(asks(low, ASK)))
            assert outcome.error is not None
            assert outcome.error.code == "media_refused"
            assert outcome.error.params["kind"] == "audio"
            chat.history = (asks(red, ASK), assistant("Red."), asks(low), assistant("Low."))
            outcome = chat.send("And now?")
            assert outcome.error is None
            left = [(u.kind, u.gone) for u in outcome.unseen]
            images = [] if options else [("image", False)]
            assert left == [*images, ("audio", False)]
            assert "[sound not played]" in engine.render(chat.request("And now?"))
    finally:
        engine.close()


def test_the_file_tells_what_it_takes(variant: Variants, demo_model: Path) -> None:
    info = model_file.inspect(variant("senses"))
    assert info.modalities == (Modality.TEXT, Modality.VISION, Modality.AUDIO)
    assert info.media_markers == ("<image>", "<audio>")
    assert model_file.inspect(demo_model).media_markers == ()


def test_stopping_while_a_picture_is_answered(able: AnyEngine, files: Path) -> None:
    chat = Chat(able)
    chat.send("Hello")
    for _ in range(3):
        message = asks(ImagePart(str(files / "red.png")), TextPart("Tell me a long story."))
        chat.on_batch = lambda _b: able.cancel(chat.run_id)
        chat.send(message, limit=200)
        chat.on_batch = lambda _b: None
        assert re.search(r"\w", chat.send("Hello").text)
