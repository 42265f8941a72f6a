"""Reading, checking and shrinking images with Qt's decoders.

The one module below the controllers that uses Qt: QImage and QImageReader need no
application object and may be used on any thread. Called on a worker thread, never on main;
`app.attachments` gets `prepare` passed in, so it stays free of Qt.
"""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QSize, Qt
from PySide6.QtGui import QColor, QImage, QImageIOHandler, QImageReader, QPainter

MAX_SIDE = 1536
"""Longest side sent to the model, in pixels; vision encoders see far less than this."""
MAX_PIXELS = 64_000_000
KEEP_BYTES = 2_000_000
"""A PNG or JPEG below this size and `MAX_SIDE` is stored byte for byte."""


class ImageProblem(Exception):
    """`code`: "image_damaged" or "image_huge" (with `params` width, height)."""

    def __init__(self, code: str, **params: str) -> None:
        self.code = code
        self.params = params
        super().__init__(code)


@dataclass(frozen=True, slots=True)
class PreparedImage:
    """An image ready for the model. `extension` is "png" or "jpg"."""

    data: bytes
    extension: str
    width: int
    height: int


def prepare(data: bytes) -> PreparedImage:
    """Decodes once to prove it is whole; re-encodes what is large, turned, see-through or
    another format. Raises `ImageProblem`."""
    raw = QByteArray(data)
    buffer = QBuffer(raw)
    buffer.open(QIODevice.OpenModeFlag.ReadOnly)
    reader = QImageReader(buffer)
    reader.setDecideFormatFromContent(True)
    reader.setAutoTransform(True)
    size = reader.size()
    if size.isValid() and size.width() * size.height() > MAX_PIXELS:
        raise ImageProblem("image_huge", width=str(size.width()), height=str(size.height()))
    kind = bytes(reader.format().data()).decode()
    turned = reader.transformation() != QImageIOHandler.Transformation.TransformationNone
    large = size.isValid() and max(size.width(), size.height()) > MAX_SIDE
    if large and kind == "jpeg":
        # The JPEG decoder scales while reading: a fraction of the memory and time.
        reader.setScaledSize(_fit(size, MAX_SIDE))
    image = reader.read()
    if image.isNull() or image.width() < 1 or image.height() < 1:
        raise ImageProblem("image_damaged")
    extension = {"png": "png", "jpeg": "jpg"}.get(kind, "")
    keep = extension and not large and not turned and len(data) <= KEEP_BYTES
    if keep and not _see_through(image):
        return PreparedImage(data, extension, image.width(), image.height())
    return encode(image)


def encode(image: QImage) -> PreparedImage:
    """Shrinks to `MAX_SIDE`, puts white behind and writes PNG, or JPEG when PNG would be
    large."""
    if max(image.width(), image.height()) > MAX_SIDE:
        image = image.scaled(
            _fit(image.size(), MAX_SIDE),
            Qt.AspectRatioMode.IgnoreAspectRatio,
            Qt.TransformationMode.SmoothTransformation,
        )
    image = _on_white(image)
    data, extension = _write(image, "PNG"), "png"
    if len(data) > KEEP_BYTES:
        data, extension = _write(image, "JPEG"), "jpg"
    return PreparedImage(data, extension, image.width(), image.height())


def _fit(size: QSize, side: int) -> QSize:
    fitted = size.scaled(side, side, Qt.AspectRatioMode.KeepAspectRatio)
    return QSize(max(1, fitted.width()), max(1, fitted.height()))


def _see_through(image: QImage) -> bool:
    """Whether a pixel is not opaque. The engine drops that channel (0.18.1), and what lies
    under it is mostly black: black words on nothing would be black on black."""
    if not image.hasAlphaChannel():
        return False
    alpha = image.convertToFormat(QImage.Format.Format_Alpha8)
    width, line = alpha.width(), alpha.bytesPerLine()
    rows = bytes(alpha.constBits())
    return any(
        rows[at : at + width].count(255) < width for at in range(0, line * alpha.height(), line)
    )


def _on_white(image: QImage) -> QImage:
    if not image.hasAlphaChannel():
        return image
    flat = QImage(image.size(), QImage.Format.Format_RGB32)
    flat.fill(QColor("white"))
    painter = QPainter(flat)
    painter.drawImage(0, 0, image)
    painter.end()
    return flat


def _write(image: QImage, kind: str) -> bytes:
    out = QByteArray()
    buffer = QBuffer(out)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    if not image.save(buffer, kind, 90 if kind == "JPEG" else -1):  # type: ignore[call-overload]
        raise ImageProblem("image_damaged")
    buffer.close()
    return bytes(out.data())
