"""The prefill sizes of a model, from the signature names inside its TFLite section.

The engine plans a prompt in fixed work groups, one per `prefill_N` signature; the smallest
decides how near to the context limit a send may go (see `context_guard`). Only the names
are read, with a handful of bounded reads, so a section of gigabytes costs nothing. Any
irregularity gives an empty answer, never an error: the guard then assumes 128.

Source: the public TFLite schema (root table field 7 = signature_defs; SignatureDef field 2
= signature_key).
"""

from __future__ import annotations

import re
import struct
from typing import BinaryIO

from engine.types import Section

_MAX_SIGNATURES = 256
_NAME = re.compile(rb"prefill_(\d{1,6})\w*")


class _Table:
    """Bounded little-endian reads at offsets relative to one section."""

    def __init__(self, file: BinaryIO, section: Section) -> None:
        self._file, self._begin = file, section.begin
        self._size = section.end - section.begin

    def bytes(self, at: int, count: int) -> bytes:
        if at < 0 or count < 0 or at + count > self._size:
            raise ValueError("offset outside the section")
        self._file.seek(self._begin + at)
        data = self._file.read(count)
        if len(data) != count:
            raise ValueError("short read")
        return data

    def u32(self, at: int) -> int:
        return int(struct.unpack("<I", self.bytes(at, 4))[0])

    def field(self, table: int, index: int) -> int:
        """Where field `index` of the table at `table` points to; 0 when it is absent."""
        vtable = table - int(struct.unpack("<i", self.bytes(table, 4))[0])
        (length,) = struct.unpack("<H", self.bytes(vtable, 2))
        slot = 4 + 2 * index
        if slot + 2 > length:
            return 0
        (offset,) = struct.unpack("<H", self.bytes(vtable + slot, 2))
        if not offset:
            return 0
        at = table + int(offset)
        return at + self.u32(at)


def prefill_sizes(file: BinaryIO, section: Section) -> tuple[int, ...]:
    """Sizes N of all `prefill_N` signatures, ascending; empty when they cannot be read."""
    data = _Table(file, section)
    sizes: set[int] = set()
    try:
        if data.bytes(4, 4) != b"TFL3":
            return ()
        vector = data.field(data.u32(0), 7)
        count = data.u32(vector) if vector else 0
        for i in range(min(count, _MAX_SIGNATURES)):
            slot = vector + 4 + 4 * i
            name = data.field(slot + data.u32(slot), 2)
            if not name:
                continue
            match = _NAME.fullmatch(data.bytes(name + 4, min(data.u32(name), 64)))
            if match and int(match[1]) > 0:
                sizes.add(int(match[1]))
    except (ValueError, struct.error, OSError):
        return ()
    return tuple(sorted(sizes))
