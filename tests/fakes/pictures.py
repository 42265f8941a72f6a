"""Small real images for tests, made without Qt."""

from __future__ import annotations

import struct
import zlib


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def png(width: int, height: int, rgb: tuple[int, int, int] = (11, 110, 91)) -> bytes:
    """A whole one-colour PNG."""
    rows = (b"\0" + bytes(rgb) * width) * height
    return png_of(width, height, zlib.compress(rows))


def png_of(width: int, height: int, packed: bytes) -> bytes:
    """A PNG whose header claims a size, whatever `packed` holds."""
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = _chunk(b"IHDR", head) + _chunk(b"IDAT", packed) + _chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body
