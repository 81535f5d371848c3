"""Cases: strings, empty tensors, scalars, shapes that feed Reshape, floats that are not numbers."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper

from .build import DATA, FLOAT, empty_graph, external, numbers, point, show, showing, tensor, write
from .case import CaseBook

__all__ = ["CASES"]

CASES = CaseBook()


@CASES.add()
def strings(folder: Path) -> Path:
    """String tensors under and over 256 bytes and 4 KiB, with empty and non-ASCII strings."""
    tensors = []
    for count in (1, 40, 700):
        texts = [f"wörd {index}" * (index % 3) for index in range(count)]
        encoded = np.array([text.encode() for text in texts], object)
        tensors.append(helper.make_tensor(f"s{count}", TensorProto.STRING, [count], encoded))
    return write(folder, showing(tensors))


@CASES.add()
def empty_inline(folder: Path) -> Path:
    """Empty tensors: `raw_data` of no bytes, no data field at all, dims with a 0."""
    raw = tensor("raw", [0])
    bare = TensorProto(name="bare", data_type=FLOAT, dims=[3, 0, 5])
    return write(folder, showing([raw, bare, tensor("full", [300])]))


@CASES.add()
def empty_external(folder: Path) -> Path:
    """External empty tensors of length "0": at the start, in the middle and at the end."""
    tensors = [
        external(tensor(name, dims), folder, gap=0)
        for name, dims in (("first", [0]), ("full", [300]), ("middle", [2, 0]), ("more", [9]))
    ]
    tensors.append(external(tensor("last", [0, 4]), folder, gap=0))
    return write(folder, showing(tensors))


@CASES.add(onnx_load=False)
def empty_external_without_length(folder: Path) -> Path:
    """An external empty tensor without `length`: onnx reads the rest of the file into it."""
    full = external(tensor("full", [300]), folder)
    empty = point(tensor("empty", [2, 0]), (("location", DATA), ("offset", "64")))
    return write(folder, showing([full, empty]))


@CASES.add(runs=False, checker=False)
def unknown_dtypes_inline(folder: Path) -> Path:
    """Inline tensors of dtype 99, UNDEFINED and none: bytes that can only be carried along."""
    graph = showing([tensor("known", [300])])
    for name, dtype in (("new", 99), ("undefined", TensorProto.UNDEFINED), ("none", None)):
        odd = TensorProto(name=name, dims=[300], raw_data=numbers(name, [300]).tobytes())
        if dtype is not None:
            odd.data_type = dtype
        graph.initializer.append(odd)
    return write(folder, graph)


@CASES.add()
def scalars(folder: Path) -> Path:
    """Tensors of rank 0, inline, typed and external."""
    inline = tensor("inline", [])
    field = helper.make_tensor("typed", TensorProto.INT64, [], [7])
    outside = external(tensor("external", [], np.float64), folder)
    return write(folder, showing([inline, field, outside]))


def reshape(shape: TensorProto, folder: Path) -> Path:
    """A model that reshapes an external weight to `shape`, then multiplies it."""
    node = helper.make_node("Reshape", ["weight", "shape"], ["reshaped"])
    graph = empty_graph([node])
    graph.initializer.extend([external(tensor("weight", [24, 16]), folder), shape])
    show(graph, "reshaped", [12, 32])
    return write(folder, graph)


def shape_of(*dims: int) -> TensorProto:
    """A rank-1 int64 tensor called `shape`, in `raw_data`."""
    raw = struct.pack(f"<{len(dims)}q", *dims)
    return TensorProto(name="shape", data_type=TensorProto.INT64, dims=[len(dims)], raw_data=raw)


@CASES.add()
def reshape_to_inline_shape(folder: Path) -> Path:
    """The shape of a Reshape as an inline initializer: it must stay inline."""
    return reshape(shape_of(12, -1), folder)


@CASES.add(runs=False)
def reshape_to_external_shape(folder: Path) -> Path:
    """The shape of a Reshape as an external initializer: onnxruntime refuses the model."""
    return reshape(external(shape_of(12, -1), folder), folder)


@CASES.add()
def float_bits(folder: Path) -> Path:
    """Quiet and signalling NaN with payloads, -0.0, denormals: raw, external, typed."""
    words = (0x7FC00001, 0x7FA00001, 0xFFBFFFFF, 0x80000000, 1, 0x7F800000, 0x3F800000) * 50
    raw = struct.pack(f"<{len(words)}I", *words)
    tensors = []
    for name in ("raw", "external", "typed"):
        made = TensorProto(name=name, data_type=FLOAT, dims=[len(words)])
        if name == "typed":
            made.MergeFromString(b"\x22" + b"\xf8\x0a" + raw)  # 1,400 bytes, bit by bit
        else:
            made.raw_data = raw
        tensors.append(external(made, folder) if name == "external" else made)
    return write(folder, showing(tensors))
