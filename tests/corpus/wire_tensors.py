"""Cases: TensorProtos encoded by hand in ways that protobuf reads but does not write."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from onnx import GraphProto

from . import wire
from .build import DATA, FLOAT, empty_graph, model_of, numbers, show, write
from .case import CaseBook
from .wire import block, fixed32, group, unknown, varint, varint_field

__all__ = ["CASES", "SIZES", "hand_made", "head", "model_bytes", "raw"]

CASES = CaseBook()

SIZES = {"large": 1_500, "small": 5}
"""Elements of the two tensors of each case, float32."""
Encode = Callable[[str, int], bytes]
"""From a name and a number of elements to the bytes of a TensorProto."""


def raw(name: str, count: int) -> bytes:
    """The tensor's bytes; they end in their own count, so that halves differ."""
    return numbers(name, [count]).tobytes()


def head(name: str, count: int) -> bytes:
    """dims, data_type and name."""
    return varint_field(1, count) + varint_field(2, FLOAT) + block(8, name.encode())


def model_bytes(graph: GraphProto, extra: bytes) -> bytes:
    """A model whose graph is `graph` and then `extra`, as protobuf concatenates messages."""
    before = model_of(GraphProto())
    before.ClearField("graph")
    return bytes(before.SerializeToString()) + block(7, graph.SerializeToString() + extra)


def hand_made(folder: Path, encode: Encode) -> Path:
    """A model of a large and a small tensor, each encoded by hand and shown."""
    graph, tensors = empty_graph(), b""
    for name, count in SIZES.items():
        tensors += block(5, encode(name, count))
        show(graph, name, [count])
    return write(folder, model_bytes(graph, tensors))


@CASES.add()
def wire_fields_in_reverse(folder: Path) -> Path:
    """raw_data first, then the dtype, dims and the name last."""
    return hand_made(
        folder,
        lambda name, count: (
            block(9, raw(name, count))
            + varint_field(2, FLOAT)
            + varint_field(1, count)
            + block(8, name.encode())
        ),
    )


@CASES.add()
def wire_raw_data_twice(folder: Path) -> Path:
    """raw_data twice, first longer and then right: the last one wins."""
    return hand_made(
        folder,
        lambda name, count: (
            block(9, raw("other", count + 9)) + head(name, count) + block(9, raw(name, count))
        ),
    )


@CASES.add()
def wire_scalars_twice(folder: Path) -> Path:
    """Dtype, name and doc string twice; data_location EXTERNAL and then DEFAULT."""
    return hand_made(
        folder,
        lambda name, count: (
            varint_field(2, 7)
            + block(8, b"not this")
            + varint_field(14, 1)
            + block(12, b"d" * 2_000)
            + head(name, count)
            + block(9, raw(name, count))
            + varint_field(14, 0)
            + block(12, b"doc")
        ),
    )


