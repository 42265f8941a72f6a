"""Attachments: judged by content, limited, stored once; bad files named in one sentence."""

from __future__ import annotations

import os
import stat
import wave
import zlib
from pathlib import Path

import pytest
from PySide6.QtCore import QBuffer, QByteArray, QIODevice
from PySide6.QtGui import QColor, QImage

from app import attachments
from app.attachment_images import MAX_SIDE, encode, prepare
from app.attachments import AttachmentError, AttachmentStore, refusal, sniff
from app.conversation import Attachment
from engine.types import FileState, LoadedModel, LoadOptions, Modality, ModelInfo
from tests.fakes.pictures import png_of
from tests.fakes.sounds import mp3
from ui import strings_history


def image(width: int, height: int, kind: str = "PNG") -> bytes:
    picture = QImage(width, height, QImage.Format.Format_RGB32)
    picture.fill(QColor("#0B6E5B"))
    out = QByteArray()
    buffer = QBuffer(out)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    assert picture.save(buffer, kind)  # type: ignore[call-overload]
    return bytes(out.data())


def png(picture: QImage) -> bytes:
    out = QByteArray()
    buffer = QBuffer(out)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    assert picture.save(buffer, "PNG")  # type: ignore[call-overload]
    return bytes(out.data())


def png_claiming(width: int, height: int) -> bytes:
    return png_of(width, height, zlib.compress(b"\0" * 100))


@pytest.fixture
def store(tmp_path: Path) -> AttachmentStore:
    return AttachmentStore(tmp_path / "attachments", prepare)


