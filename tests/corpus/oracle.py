"""What a model holds, found in the simplest way: plain protobuf, plain reads, no cleverness.

Two models are the same if and only if `tensors` and `rest` agree on them.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

from .dtypes import BITS, SIX_BITS
from .running import run

__all__ = ["TensorContent", "entries_of", "inlined", "parse", "rest", "run", "tensors", "walk"]

PAYLOAD = (
    "raw_data",
    "float_data",
    "int32_data",
    "int64_data",
    "double_data",
    "uint64_data",
    "external_data",
    "data_location",
)
"""The fields of a TensorProto that say its bytes or where they lie; `string_data` stays."""


FIELDS: dict[int, str] = {
    TensorProto.INT64: "int64_data",
    TensorProto.UINT32: "uint64_data",
    TensorProto.UINT64: "uint64_data",
}
"""The typed field of integer dtypes that is not `int32_data`."""


class TensorContent(NamedTuple):
    """What a tensor is, wherever its bytes lie."""

    name: str | bytes
    """`bytes` when it is not UTF-8."""
    dtype: int
    dims: tuple[int, ...]
    raw: bytes
    """Row-major, little-endian, 2-, 4- and 6-bit elements packed."""


def parse(path: Path) -> onnx.ModelProto:
    """The model as protobuf reads it, its external data left where it is."""
    return onnx.load(path, format="protobuf", load_external_data=False)


def walk(message: Any, place: str = "") -> Iterator[tuple[str, TensorProto]]:
    """Every TensorProto in a protobuf message, with its place, in the order of field numbers."""
    if isinstance(message, TensorProto):
        yield place, message
        return
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        inner = f"{place}.{field.name}" if place else field.name
        if field.is_repeated:
            for index, child in enumerate(value):
                yield from walk(child, f"{inner}[{index}]")
        else:
            yield from walk(value, inner)


def tensors(path: Path) -> dict[str, TensorContent]:
    """Every tensor of the model by its place, such as `graph.node[2].attribute[0].t`.

    Raises:
        ValueError: the bytes that the model declares and those that there are disagree.
        OSError: a data file cannot be read.
    """
    folder = Path(path).parent
    return {place: content(tensor, folder) for place, tensor in walk(parse(path))}


def rest(path: Path) -> bytes:
    """The model without the payload of any tensor that is not of strings, serialised."""
    model = parse(path)
    for _, tensor in walk(model):
        if tensor.data_type != TensorProto.STRING:
            for field in PAYLOAD:
                tensor.ClearField(field)
    return bytes(model.SerializeToString(deterministic=True))


def inlined(path: Path) -> onnx.ModelProto:
    """The model with every tensor that has bytes in `raw_data`: what a runtime should see."""
    model, contents = parse(path), tensors(path)
    for place, tensor in walk(model):
        if tensor.data_type in BITS:
            for field in PAYLOAD:
                tensor.ClearField(field)
            tensor.raw_data = contents[place].raw
    return model


def content(tensor: TensorProto, folder: Path) -> TensorContent:
    """One tensor, its bytes checked against its dtype and dims."""
    dims = tuple(tensor.dims)
    count = math.prod(dims)
    if any(dim < 0 for dim in dims):
        raise ValueError(f"{tensor.name!r} has dims {dims}")
    if tensor.data_type == TensorProto.STRING:
        raw = strings(tensor, count)
    elif tensor.data_type not in BITS:
        raw = unknown_dtype(tensor)
    else:
        nbytes = -(-count * BITS[tensor.data_type] // 8)
        raw = stored(tensor, folder, nbytes)
        if len(raw) != nbytes:
            raise ValueError(f"{tensor.name!r} has {len(raw)} bytes, its dims need {nbytes}")
    return TensorContent(tensor.name, tensor.data_type, dims, raw)


def strings(tensor: TensorProto, count: int) -> bytes:
    """Each string behind its length in eight bytes."""
    if len(tensor.string_data) != count:
        raise ValueError(f"{tensor.name!r} has {len(tensor.string_data)} strings, needs {count}")
    return b"".join(len(text).to_bytes(8, "little") + text for text in tensor.string_data)


def unknown_dtype(tensor: TensorProto) -> bytes:
    """The inline bytes of a tensor whose dtype nobody knows."""
    if tensor.data_location == TensorProto.EXTERNAL:
        raise ValueError(f"{tensor.name!r} is external, of unknown dtype {tensor.data_type}")
    return bytes(tensor.raw_data)


def stored(tensor: TensorProto, folder: Path, nbytes: int) -> bytes:
    """The bytes of a tensor that needs `nbytes`, from wherever they are."""
    if tensor.data_location == TensorProto.EXTERNAL:
        return outside(tensor, folder, nbytes)
    if tensor.HasField("raw_data"):
        return bytes(tensor.raw_data)
    return typed(tensor)


def entries_of(tensor: TensorProto) -> dict[str, str]:
    """The `external_data` of a tensor; of two entries of one key the last one."""
    return {entry.key: entry.value for entry in tensor.external_data}


def outside(tensor: TensorProto, folder: Path, nbytes: int) -> bytes:
    """The bytes of an external tensor; an absent or zero `length` is what its dims need."""
    entries = entries_of(tensor)
    if nbytes == 0:
        return b""
    if int(entries.get("length", "0")) not in (0, nbytes):
        raise ValueError(f"{tensor.name!r} has length {entries['length']}, needs {nbytes}")
    with open(os.path.join(folder, entries["location"]), "rb") as file:
        file.seek(int(entries.get("offset", "0")))
        return file.read(nbytes)


def typed(tensor: TensorProto) -> bytes:
    """The bytes of the typed field of a tensor, by the rules in onnx.proto."""
    dtype, bits = tensor.data_type, BITS[tensor.data_type]
    if dtype in (TensorProto.FLOAT, TensorProto.COMPLEX64):
        return packed(tensor, "float_data")
    if dtype in (TensorProto.DOUBLE, TensorProto.COMPLEX128):
        return packed(tensor, "double_data")
    if dtype in SIX_BITS:
        return numpy_helper._pack_6bit(np.array(tensor.int32_data, np.int32)).tobytes()
    field = FIELDS.get(dtype, "int32_data")
    width = max(bits // 8, 1)
    mask = (1 << 8 * width) - 1
    values = getattr(tensor, field)
    return b"".join((int(value) & mask).to_bytes(width, "little") for value in values)


def packed(tensor: TensorProto, field: str) -> bytes:
    """The floats of a field bit by bit, as protobuf writes them: one tag, one length, the bytes.

    Through Python's floats, a signalling NaN would become a quiet one.
    """
    alone = TensorProto()
    getattr(alone, field).MergeFrom(getattr(tensor, field))
    encoded = alone.SerializeToString()
    width = len(getattr(alone, field)) * (4 if field == "float_data" else 8)
    return bytes(encoded[len(encoded) - width :])
