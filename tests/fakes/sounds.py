"""Small real sound files for tests."""

from __future__ import annotations

import io
import math
import struct
import wave


def wav(hertz: int, seconds: float, rate: int = 16_000) -> bytes:
    """A tone in mono, 16 bits."""
    steps = range(round(rate * seconds))
    values = (round(12_000 * math.sin(2 * math.pi * hertz * i / rate)) for i in steps)
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(b"".join(struct.pack("<h", v) for v in values))
    return out.getvalue()


def mp3(frames: int) -> bytes:
    """Silence in stereo, 44.1 kHz; a frame lasts 26 ms."""
    frame = bytes((0xFF, 0xFB, 0x90, 0xC4)) + bytes(413)
    return frame * frames
