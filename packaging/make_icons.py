"""Renders the app icon from `resources/icons/app.svg` into every form the systems want.

    .venv/bin/python packaging/make_icons.py

Writes `packaging/icons/`: PNGs for Linux, `tandem.ico` for Windows, `tandem.icns` for macOS. The
results are committed, so that a build needs no drawing; run it again when the SVG changes (a test
compares the SVG's hash). Both containers are simple lists of PNGs and written by hand here: ICO
since Windows Vista and ICNS since macOS 10.7 hold PNGs as they are.
"""

from __future__ import annotations

import hashlib
import os
import struct
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QRectF, Qt
from PySide6.QtGui import QGuiApplication, QImage, QPainter
from PySide6.QtSvg import QSvgRenderer

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "resources" / "icons" / "app.svg"
TARGET = ROOT / "packaging" / "icons"
PNG_SIZES = (16, 22, 24, 32, 48, 64, 128, 256, 512)
ICO_SIZES = (16, 20, 24, 32, 40, 48, 64, 128, 256)
ICNS_TYPES = {
    "ic11": 32, "ic12": 64, "ic07": 128, "ic13": 256, "ic08": 256, "ic14": 512, "ic09": 512,
    "ic10": 1024,
}  # fmt: skip
MAC_MARGIN = 0.098
"""Share of a macOS icon's side that its grid leaves empty on each side (100 of 1024)."""


def png(svg: bytes, size: int, margin: float = 0.0) -> bytes:
    """The SVG drawn into a transparent square of `size` pixels, as PNG bytes."""
    image = QImage(size, size, QImage.Format.Format_ARGB32)
    image.fill(Qt.GlobalColor.transparent)
    painter = QPainter(image)
    edge = size * margin
    QSvgRenderer(QByteArray(svg)).render(
        painter, QRectF(edge, edge, size - 2 * edge, size - 2 * edge)
    )
    painter.end()
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    image.save(buffer, "PNG")  # type: ignore[call-overload]
    return bytes(buffer.data().data())


def ico(images: dict[int, bytes]) -> bytes:
    """A Windows icon: directory of 16-byte entries, then the PNGs."""
    head = struct.pack("<HHH", 0, 1, len(images))
    offset = len(head) + 16 * len(images)
    body = b""
    for size, data in images.items():
        side = size % 256  # 0 means 256
        head += struct.pack("<BBBBHHII", side, side, 0, 0, 1, 32, len(data), offset + len(body))
        body += data
    return head + body


def icns(images: dict[str, bytes]) -> bytes:
    """A macOS icon: tagged chunks with big-endian lengths that include their 8-byte header."""
    chunks = b"".join(
        kind.encode() + struct.pack(">I", len(data) + 8) + data for kind, data in images.items()
    )
    return b"icns" + struct.pack(">I", len(chunks) + 8) + chunks


def main() -> None:
    """Writes all files; prints what it wrote."""
    app = QGuiApplication([])
    svg = SOURCE.read_bytes()
    TARGET.mkdir(exist_ok=True)
    for size in PNG_SIZES:
        (TARGET / f"tandem-{size}.png").write_bytes(png(svg, size))
    (TARGET / "tandem.ico").write_bytes(ico({size: png(svg, size) for size in ICO_SIZES}))
    (TARGET / "tandem.icns").write_bytes(
        icns({kind: png(svg, size, MAC_MARGIN) for kind, size in ICNS_TYPES.items()})
    )
    (TARGET / "source.sha256").write_text(hashlib.sha256(svg).hexdigest() + "\n")
    print(*sorted(path.name for path in TARGET.iterdir()), sep="\n")
    app.quit()


if __name__ == "__main__":
    main()
