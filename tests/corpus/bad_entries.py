"""Bad cases: entries that cannot be right, and tensors that contradict themselves."""

from __future__ import annotations

from pathlib import Path

from onnx import TensorProto

from .build import DATA, FLOAT, external, numbers, point, show, showing, tensor, write
from .case import BadBook, Build

__all__ = ["BAD"]

BAD = BadBook()

COUNT = 300
LENGTH = 4 * COUNT
SIZE = 2 * LENGTH
"""Bytes of the data file."""


def entries(offset: str | None = "0", length: str | None = str(LENGTH)) -> Build:
    """A builder of a tensor of LENGTH bytes with this offset and length."""
    pairs = (("location", DATA), ("offset", offset), ("length", length))
    present = [(key, value) for key, value in pairs if value is not None]

    def build(folder: Path) -> Path:
        (folder / DATA).write_bytes(numbers("data", [SIZE // 4]).tobytes())
        good = external(tensor("good", [COUNT]), folder, "good.data")
        return write(folder, showing([good, point(tensor("w", [COUNT]), present)]))

    return build


for _name, _offset in (
    ("negative", "-4"),
    ("minus_one", "-1"),
    ("minus_2_63", str(-(2**63))),
    ("text", "here"),
    ("empty", ""),
    ("float", "0.0"),
    ("exponent", "1e3"),
    ("hexadecimal", "0x10"),
    ("underscore", "1_0"),
    ("full_width", "\uff11\uff12"),
    ("space", " 4 "),
    ("plus", "+4"),
    ("nul", "4\0"),
    ("past_end", str(SIZE + 1)),
    ("at_end", str(SIZE)),
    ("so_that_end_is_past", str(LENGTH + 1)),
    ("2_31", str(2**31)),
    ("2_63_minus_1", str(2**63 - 1)),
    ("2_63", str(2**63)),
    ("2_64", str(2**64)),
    ("2_64_minus_length", str(2**64 - LENGTH)),
    ("of_5000_digits", "9" * 5_000),
):
    BAD.add(f"offset_{_name}", f"An offset of {_offset[:24]!r}.")(entries(offset=_offset))

for _name, _length in (
    ("negative", f"-{LENGTH}"),
    ("text", "all"),
    ("empty", ""),
    ("float", f"{LENGTH}.0"),
    ("hexadecimal", hex(LENGTH)),
    ("underscore", "1_200"),
    ("space", f" {LENGTH}"),
    ("shorter", str(LENGTH - 4)),
    ("shorter_by_one", str(LENGTH - 1)),
    ("longer", str(LENGTH + 4)),
    ("padded", "2048"),
    ("past_end", str(SIZE + 1)),
    ("2_63", str(2**63)),
    ("2_64_plus_length", str(2**64 + LENGTH)),
    ("of_5000_digits", "9" * 5_000),
):
    BAD.add(f"length_{_name}", f"A length of {_length[:24]!r}; its dims need {LENGTH}.")(
        entries(length=_length)
    )

BAD.add("length_absent_and_past_end", "No length, and the file ends too early.")(
    entries(offset=str(LENGTH + 8), length=None)
)


def of(bad: TensorProto, *, raw: bytes | None = None) -> Build:
    """A builder of a model with a good initializer and a bad one, both of them shown."""

    def build(folder: Path) -> Path:
        (folder / DATA).write_bytes(numbers("data", [SIZE // 4]).tobytes() if raw is None else raw)
        graph = showing([tensor("good", [COUNT])])
        graph.initializer.append(bad)
        show(graph, "w", [f"dim_{axis}" for axis in range(len(bad.dims))], bad.data_type)
        return write(folder, graph)

    return build


def outside(dtype: int, *dims: int, length: int | None = LENGTH) -> TensorProto:
    """An external tensor called `w` at offset 0."""
    pairs = [("location", DATA), ("offset", "0")]
    if length is not None:
        pairs.append(("length", str(length)))
    return point(TensorProto(name="w", data_type=dtype, dims=dims), pairs)


def inside(dtype: int, *dims: int, nbytes: int = LENGTH) -> TensorProto:
    """An inline tensor called `w` of that many zero bytes."""
    return TensorProto(name="w", data_type=dtype, dims=dims, raw_data=bytes(nbytes))


def merged(first: TensorProto, second: TensorProto) -> TensorProto:
    """The tensor with the fields of another one added."""
    result = TensorProto()
    result.CopyFrom(first)
    result.MergeFrom(second)
    return result


HUGE = 1 << 62
ENTRIES = outside(FLOAT, COUNT)

for _name, _line, _bad in (
    ("external_without_entries", "EXTERNAL, with no entries.", point(tensor("w", [COUNT]), ())),
    (
        "external_without_location",
        "EXTERNAL, with offset and length but no location.",
        point(tensor("w", [COUNT]), (("offset", "0"), ("length", str(LENGTH)))),
    ),
    (
        "external_and_raw_data",
        "EXTERNAL, with raw_data too.",
        merged(ENTRIES, TensorProto(raw_data=b"\1" * LENGTH)),
    ),
    (
        "external_and_float_data",
        "EXTERNAL, with float_data too.",
        merged(ENTRIES, TensorProto(float_data=[1.0] * COUNT)),
    ),
    (
        "external_and_one_number_of_another_type",
        "EXTERNAL, with a number in a field of another type too: little is enough.",
        merged(ENTRIES, TensorProto(int32_data=[1])),
    ),
    (
        "raw_data_and_float_data",
        "raw_data and float_data together.",
        merged(inside(FLOAT, COUNT), TensorProto(float_data=[1.0] * COUNT)),
    ),
    (
        "float_data_and_int32_data",
        "float_data and int32_data together.",
        TensorProto(name="w", data_type=FLOAT, dims=[9], float_data=[1.0] * 9, int32_data=[1] * 9),
    ),
    (
        "float_in_int64_data",
        "A FLOAT tensor with its numbers in int64_data.",
        TensorProto(name="w", data_type=FLOAT, dims=[COUNT], int64_data=[1] * COUNT),
    ),
    (
        "float_data_too_short",
        "float_data of fewer elements than the dims say.",
        TensorProto(name="w", data_type=FLOAT, dims=[COUNT], float_data=[1.0] * (COUNT - 1)),
    ),
    (
        "no_data_at_all",
        "An inline tensor of 300 elements without any data.",
        TensorProto(name="w", data_type=FLOAT, dims=[COUNT]),
    ),
    ("raw_data_too_short", "raw_data shorter than the dims say.", inside(FLOAT, COUNT + 1)),
    ("raw_data_too_long", "raw_data longer than the dims say.", inside(FLOAT, COUNT - 1)),
    ("raw_data_of_empty", "raw_data in an empty tensor.", inside(FLOAT, 0)),
    (
        "external_string",
        "An external string tensor.",
        outside(TensorProto.STRING, 10, length=100),
    ),
    (
        "string_in_raw_data",
        "A string tensor with raw_data.",
        inside(TensorProto.STRING, 10, nbytes=100),
    ),
    ("external_unknown_dtype", "External, of dtype 99.", outside(99, COUNT)),
    ("external_negative_dtype", "External, of dtype -1.", outside(-1, COUNT)),
    ("external_undefined_dtype", "External, of dtype UNDEFINED.", outside(0, COUNT)),
    (
        "external_absent_dtype",
        "External, without a dtype.",
        point(TensorProto(name="w", dims=[COUNT]), (("location", DATA), ("length", str(LENGTH)))),
    ),
    ("external_negative_dim", "External, with a negative dim.", outside(FLOAT, -COUNT)),
    (
        "external_two_negative_dims",
        "External, with two negative dims whose product is right.",
        outside(FLOAT, -20, -15),
    ),
    ("inline_negative_dim", "Inline, with a negative dim.", inside(FLOAT, -COUNT)),
    (
        "external_dims_overflow",
        "External; the product of its dims is 2**64 + 300, which is 300 in 64 bits.",
        outside(TensorProto.INT8, 4, (2**64 + COUNT) // 4, length=COUNT),
    ),
    (
        "external_dims_huge",
        "External; its dims need 2**124 bytes, and no length is given.",
        outside(FLOAT, HUGE, HUGE, length=None),
    ),
    (
        "external_zero_times_huge",
        "External, empty, with other dims that overflow.",
        outside(FLOAT, HUGE, HUGE, 0, length=0),
    ),
    ("inline_dims_huge", "Inline; its dims need 2**64 bytes.", inside(FLOAT, HUGE)),
    (
        "external_segment",
        "External, a segment of a larger tensor.",
        merged(ENTRIES, TensorProto(segment=TensorProto.Segment(begin=0, end=100))),
    ),
):
    BAD.add(_name, _line)(of(_bad))

BAD.add("data_empty", "The data file has no bytes.")(of(ENTRIES, raw=b""))
BAD.add("data_one_byte_short", "The data file lacks its last byte.")(
    of(ENTRIES, raw=bytes(LENGTH - 1))
)