@CASES.add()
def wire_float_data_two_blocks(folder: Path) -> Path:
    """float_data packed in two blocks with another field between them: they concatenate."""

    def encode(name: str, count: int) -> bytes:
        data, cut = raw(name, count), 4 * (count // 3)
        return block(4, data[:cut]) + head(name, count) + block(4, data[cut:])

    return hand_made(folder, encode)


@CASES.add()
def wire_float_data_one_block(folder: Path) -> Path:
    """float_data packed in one block, with an empty block on each side."""
    return hand_made(
        folder,
        lambda name, count: (
            block(4, b"") + block(4, raw(name, count)) + block(4, b"") + head(name, count)
        ),
    )


def unpacked(data: bytes) -> bytes:
    """float_data as one field of wire type 5 for each element."""
    return b"".join(fixed32(4, data[at : at + 4]) for at in range(0, len(data), 4))


@CASES.add()
def wire_float_data_unpacked(folder: Path) -> Path:
    """float_data unpacked, as proto2 writes without `packed = true`."""
    return hand_made(folder, lambda name, count: head(name, count) + unpacked(raw(name, count)))


@CASES.add()
def wire_float_data_mixed(folder: Path) -> Path:
    """float_data in a packed block, unpacked elements and a packed block again."""

    def encode(name: str, count: int) -> bytes:
        data, cut = raw(name, count), 4 * (count // 3)
        middle = unpacked(data[cut : 2 * cut])
        return head(name, count) + block(4, data[:cut]) + middle + block(4, data[2 * cut :])

    return hand_made(folder, encode)


@CASES.add()
def wire_int64_data_mixed(folder: Path) -> Path:
    """int64_data packed with wide varints, then unpacked; negative numbers take ten bytes."""

    def encode(name: str, count: int) -> bytes:
        values = [int(value * 1_000) for value in numbers(name, [count])]
        packed = b"".join(varint(value, 3 + index % 8) for index, value in enumerate(values[2:]))
        loose = b"".join(varint_field(7, value) for value in values[:2])
        dtype = varint_field(2, 7)
        return varint_field(1, count) + dtype + block(8, name.encode()) + loose + block(7, packed)

    return hand_made(folder, encode)


@CASES.add()
def wire_dims_packed(folder: Path) -> Path:
    """dims as a packed block, then one more unpacked."""
    return hand_made(
        folder,
        lambda name, count: (
            block(1, varint(1) + varint(count, 10))
            + varint_field(1, 1)
            + varint_field(2, FLOAT)
            + block(8, name.encode())
            + block(9, raw(name, count))
        ),
    )


@CASES.add()
def wire_wide_varints(folder: Path) -> Path:
    """Tags of five bytes, lengths of five and values of ten: not minimal, still valid."""
    return hand_made(
        folder,
        lambda name, count: (
            varint_field(1, count, width=10, tag_width=5)
            + varint_field(2, FLOAT, width=10, tag_width=5)
            + block(8, name.encode(), width=5, tag_width=5)
            + block(9, raw(name, count), width=5, tag_width=5)
        ),
    )


@CASES.add()
def wire_dtype_wider_than_32_bits(folder: Path) -> Path:
    """A data_type of 2**32 + 1: an int32 field keeps the low 32 bits, so it is FLOAT."""
    return hand_made(
        folder,
        lambda name, count: (
            varint_field(1, count)
            + varint_field(2, (1 << 32) + FLOAT)
            + block(8, name.encode())
            + block(9, raw(name, count))
        ),
    )


@CASES.add()
def wire_unknown_in_tensor(folder: Path) -> Path:
    """Unknown fields and nested groups before, between and after the known fields."""
    return hand_made(
        folder,
        lambda name, count: (
            unknown(1)
            + head(name, count)
            + group(19_999, block(9, b"raw_data's number, in a group") + group(9, unknown(2)))
            + block(9, raw(name, count))
            + unknown(3)
        ),
    )


@CASES.add()
def wire_known_field_of_wrong_type(folder: Path) -> Path:
    """raw_data as a varint, dims as fixed64, name as a group: unknown fields, all of them."""
    return hand_made(
        folder,
        lambda name, count: (
            head(name, count)
            + block(9, raw(name, count))
            + varint_field(9, 77)
            + wire.fixed64(1, 3)
            + group(8, block(8, b"no name"))
            + varint_field(4, 5)
        ),
    )


@CASES.add()
def wire_external_split(folder: Path) -> Path:
    """External entries apart from each other; a key without a value; value before key."""
    content = b"\xee" * 3
    graph, tensors = empty_graph(), b""
    for name, count in SIZES.items():
        offset, data = len(content), raw(name, count)
        content += data
        tensors += block(
            5,
            block(13, block(1, b"location") + block(2, DATA.encode()))
            + head(name, count)
            + varint_field(14, 1)
            + block(13, block(2, b"%d" % offset) + block(1, b"offset"))
            + block(13, block(1, b"not this") + block(1, b"length") + block(2, b"%d" % len(data))),
        )
        show(graph, name, [count])
    (folder / DATA).write_bytes(content)
    return write(folder, model_bytes(graph, tensors))
