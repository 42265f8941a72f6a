"""Images and sounds of conversations, stored beside the history by content hash.

A file is judged by its first bytes, not by its name; what cannot be used is refused with
one code before anything large is read. The same content is stored once. Files are 0600 and
written under a temporary name first.

Synchronous; runs on a worker thread (`AttachmentStore.add_file` may take a second for a
large photo). Only `refusal` is for the main thread. Sentences: `ui.strings_history`.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from app.conversation import Attachment
from engine.types import LoadedModel, Modality

if TYPE_CHECKING:
    from app.attachment_images import PreparedImage

MAX_IMAGE_BYTES = 40_000_000
MAX_AUDIO_BYTES = 30_000_000
MAX_PER_MESSAGE = 8
SWEEP_AGE_S = 24 * 3600.0
"""An unused file younger than this may belong to a message still being written."""

_SAFE_NAME = re.compile(r"[0-9a-f]{32,64}\.[a-z0-9]{1,5}")


class AttachmentError(Exception):
    """A file that cannot be attached: `code` names the sentence, `params` fill it."""

    def __init__(self, code: str, name: str, **params: str) -> None:
        self.code = code
        self.params = {"name": name, **params}
        super().__init__(f"{code}: {name}")


def sniff(head: bytes) -> tuple[str, str]:
    """(kind, format) from the first 32 bytes: kind is "image", "audio" or "" (refused)."""
    if head.startswith(b"\x89PNG"):
        return "image", "png"
    if head.startswith(b"\xff\xd8\xff"):
        return "image", "jpeg"
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image", "webp"
    if head.startswith((b"GIF87a", b"GIF89a")):
        return "image", "gif"
    if head.startswith(b"BM") and len(head) > 18:
        return "image", "bmp"
    if head[:4] == b"RIFF" and head[8:12] == b"WAVE":
        return "audio", "wav"
    if head.startswith(b"fLaC"):
        return "audio", "flac"
    if head.startswith(b"ID3") or (len(head) > 1 and head[0] == 0xFF and head[1] & 0xE6 == 0xE2):
        return "audio", "mp3"
    return "", _refused_format(head)


def _refused_format(head: bytes) -> str:
    """A name for well-known content that is not taken, so that the sentence can say it."""
    if head[4:8] == b"ftyp":
        brand = head[8:12]
        if brand in (b"heic", b"heix", b"hevc", b"mif1", b"msf1", b"heim"):
            return "HEIC"
        return "AVIF" if brand in (b"avif", b"avis") else "MP4"
    for mark, name in (
        (b"%PDF", "PDF"),
        (b"PK\x03\x04", "ZIP"),
        (b"OggS", "Ogg"),
        (b"II*\0", "TIFF"),
        (b"MM\0*", "TIFF"),
        (b"<svg", "SVG"),
        (b"<?xml", "XML"),
    ):
        if head.startswith(mark):
            return name
    return ""


def refusal(kind: str, loaded: LoadedModel | None) -> str:
    """Why `kind` cannot be attached now, as a code; "" when it can.

    "no_model", "text_only" (the model cannot) or "encoder_off" (it can, but was loaded
    without the encoder).
    """
    if loaded is None:
        return "no_model"
    wanted = Modality.VISION if kind == "image" else Modality.AUDIO
    if wanted not in loaded.info.modalities:
        return "text_only"
    enabled = loaded.options.vision if kind == "image" else loaded.options.audio
    return "" if enabled else "encoder_off"


class AttachmentStore:
    """The folder of stored files. `prepare` decodes and shrinks an image."""

    def __init__(self, folder: Path, prepare: Callable[[bytes], PreparedImage]) -> None:
        self.folder = folder
        self._prepare = prepare

    def path(self, attachment: Attachment) -> Path:
        """Where a stored file lies. Raises ValueError for a name we did not make."""
        if not _SAFE_NAME.fullmatch(attachment.file):
            raise ValueError(attachment.file)
        return self.folder / attachment.file

    def kind_of(self, path: Path) -> str:
        """ "image" or "audio", by the first bytes of a file. Raises `AttachmentError`."""
        try:
            if path.is_dir():
                raise AttachmentError("attach_folder", path.name)
            with path.open("rb") as file:
                head = file.read(32)
        except OSError as error:
            raise _unreadable(path.name, error) from error
        if not head:
            raise AttachmentError("attach_empty", path.name)
        kind, _ = sniff(head)
        if not kind:
            raise _unusable(path.name, head)
        return kind

    def add_file(self, path: Path) -> Attachment:
        """Checks and stores a file of the person. Raises `AttachmentError`."""
        name = path.name
        limit = MAX_AUDIO_BYTES if self.kind_of(path) == "audio" else MAX_IMAGE_BYTES
        try:
            if path.stat().st_size > limit:
                raise AttachmentError("attach_too_large", name, limit=str(limit))
            with path.open("rb") as file:
                data = file.read(limit)
        except OSError as error:
            raise _unreadable(name, error) from error
        return self.add_bytes(data, name)

    def add_bytes(self, data: bytes, name: str) -> Attachment:
        """Checks and stores content, for example a pasted image."""
        if not data:
            raise AttachmentError("attach_empty", name)
        kind, form = sniff(data[:32])
        if not kind:
            raise _unusable(name, data[:32])
        if kind == "audio":
            return self._add_audio(data, name, form)
        if len(data) > MAX_IMAGE_BYTES:
            raise AttachmentError("attach_too_large", name, limit=str(MAX_IMAGE_BYTES))
        return self._add_image(data, name)

    def _add_image(self, data: bytes, name: str) -> Attachment:
        from app.attachment_images import ImageProblem

        try:
            image = self._prepare(data)
        except ImageProblem as problem:
            raise AttachmentError(problem.code, name, **problem.params) from problem
        return self.add_prepared(image, name)

    def add_prepared(self, image: PreparedImage, name: str) -> Attachment:
        """Stores an image that is ready for the model."""
        return Attachment(
            kind="image",
            file=self._store(image.data, image.extension),
            name=name,
            bytes=len(image.data),
            width=image.width,
            height=image.height,
        )

    def _add_audio(self, data: bytes, name: str, form: str) -> Attachment:
        if len(data) > MAX_AUDIO_BYTES:
            raise AttachmentError("attach_too_large", name, limit=str(MAX_AUDIO_BYTES))
        if len(data) < 128 or (form == "wav" and b"data" not in data[:65536]):
            raise AttachmentError("audio_damaged", name)
        return Attachment(kind="audio", file=self._store(data, form), name=name, bytes=len(data))

    def store_imported(self, data: bytes, extension: str) -> str:
        """Stores content from an import as it is; returns its name."""
        return self._store(data, extension)

    def _store(self, data: bytes, extension: str) -> str:
        target = self.folder / f"{hashlib.sha256(data).hexdigest()[:40]}.{extension}"
        if target.exists() and target.stat().st_size == len(data):
            os.utime(target)
            return target.name
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle, temporary = tempfile.mkstemp(prefix=".new-", dir=self.folder)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(temporary, target)
            except BaseException:
                Path(temporary).unlink(missing_ok=True)
                raise
        except OSError as error:
            reason = error.strerror or str(error)
            raise AttachmentError("attach_not_stored", target.name, reason=reason) from error
        return target.name

    def read(self, attachment: Attachment) -> bytes | None:
        """The stored content; None when it is gone."""
        try:
            return self.path(attachment).read_bytes()
        except (OSError, ValueError):
            return None

    def total_bytes(self) -> int:
        return sum(f.stat().st_size for f in self._files())

    def sweep(self, in_use: Iterable[str]) -> int:
        """Removes files no turn refers to; returns how many. Never raises."""
        keep, limit, count = set(in_use), time.time() - SWEEP_AGE_S, 0
        for file in self._files():
            try:
                if file.name not in keep and file.stat().st_mtime < limit:
                    file.unlink()
                    count += 1
            except OSError:
                continue
        return count

    def _files(self) -> list[Path]:
        try:
            return [f for f in self.folder.iterdir() if f.is_file()]
        except OSError:
            return []


def _unreadable(name: str, error: OSError) -> AttachmentError:
    reason = error.strerror or type(error).__name__
    return AttachmentError("attach_unreadable", name, reason=reason)


def _unusable(name: str, head: bytes) -> AttachmentError:
    _, form = sniff(head)
    return (
        AttachmentError("attach_format", name, format=form)
        if form
        else AttachmentError("attach_unknown", name)
    )