def test_a_small_png_is_kept_byte_for_byte_and_once(store: AttachmentStore, tmp_path: Path) -> None:
    data = image(40, 30)
    (tmp_path / "größe ✓.png").write_bytes(data)
    first = store.add_file(tmp_path / "größe ✓.png")
    second = store.add_bytes(data, "pasted.png")
    assert first.file == second.file
    assert (first.name, first.kind, first.width, first.height) == ("größe ✓.png", "image", 40, 30)
    assert store.read(first) == data
    assert len(list(store.folder.iterdir())) == 1
    if os.name == "posix":
        assert stat.S_IMODE(store.path(first).stat().st_mode) == 0o600


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "BMP", "WEBP"])
def test_large_images_are_shrunk(store: AttachmentStore, kind: str) -> None:
    stored = store.add_bytes(image(3000, 1500, kind), "big")
    assert (stored.width, stored.height) == (MAX_SIDE, MAX_SIDE // 2)
    data = store.read(stored)
    assert data is not None
    back = QImage.fromData(data)
    assert (back.width(), back.height()) == (MAX_SIDE, MAX_SIDE // 2)
    assert sniff(data)[1] in ("png", "jpeg")


def test_what_is_see_through_gets_white_behind(store: AttachmentStore) -> None:
    """The engine drops the alpha channel: black words on nothing would be black on black."""
    picture = QImage(60, 40, QImage.Format.Format_ARGB32)
    picture.fill(QColor("black"))
    opaque = png(picture)
    assert store.read(store.add_bytes(opaque, "opaque.png")) == opaque
    picture.setPixelColor(59, 39, QColor(0, 0, 0, 0))
    data = store.read(store.add_bytes(png(picture), "logo.png"))
    assert data is not None
    back = QImage.fromData(data)
    assert not back.hasAlphaChannel()
    assert back.pixelColor(59, 39) == QColor("white")
    assert back.pixelColor(0, 0) == QColor("black")
    prepared = encode(picture.scaled(3000, 2000))
    large = QImage.fromData(prepared.data)
    assert not large.hasAlphaChannel()
    assert large.pixelColor(prepared.width - 1, prepared.height - 1) == QColor("white")


def test_a_large_photograph_becomes_a_jpeg(store: AttachmentStore) -> None:
    noise = QImage(os.urandom(2400 * 1600 * 4), 2400, 1600, QImage.Format.Format_RGB32)
    stored = store.add_prepared(encode(noise), "pasted")
    assert (stored.width, stored.height) == (MAX_SIDE, 1024)
    data = store.read(stored)
    assert data is not None
    assert sniff(data)[1] == "jpeg"
    assert len(data) < 2_500_000


def test_the_kind_is_told_before_anything_is_stored(store: AttachmentStore, tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_bytes(image(10, 10, "PNG"))
    (tmp_path / "b.png").write_bytes(mp3(2))
    assert store.kind_of(tmp_path / "a.jpg") == "image"
    assert store.kind_of(tmp_path / "b.png") == "audio"
    for name, code in (("gone.png", "attach_unreadable"), (".", "attach_folder")):
        with pytest.raises(AttachmentError) as caught:
            store.kind_of(tmp_path / name)
        assert caught.value.code == code
    assert not store.folder.exists()


def test_sounds_are_kept(store: AttachmentStore, tmp_path: Path) -> None:
    with wave.open(str(tmp_path / "a.wav"), "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(16000)
        sound.writeframes(b"\0\1" * 4000)
    stored = store.add_file(tmp_path / "a.wav")
    assert stored.kind == "audio"
    assert stored.file.endswith(".wav")


@pytest.mark.parametrize(
    ("name", "data", "code", "word"),
    [
        ("empty.png", b"", "attach_empty", "empty"),
        ("four.png", b"\x89PNG", "image_damaged", "damaged"),
        ("half.png", image(200, 200)[:150], "image_damaged", "damaged"),
        ("huge.png", png_claiming(12_000, 9_000), "image_huge", "12000 × 9000"),
        ("bomb.png", png_claiming(60_000, 1_000), "image_damaged", "damaged"),
        ("renamed.png", b"%PDF-1.7 and so on" * 20, "attach_format", "PDF"),
        ("photo.heic", b"\0\0\0\x18ftypheic\0\0\0\0mif1heic", "attach_format", "HEIC"),
        ("note.txt", b"just words", "attach_unknown", "neither"),
        ("cut.wav", b"RIFF\0\0\0\0WAVE", "audio_damaged", "no sound"),
        ("song.ogg", b"OggS" + b"\0" * 200, "attach_format", "Ogg"),
    ],
)
def test_bad_files_are_named(
    store: AttachmentStore, tmp_path: Path, name: str, data: bytes, code: str, word: str
) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(AttachmentError) as caught:
        store.add_file(tmp_path / name)
    assert caught.value.code == code
    sentence = strings_history.problem(caught.value.code, caught.value.params)
    assert name in sentence
    assert word in sentence
    assert not store.folder.exists() or not list(store.folder.iterdir())


def test_missing_folders_and_too_large_files(
    store: AttachmentStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path, code in ((tmp_path / "gone.png", "attach_unreadable"), (tmp_path, "attach_folder")):
        with pytest.raises(AttachmentError) as caught:
            store.add_file(path)
        assert caught.value.code == code
    monkeypatch.setattr(attachments, "MAX_IMAGE_BYTES", 100)
    (tmp_path / "b.png").write_bytes(image(50, 50))
    with pytest.raises(AttachmentError) as caught:
        store.add_file(tmp_path / "b.png")
    assert caught.value.code == "attach_too_large"


def test_names_we_did_not_make_are_never_opened(store: AttachmentStore) -> None:
    for name in ("../history.sqlite3", "/etc/passwd", "a.png", "C:evil.png", ""):
        stored = Attachment(kind="image", file=name, name="x", bytes=1)
        assert store.read(stored) is None


def test_unused_files_are_swept_only_when_old(store: AttachmentStore) -> None:
    kept = store.add_bytes(image(10, 10), "kept")
    old = store.add_bytes(image(11, 11), "old")
    store.add_bytes(image(12, 12), "new")
    for item in (kept, old):
        os.utime(store.path(item), (1, 1))
    assert store.sweep({kept.file}) == 1
    assert store.read(old) is None
    assert store.read(kept) is not None
    assert store.total_bytes() > 0


def test_refusal_names_the_reason() -> None:
    def loaded(*modalities: Modality, vision: bool = False) -> LoadedModel:
        info = ModelInfo(
            path="m",
            name="m",
            file_bytes=1,
            expected_bytes=1,
            mtime_ns=0,
            state=FileState.OK,
            modalities=(Modality.TEXT, *modalities),
        )
        return LoadedModel(
            info=info,
            options=LoadOptions(model_path="m", vision=vision),
            load_seconds=1,
            context_tokens=512,
            library_version="0.18.1",
            pid=1,
        )

    assert refusal("image", None) == "no_model"
    assert refusal("image", loaded()) == "text_only"
    assert refusal("image", loaded(Modality.VISION)) == "encoder_off"
    assert refusal("image", loaded(Modality.VISION, vision=True)) == ""
    assert refusal("audio", loaded(Modality.VISION, vision=True)) == "text_only"


def test_what_a_model_was_not_shown_is_said() -> None:
    one = strings_history.unseen("Tiny", ["cat.png"], {"image"}, gone=False)
    assert one == (
        "Tiny takes no images: “cat.png” was not shown to it. It stays in the conversation."
    )
    many = strings_history.unseen("Tiny", ["a", "b"], {"audio", "image"}, gone=False)
    assert "takes no images and audio: 2 attachments of this conversation were" in many
    gone = strings_history.unseen("Tiny", ["cat.png"], set(), gone=True)
    assert "“cat.png” is no longer there or cannot be read; Tiny answered without." in gone
