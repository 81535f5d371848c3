"""Numbers in typed fields become the bytes that onnx makes of them, bit by bit."""

from __future__ import annotations

import random
import struct
from collections.abc import Sequence
from pathlib import Path

import pytest
from onnx import TensorProto, numpy_helper

from onnx_align_pass.errors import TensorError
from onnx_align_pass.model.decode import DecodedTensor, read_span
from onnx_align_pass.model.skeleton import read_skeleton
from onnx_align_pass.model.sources import facts_of, locate
from onnx_align_pass.model.walk import walk
from onnx_align_pass.spans import FileSpan
from tests.corpus import oracle
from tests.corpus.dtypes import BITS, raw_bytes, typed
from tests.corpus.wire import block, tag, unknown, varint_field

from .wild import WEIGHTS

COUNT = 307
FLOAT_FIELDS = {"float_data": 4, "double_data": 8}
NUMBER_OF = {name: TensorProto.DESCRIPTOR.fields_by_name[name].number for name in WEIGHTS}


def field_of(tensor: TensorProto) -> str:
    """The field that holds the tensor's numbers."""
    (name,) = [field.name for field, _ in tensor.ListFields() if field.name in WEIGHTS]
    return name


def numbers_of(tensor: TensorProto) -> tuple[str, list[bytes]]:
    """The field, and each number as it stands in a packed block."""
    name = field_of(tensor)
    alone = TensorProto()
    getattr(alone, name).MergeFrom(getattr(tensor, name))
    if name in FLOAT_FIELDS:
        data, width = oracle.packed(alone, name), FLOAT_FIELDS[name]
        return name, [data[at : at + width] for at in range(0, len(data), width)]
    encoded = [varint_field(1, value) for value in getattr(tensor, name)]
    return name, [one[1:] for one in encoded]


def split(name: str, numbers: Sequence[bytes], how: str) -> list[bytes]:
    """The same numbers in one block, in blocks, one by one, or in both ways."""
    number = NUMBER_OF[name]
    wire = {4: 5, 8: 1}.get(FLOAT_FIELDS.get(name, 0), 0)
    loose = [tag(number, wire) + one for one in numbers]
    third = len(numbers) // 3
    first, second, rest = numbers[:third], numbers[third : 2 * third], numbers[2 * third :]
    return {
        "one block": [block(number, b"".join(numbers))],
        "three blocks": [block(number, b"".join(part)) for part in (first, second, rest)],
        "unpacked": loose,
        "mixed": [
            block(number, b"".join(first)),
            *loose[third : 2 * third],
            block(number, b"".join(rest)),
            block(number, b""),
        ],
    }[how]


def loaded(path: Path, tensor: TensorProto, pieces: Sequence[bytes], cut: int) -> bytes:
    """The bytes that the project finds for a tensor whose numbers stand in these pieces."""
    bare = TensorProto(name="w", data_type=tensor.data_type, dims=tensor.dims)
    between = block(12, b"text") + unknown()
    body = bare.SerializeToString() + between + between.join(pieces) + between
    path.write_bytes(block(7, block(5, body)))
    skeleton = read_skeleton(path, cut_bytes=cut)
    ((slot, found),) = walk(skeleton.proto)
    source = locate(facts_of(slot, found, path), found, skeleton)[0]
    return read_span(source) if isinstance(source, FileSpan) else bytes(source.load())


@pytest.mark.parametrize("how", ["one block", "three blocks", "unpacked", "mixed"])
@pytest.mark.parametrize("dtype", BITS, ids=TensorProto.DataType.Name)
def test_numbers_become_the_bytes_that_onnx_makes_of_them(
    dtype: int, how: str, tmp_path: Path
) -> None:
    raw = raw_bytes("numbers", dtype, COUNT)
    tensor = typed(TensorProto(data_type=dtype, dims=[COUNT], raw_data=raw), COUNT)
    expected = numpy_helper.from_array(numpy_helper.to_array(tensor)).raw_data
    assert expected == raw
    for cut in (0, 1024, 1 << 20):
        pieces = split(*numbers_of(tensor), how)
        assert loaded(tmp_path / "model.onnx", tensor, pieces, cut) == raw


@pytest.mark.parametrize("how", ["one block", "three blocks", "unpacked", "mixed"])
@pytest.mark.parametrize("dtype", ["FLOAT", "DOUBLE", "COMPLEX64", "COMPLEX128"])
def test_no_bit_of_any_nan_is_lost(dtype: str, how: str, tmp_path: Path) -> None:
    kind = TensorProto.DataType.Value(dtype)
    rng = random.Random(1)
    if dtype in ("FLOAT", "COMPLEX64"):
        raw = b"".join(struct.pack("<I", 0x7F80_0001 | rng.getrandbits(22)) for _ in range(400))
        name, width = "float_data", 4
    else:
        bits = (0x7FF0_0000_0000_0001 | rng.getrandbits(51) for _ in range(400))
        raw, name, width = b"".join(struct.pack("<Q", one) for one in bits), "double_data", 8
    tensor = TensorProto(data_type=kind, dims=[len(raw) * 8 // BITS[kind]])
    numbers = [raw[at : at + width] for at in range(0, len(raw), width)]
    for cut in (0, 1 << 20):
        assert loaded(tmp_path / "model.onnx", tensor, split(name, numbers, how), cut) == raw


@pytest.mark.parametrize("cut", [0, 1 << 20])
@pytest.mark.parametrize("dtype", BITS, ids=TensorProto.DataType.Name)
def test_one_number_too_many_is_a_named_error(dtype: int, cut: int, tmp_path: Path) -> None:
    count = COUNT + 8 // min(BITS[dtype], 8) * 4  # some bytes more, of packed types too
    raw = raw_bytes("numbers", dtype, count)
    tensor = typed(TensorProto(data_type=dtype, dims=[count], raw_data=raw), count)
    pieces = split(*numbers_of(tensor), "one block")
    tensor.dims[0] = COUNT
    with pytest.raises(TensorError, match="w"):
        loaded(tmp_path / "model.onnx", tensor, pieces, cut)


@pytest.mark.parametrize("cut", [0, 1 << 20])
def test_numbers_in_a_field_of_another_type_are_a_named_error(cut: int, tmp_path: Path) -> None:
    """float_data of an INT32 tensor has the right size: its floats would become its integers."""
    tensor = TensorProto(data_type=TensorProto.INT32, dims=[COUNT])
    with pytest.raises(TensorError, match="float_data"):
        loaded(tmp_path / "model.onnx", tensor, [block(4, bytes(4 * COUNT))], cut)


@pytest.mark.parametrize("field", [name for name in WEIGHTS if name != "raw_data"])
def test_no_numbers_are_no_bytes(field: str) -> None:
    kind = {"float_data": 1, "double_data": 11, "uint64_data": 13, "int64_data": 7}.get(field, 6)
    assert DecodedTensor("w", Path("m"), (unknown(),), field, kind, (0,), 0).load() == b""


def test_a_value_that_its_type_cannot_hold_is_a_named_error_or_wraps_as_onnx_does() -> None:
    tensor = TensorProto(data_type=TensorProto.INT8, dims=[1], int32_data=[300])
    made = DecodedTensor(
        "w", Path("m"), (tensor.SerializeToString(),), "int32_data", TensorProto.INT8, (1,), 1
    )
    try:
        expected: bytes | None = numpy_helper.to_array(tensor).tobytes()
    except (ValueError, OverflowError):
        expected = None
    if expected is None:
        with pytest.raises(TensorError):
            made.load()
    else:
        assert made.load() == expected
