"""Cases: one for each of the 28 dtypes, in every way to store it.

The bytes of typed fields are made here by the rules of onnx.proto, not by onnx.helper.
"""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto

from .build import external, model_of, numbers, showing, write
from .case import Build, CaseBook

__all__ = ["BITS", "CASES"]

CASES = CaseBook()

SIX_BITS = frozenset(
    number
    for name, number in TensorProto.DataType.items()
    if name in ("FLOAT6E2M3", "FLOAT6E3M2")  # from onnx 1.23 on
)

BITS: dict[int, int] = {
    **dict.fromkeys((TensorProto.UINT2, TensorProto.INT2), 2),
    **dict.fromkeys((TensorProto.UINT4, TensorProto.INT4, TensorProto.FLOAT4E2M1), 4),
    **dict.fromkeys(SIX_BITS, 6),
    **dict.fromkeys((TensorProto.UINT8, TensorProto.INT8, TensorProto.BOOL), 8),
    **dict.fromkeys((TensorProto.FLOAT8E4M3FN, TensorProto.FLOAT8E4M3FNUZ), 8),
    **dict.fromkeys((TensorProto.FLOAT8E5M2, TensorProto.FLOAT8E5M2FNUZ), 8),
    TensorProto.FLOAT8E8M0: 8,
    **dict.fromkeys((TensorProto.UINT16, TensorProto.INT16), 16),
    **dict.fromkeys((TensorProto.FLOAT16, TensorProto.BFLOAT16), 16),
    **dict.fromkeys((TensorProto.UINT32, TensorProto.INT32, TensorProto.FLOAT), 32),
    **dict.fromkeys((TensorProto.UINT64, TensorProto.INT64, TensorProto.DOUBLE), 64),
    TensorProto.COMPLEX64: 64,
    TensorProto.COMPLEX128: 128,
}
"""Bits of one element, for every dtype but STRING."""

SIGNED: dict[int, str] = {TensorProto.INT8: "b", TensorProto.INT16: "h"}
LEAST_LARGE = 4_100
"""Bytes: just over a page."""


def raw_bytes(seed: str, dtype: int, count: int) -> bytes:
    """Packed little-endian bytes of `count` elements; what pads the last byte is zero."""
    bits = count * BITS[dtype]
    rng = np.random.default_rng(zlib.crc32(seed.encode()))
    if dtype in (TensorProto.FLOAT, TensorProto.COMPLEX64):
        return numbers(seed, [bits // 32]).tobytes()
    if dtype in (TensorProto.DOUBLE, TensorProto.COMPLEX128):
        return numbers(seed, [bits // 64], np.float64).tobytes()
    codes = rng.integers(0, 2 if dtype == TensorProto.BOOL else 256, -(-bits // 8), np.uint8)
    if bits % 8:
        codes[-1] &= (1 << bits % 8) - 1
    return codes.tobytes()


def typed(inline: TensorProto, count: int) -> TensorProto:
    """The same tensor with its elements in the typed field that onnx.proto assigns."""
    result = TensorProto()
    result.CopyFrom(inline)
    result.ClearField("raw_data")
    raw, dtype = inline.raw_data, inline.data_type
    if dtype in (TensorProto.FLOAT, TensorProto.COMPLEX64):
        result.float_data.extend(struct.unpack(f"<{len(raw) // 4}f", raw))
    elif dtype in (TensorProto.DOUBLE, TensorProto.COMPLEX128):
        result.double_data.extend(struct.unpack(f"<{len(raw) // 8}d", raw))
    elif dtype == TensorProto.INT64:
        result.int64_data.extend(struct.unpack(f"<{count}q", raw))
    elif dtype in (TensorProto.UINT32, TensorProto.UINT64):
        letter = "I" if dtype == TensorProto.UINT32 else "Q"
        result.uint64_data.extend(struct.unpack(f"<{count}{letter}", raw))
    elif BITS[dtype] == 6:
        stream = int.from_bytes(raw, "little")
        result.int32_data.extend(stream >> 6 * index & 0x3F for index in range(count))
    else:
        letter = SIGNED.get(dtype, {16: "H", 32: "i"}.get(BITS[dtype], "B"))
        size = struct.calcsize(letter)
        result.int32_data.extend(struct.unpack(f"<{len(raw) // size}{letter}", raw))
    return result


def stored_every_way(folder: Path, dtype: int) -> list[TensorProto]:
    """Raw, external and typed; over a page, an odd handful, and one element."""
    tensors = []
    for size, count in (
        ("large", -(-LEAST_LARGE * 8 // BITS[dtype]) | 1),
        ("seven", 7),
        ("one", 1),
    ):
        for way in ("raw", "external", "typed"):
            name = f"{way}.{size}"
            made = TensorProto(name=name, data_type=dtype, dims=[count])
            made.raw_data = raw_bytes(name, dtype, count)
            if way == "external":
                made = external(made, folder)
            elif way == "typed":
                made = typed(made, count)
            tensors.append(made)
    return tensors


def dtype_case(dtype: int) -> Build:
    """A builder of a model that stores one dtype in every way."""

    def build(folder: Path) -> Path:
        graph = showing(stored_every_way(folder, dtype))
        versions = {
            "ir_version": min(14, onnx.IR_VERSION),
            "opset": min(28, onnx.defs.onnx_opset_version()),
        }
        return write(folder, model_of(graph, **versions))

    return build


NOT_IN_ONNXRUNTIME = frozenset(
    {
        TensorProto.COMPLEX64,
        TensorProto.COMPLEX128,
        *SIX_BITS,
        TensorProto.FLOAT4E2M1,  # known, but no Cast on the CPU
    }
)

for _dtype in BITS:
    _name = TensorProto.DataType.Name(_dtype)
    CASES.add(
        f"dtype_{_name}",
        f"{_name}: raw, external and typed; over a page, seven elements, one.",
        runs=_dtype not in NOT_IN_ONNXRUNTIME,
    )(dtype_case(_dtype))
