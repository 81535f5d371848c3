"""Small parts of models: repeatable tensors, data files, graphs that show what they hold."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper

__all__ = [
    "DATA",
    "MODEL",
    "empty_graph",
    "external",
    "model_of",
    "numbers",
    "point",
    "show",
    "showing",
    "tensor",
    "write",
]

MODEL = "model.onnx"
DATA = "model.onnx.data"
FLOAT = TensorProto.FLOAT


def numbers(seed: str, dims: Sequence[int], dtype: npt.DTypeLike = np.float32) -> npt.NDArray[Any]:
    """Numbers that depend on `seed` alone: normal for floats, else the whole range of an int8."""
    rng = np.random.default_rng(zlib.crc32(seed.encode()))
    kind = np.dtype(dtype)
    if kind.kind == "f":
        return rng.standard_normal(dims).astype(kind)
    if kind.kind == "b":
        return rng.integers(0, 2, dims).astype(kind)
    low, high = (0, 255) if kind.kind == "u" else (-128, 127)
    return rng.integers(low, high, dims).astype(kind)


def tensor(name: str, dims: Sequence[int], dtype: npt.DTypeLike = np.float32) -> TensorProto:
    """An inline tensor in `raw_data`."""
    return numpy_helper.from_array(numbers(name, dims, dtype), name)


def point(inline: TensorProto, entries: Iterable[tuple[str, str]]) -> TensorProto:
    """`inline` without its bytes, EXTERNAL, with just these `external_data` entries."""
    result = TensorProto()
    result.CopyFrom(inline)
    result.ClearField("raw_data")
    result.data_location = TensorProto.EXTERNAL
    for key, value in entries:
        result.external_data.add(key=key, value=value)
    return result


def external(
    inline: TensorProto, folder: Path, location: str = DATA, *, gap: int = 3
) -> TensorProto:
    """Append the raw bytes to the data file, behind `gap` bytes of 0xEE, and point at them."""
    path = folder / location
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        file.write(b"\xee" * gap)
        offset = file.tell()
        file.write(inline.raw_data)
    length = len(inline.raw_data)
    return point(inline, (("location", location), ("offset", str(offset)), ("length", str(length))))


def show(graph: GraphProto, value: str, dims: Sequence[int | str], elem_type: int = FLOAT) -> None:
    """Make the value an output of the graph: cast to float32, or as it is when not a number."""
    output = f"shown_{len(graph.output)}"
    if elem_type in (TensorProto.STRING, TensorProto.COMPLEX64, TensorProto.COMPLEX128):
        graph.node.append(helper.make_node("Identity", [value], [output]))
        graph.output.append(helper.make_tensor_value_info(output, elem_type, dims))
    else:
        graph.node.append(helper.make_node("Cast", [value], [output], to=FLOAT))
        graph.output.append(helper.make_tensor_value_info(output, FLOAT, dims))


def empty_graph(nodes: Sequence[NodeProto] = ()) -> GraphProto:
    """A graph with these nodes alone."""
    return helper.make_graph(list(nodes), "graph", [], [])


def showing(tensors: Sequence[TensorProto]) -> GraphProto:
    """A graph of these initializers, each of them an output."""
    graph = empty_graph()
    for initializer in tensors:
        graph.initializer.append(initializer)
        show(graph, initializer.name, list(initializer.dims), initializer.data_type)
    return graph


def model_of(graph: GraphProto, *, ir_version: int = 10, opset: int = 21) -> ModelProto:
    """A model of this graph; the custom domain of the corpus is imported too."""
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("odd.custom", 1)]
    return helper.make_model(
        graph, ir_version=ir_version, opset_imports=opsets, producer_name="corpus"
    )


def write(folder: Path, content: GraphProto | ModelProto | bytes, name: str = MODEL) -> Path:
    """Write a graph, a model or its bytes into the folder."""
    if isinstance(content, GraphProto):
        content = model_of(content)
    if isinstance(content, ModelProto):
        content = content.SerializeToString(deterministic=True)
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path
