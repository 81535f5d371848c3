"""Random models in wire format: all that protobuf reads, however odd; little that it would write.

The generator knows the schema from protobuf's descriptors. It is driven by `random`, seeded by
hypothesis: drawing each byte of a model from hypothesis itself would take a hundred times as long.
"""

from __future__ import annotations

import random
from typing import Any

import onnx
from onnx import TensorProto

from tests.corpus.wire import BLOCK, END, FIXED32, FIXED64, START, VARINT, tag, varint

__all__ = ["MAX_DEPTH", "Wild"]

MAX_DEPTH = 100
"""Messages and groups that protobuf reads in each other, below the outermost message."""
TENSOR = TensorProto.DESCRIPTOR
ODD_SIZES = (0, 1, 15, 16, 17, 127, 128, 1023, 1024, 1025, 3000)
WIRE_OF = {
    **dict.fromkeys(("int32", "int64", "uint32", "uint64", "bool", "enum"), VARINT),
    "float": FIXED32,
    "double": FIXED64,
}
FIELD_TYPES = {
    1: "double", 2: "float", 3: "int64", 4: "uint64", 5: "int32", 8: "bool", 9: "text",
    11: "message", 12: "text", 13: "uint32", 14: "enum",
}  # fmt: skip
"""Kinds of fields that onnx.proto uses, by `FieldDescriptor.type`; `text` is strings and bytes."""
TO_TENSORS = frozenset({
    "graph", "functions", "training_info", "initialization", "algorithm", "node", "attribute",
    "attribute_proto", "initializer", "sparse_initializer", "t", "g", "sparse_tensor", "tensors",
    "graphs", "sparse_tensors", "values", "indices",
})  # fmt: skip
"""Fields on the way to a tensor: made more often than others."""
WEIGHTS = ("raw_data", "float_data", "int32_data", "int64_data", "double_data", "uint64_data")


