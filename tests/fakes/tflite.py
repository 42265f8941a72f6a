"""Writes tiny .tflite graphs by hand: as much of the format as `tests.fakes.senses` needs.

A file holds one subgraph and one signature. Numbers of fields, operators and types are those
of the public schema (schema.fbs of TensorFlow Lite, version 3).
"""

from __future__ import annotations

import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from engine import schema_modules

# The window imports flatbuffers in its own way, maybe on another thread just now: not in between.
schema_modules.header_schema()

import flatbuffers  # noqa: E402

FLOAT32, INT32, BOOL = 0, 2, 6
AVERAGE_POOL_2D, FULLY_CONNECTED, RESHAPE, STRIDED_SLICE = 1, 9, 22, 45
POOL, CONNECTED, RESHAPED, STRIDED = 5, 8, 17, 32
"""Kinds of options that go with the operators above."""

Write = Callable[[flatbuffers.Builder], int]


@dataclass
class Graph:
    """Tensors and steps in order; `data()` is the file."""

    name: str
    tensors: list[tuple[str, int, tuple[int, ...], int]] = field(default_factory=list)
    buffers: list[bytes] = field(default_factory=lambda: [b""])
    steps: list[tuple[int, tuple[int, ...], int, int, Write]] = field(default_factory=list)
    inputs: list[int] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)

    def _tensor(self, name: str, kind: int, shape: Sequence[int], data: bytes = b"") -> int:
        if data:
            self.buffers.append(data)
        place = len(self.buffers) - 1 if data else 0
        self.tensors.append((name, kind, tuple(shape), place))
        return len(self.tensors) - 1

    def input(self, name: str, shape: Sequence[int], kind: int = FLOAT32) -> int:
        self.inputs.append(self._tensor(name, kind, shape))
        return self.inputs[-1]

    def output(self, tensor: int, name: str) -> None:
        _, kind, shape, place = self.tensors[tensor]
        self.tensors[tensor] = (name, kind, shape, place)
        self.outputs.append(tensor)

    def _step(
        self,
        code: int,
        reads: Sequence[int],
        kind: int,
        shape: Sequence[int],
        options: int,
        w: Write,
    ) -> int:
        made = self._tensor(f"step{len(self.steps)}", kind, shape)
        self.steps.append((code, tuple(reads), made, options, w))
        return made

    def _ints(self, values: Sequence[int]) -> int:
        data = array.array("i", values).tobytes()
        return self._tensor(f"ints{len(self.tensors)}", INT32, (len(values),), data)

    def average_pool(self, tensor: int, side: int) -> int:
        """Means over squares of `side` pixels of a [1, height, width, channels] tensor."""
        _, kind, (one, height, width, channels), _ = self.tensors[tensor]

        def options(b: flatbuffers.Builder) -> int:
            b.StartObject(6)
            b.PrependInt8Slot(0, 1, 0)  # padding VALID
            for slot in (1, 2, 3, 4):  # strides, then the square itself
                b.PrependInt32Slot(slot, side, 0)
            return int(b.EndObject())

        shape = (one, height // side, width // side, channels)
        return self._step(AVERAGE_POOL_2D, (tensor,), kind, shape, POOL, options)

    def reshape(self, tensor: int, shape: Sequence[int]) -> int:
        kind = self.tensors[tensor][1]

        def options(b: flatbuffers.Builder) -> int:
            sizes = _ints(b, shape)
            b.StartObject(1)
            b.PrependUOffsetTRelativeSlot(0, sizes, 0)
            return int(b.EndObject())

        reads = (tensor, self._ints(shape))
        return self._step(RESHAPE, reads, kind, shape, RESHAPED, options)

    def connect(self, tensor: int, weights: Sequence[float], width: int) -> int:
        """Every row of a [1, rows, n] tensor times `weights`, `width` rows of n numbers."""
        _, kind, (one, rows, n), _ = self.tensors[tensor]
        data = array.array("f", weights).tobytes()
        fixed = self._tensor(f"weights{len(self.tensors)}", FLOAT32, (width, n), data)

        def options(b: flatbuffers.Builder) -> int:
            b.StartObject(5)
            b.PrependBoolSlot(2, True, False)  # keep_num_dims
            return int(b.EndObject())

        reads = (tensor, fixed, -1)
        return self._step(FULLY_CONNECTED, reads, kind, (one, rows, width), CONNECTED, options)

    def every(self, tensor: int, stride: int) -> int:
        """Every `stride`-th value of a [1, n] tensor, from the first."""
        _, kind, (one, n), _ = self.tensors[tensor]

        def options(b: flatbuffers.Builder) -> int:
            b.StartObject(6)
            return int(b.EndObject())

        reads = (tensor, self._ints((0, 0)), self._ints((one, n)), self._ints((1, stride)))
        return self._step(STRIDED_SLICE, reads, kind, (one, n // stride), STRIDED, options)

    def data(self) -> bytes:
        """The file: the header's tables, then the buffers with the weights."""
        b = flatbuffers.Builder(1024)
        codes = sorted({step[0] for step in self.steps})
        signature = _tables(b, [self._signature(b)])
        steps = _tables(b, [_operator(b, codes.index(c), *rest) for c, *rest in self.steps])
        tensors = _tables(b, [_tensor(b, *t) for t in self.tensors])
        inputs, outputs, name = (
            _ints(b, self.inputs),
            _ints(b, self.outputs),
            b.CreateString("main"),
        )
        b.StartObject(5)
        for slot, offset in enumerate((tensors, inputs, outputs, steps, name)):
            b.PrependUOffsetTRelativeSlot(slot, offset, 0)
        graphs = _tables(b, [int(b.EndObject())])
        buffers = _tables(b, [_buffer(b, data) for data in self.buffers])
        operators = _tables(b, [_code(b, code) for code in codes])
        description = b.CreateString(self.name)
        b.StartObject(8)
        b.PrependUint32Slot(0, 3, 0)
        for slot, offset in ((1, operators), (2, graphs), (3, description), (4, buffers)):
            b.PrependUOffsetTRelativeSlot(slot, offset, 0)
        b.PrependUOffsetTRelativeSlot(7, signature, 0)
        b.Finish(b.EndObject(), b"TFL3")
        return bytes(b.Output())

    def _signature(self, b: flatbuffers.Builder) -> int:
        maps = []
        for tensors in (self.inputs, self.outputs):
            made = []
            for tensor in tensors:
                name = b.CreateString(self.tensors[tensor][0])
                b.StartObject(2)
                b.PrependUOffsetTRelativeSlot(0, name, 0)
                b.PrependUint32Slot(1, tensor, 0)
                made.append(int(b.EndObject()))
            maps.append(_tables(b, made))
        key = b.CreateString("serving_default")
        b.StartObject(5)
        for slot, offset in enumerate((*maps, key)):
            b.PrependUOffsetTRelativeSlot(slot, offset, 0)
        return int(b.EndObject())


def _ints(b: flatbuffers.Builder, values: Sequence[int]) -> int:
    b.StartVector(4, len(values), 4)
    for value in reversed(values):
        b.PrependInt32(value)
    return int(b.EndVector())


def _tables(b: flatbuffers.Builder, offsets: Sequence[int]) -> int:
    b.StartVector(4, len(offsets), 4)
    for offset in reversed(offsets):
        b.PrependUOffsetTRelative(offset)
    return int(b.EndVector())


def _tensor(b: flatbuffers.Builder, name: str, kind: int, shape: Sequence[int], place: int) -> int:
    sizes, text = _ints(b, shape), b.CreateString(name)
    b.StartObject(9)
    b.PrependUOffsetTRelativeSlot(0, sizes, 0)
    b.PrependInt8Slot(1, kind, 0)
    b.PrependUint32Slot(2, place, 0)
    b.PrependUOffsetTRelativeSlot(3, text, 0)
    b.PrependBoolSlot(8, True, False)  # has_rank
    return int(b.EndObject())


def _operator(
    b: flatbuffers.Builder, index: int, reads: Sequence[int], made: int, kind: int, write: Write
) -> int:
    options, inputs, outputs = write(b), _ints(b, reads), _ints(b, (made,))
    b.StartObject(9)
    b.PrependUint32Slot(0, index, 0)
    b.PrependUOffsetTRelativeSlot(1, inputs, 0)
    b.PrependUOffsetTRelativeSlot(2, outputs, 0)
    b.PrependUint8Slot(3, kind, 0)
    b.PrependUOffsetTRelativeSlot(4, options, 0)
    return int(b.EndObject())


def _buffer(b: flatbuffers.Builder, data: bytes) -> int:
    if data:
        b.StartVector(1, len(data), 16)
        b.head = b.Head() - len(data)
        b.Bytes[b.Head() : b.Head() + len(data)] = data
        vector = b.EndVector()
    b.StartObject(3)
    if data:
        b.PrependUOffsetTRelativeSlot(0, vector, 0)
    return int(b.EndObject())


def _code(b: flatbuffers.Builder, code: int) -> int:
    b.StartObject(4)
    b.PrependInt8Slot(0, code, 0)
    b.PrependInt32Slot(2, 1, 1)
    b.PrependInt32Slot(3, code, 0)
    return int(b.EndObject())