class Wild:
    """Makes one random model; the same seed and size, the same bytes."""

    def __init__(self, seed: int, size: int) -> None:
        self.random = random.Random(seed)
        self.left = size
        """Messages that may still be made: what keeps a model small."""

    def model(self) -> bytes:
        """A ModelProto with a graph."""
        graph = onnx.ModelProto.DESCRIPTOR.fields_by_name["graph"]
        fields = self.fields(onnx.ModelProto.DESCRIPTOR, 0)
        fields += [self.block(graph.number, self.message(graph.message_type, 1))]
        return self.shuffled(fields)

    def message(self, kind: Any, depth: int) -> bytes:
        """A message of this kind; `depth` is 0 for the outermost one."""
        self.left -= 1
        if kind.full_name == TENSOR.full_name:
            return self.tensor(depth)
        return self.shuffled(self.fields(kind, depth))

    def tensor(self, depth: int) -> bytes:
        """A TensorProto, mostly with weights in one field and in any number of pieces."""
        bare = [f for f in TENSOR.fields if f.name not in WEIGHTS]
        fields = [one for field in bare for one in self.some(field, depth)]
        names = self.random.sample(WEIGHTS, self.random.choice((0, 1, 1, 1, 1, 2)))
        for name in names:
            field = TENSOR.fields_by_name[name]
            for _ in range(self.random.choice((1, 1, 1, 2, 3))):
                size = self.random.choice(ODD_SIZES)
                fields += self.weights(field, size)
        return self.shuffled([*fields, *self.unknowns(TENSOR, depth)])

    def weights(self, field: Any, size: int) -> list[bytes]:
        """About `size` bytes of weights: one block, or numbers one by one, or both."""
        kind = FIELD_TYPES[field.type]
        if kind == "text":
            return [self.block(field.number, self.random.randbytes(size))]
        numbers = [self.scalar(kind) for _ in range(size // (8 if kind == "double" else 4))]
        cut = self.random.choice((0, 0, 0, len(numbers), self.random.randint(0, len(numbers))))
        loose = [self.tag(field.number, WIRE_OF[kind]) + number for number in numbers[:cut]]
        if self.random.random() < 0.5:
            loose = [b"".join(loose)]  # else each of them is shuffled among the other fields
        return [*loose, self.block(field.number, b"".join(numbers[cut:]))]

    def fields(self, kind: Any, depth: int) -> list[bytes]:
        """Encoded fields of a message, known and unknown."""
        known = [one for field in kind.fields for one in self.some(field, depth)]
        return known + self.unknowns(kind, depth)

    def some(self, field: Any, depth: int) -> list[bytes]:
        """Occurrences of one field: none or one, seldom two of a singular one, or many."""
        likely = 0.6 if field.name in TO_TENSORS else 0.25
        if self.random.random() > likely:
            return []
        times = self.random.choice((1, 2, 3) if field.is_repeated else (1, 1, 1, 2))
        return [one for _ in range(times) for one in self.once(field, depth)]

    def once(self, field: Any, depth: int) -> list[bytes]:
        kind = FIELD_TYPES[field.type]
        if kind == "message":
            if self.left <= 0 or depth >= MAX_DEPTH:
                return []
            return [self.block(field.number, self.message(field.message_type, depth + 1))]
        if kind == "text":
            size = self.random.choice((0, 1, 5, 40, 40, 1500))
            text = b"weight" * size if self.random.random() < 0.8 else self.random.randbytes(size)
            return [self.block(field.number, text[:size])]
        if kind == "enum" and self.random.random() < 0.8:
            value = self.random.choice(field.enum_type.values).number
            return [self.tag(field.number, VARINT) + varint(value)]
        if field.is_repeated and self.random.random() < 0.4:
            packed = b"".join(self.scalar(kind) for _ in range(self.random.randint(0, 5)))
            return [self.block(field.number, packed)]
        return [self.tag(field.number, WIRE_OF[kind]) + self.scalar(kind)]

    def scalar(self, kind: str) -> bytes:
        """One number, as it stands behind a tag or in a packed block."""
        if kind in ("float", "double"):
            return self.random.randbytes(4 if kind == "float" else 8)
        value = self.random.choice((0, 1, 300, -1, self.random.getrandbits(64)))
        if self.random.random() < 0.02:
            return b"\x80" * 9 + bytes([self.random.randrange(128)])  # bits past the 64th: dropped
        return varint(value, self.random.choice((1, 1, 1, 1, 4, 10)))

    def unknowns(self, kind: Any, depth: int) -> list[bytes]:
        """Fields that the schema lacks, and known ones in a wire type that is not theirs."""
        made = []
        while self.random.random() < 0.3:
            number = self.random.choice((*(f.number for f in kind.fields), 1000, 19_900, 2**29 - 1))
            made += [self.unknown(number, kind.fields_by_number.get(number), depth)]
        return made

    def unknown(self, number: int, known: Any, depth: int) -> bytes:
        wires = {VARINT, FIXED64, FIXED32, BLOCK, START} if depth < MAX_DEPTH else {VARINT}
        if known is not None:
            wires.discard(WIRE_OF.get(FIELD_TYPES[known.type], BLOCK))
            if known.is_repeated:
                wires.discard(BLOCK)  # packed numbers
        wire = self.random.choice(sorted(wires) or [START])
        if wire == START:
            return self.group(number, depth + 1)
        body = {
            VARINT: lambda: self.scalar("uint64"),
            FIXED64: lambda: self.random.randbytes(8),
            FIXED32: lambda: self.random.randbytes(4),
            BLOCK: lambda: self.counted(self.random.randbytes(self.random.choice((0, 9, 2000)))),
        }[wire]()
        return self.tag(number, wire) + body

    def group(self, number: int, depth: int) -> bytes:
        """A group, at times with as many in it as protobuf reads."""
        body, levels = b"", self.random.choice((0, 0, 0, 1, 5, MAX_DEPTH - depth))
        for _ in range(min(levels, MAX_DEPTH - depth)):
            inner = self.random.choice((1, 5, 9, 19_000))
            body = self.tag(inner, START) + body + self.tag(inner, END)
        body += self.tag(7, BLOCK) + self.counted(b"\xff" * self.random.choice((0, 30, 1100)))
        return self.tag(number, START) + body + self.tag(number, END)

    def tag(self, number: int, wire: int) -> bytes:
        return tag(number, wire, self.width())

    def block(self, number: int, body: bytes) -> bytes:
        return self.tag(number, BLOCK) + self.counted(body)

    def counted(self, body: bytes) -> bytes:
        return varint(len(body), self.width()) + body

    def width(self) -> int:
        """Bytes of a tag or a length: more than it needs, at times; protobuf reads up to five."""
        return self.random.choice((1, 1, 1, 1, 1, 1, 2, 5))

    def shuffled(self, fields: list[bytes]) -> bytes:
        if self.random.random() < 0.7:
            self.random.shuffle(fields)
        return b"".join(fields)
