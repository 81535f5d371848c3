"""Cases: which ranges of which data files the tensors have: tied, overlapping, far away, many."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from onnx import GraphProto, TensorProto, helper

from .build import DATA, FLOAT, empty_graph, external, numbers, point, show, showing, tensor, write
from .case import CaseBook

__all__ = ["CASES"]

CASES = CaseBook()

GIB = 1 << 30


def at(
    name: str, dims: list[int], offset: int, dtype: int = FLOAT, nbytes: int | None = None
) -> TensorProto:
    """An external tensor at this offset of the data file; four bytes an element unless told."""
    length = 4 * int(np.prod(dims)) if nbytes is None else nbytes
    entries = (("location", DATA), ("offset", str(offset)), ("length", str(length)))
    return point(TensorProto(name=name, data_type=dtype, dims=dims), entries)


def data_file(folder: Path, count: int = 2_000) -> None:
    """A data file of `count` int32 numbers that are also valid, small float32 numbers."""
    (folder / DATA).write_bytes(numbers("data", [count]).astype("<f4").tobytes())


@CASES.add()
def tied(folder: Path) -> Path:
    """Two initializers on one range, with other dims, and a third one beside them."""
    data_file(folder)
    tensors = [at("a", [30, 20], 4), at("b", [20, 30], 4), at("c", [100], 2404)]
    return write(folder, showing(tensors))


@CASES.add()
def tied_as_constant(folder: Path) -> Path:
    """An initializer and a Constant of the same range."""
    data_file(folder)
    graph = showing([at("a", [600], 4)])
    graph.node.append(helper.make_node("Constant", [], ["b"], value=at("b", [600], 4)))
    show(graph, "b", [600])
    nodes = [graph.node[1], graph.node[0], graph.node[2]]
    del graph.node[:]
    graph.node.extend(nodes)
    return write(folder, graph)


@CASES.add()
def tied_with_other_dtype(folder: Path) -> Path:
    """One range read as float32, as int32 and, in more elements, as uint8."""
    data_file(folder)
    tensors = [
        at("float", [500], 8),
        at("int", [500], 8, TensorProto.INT32),
        at("bytes", [2000], 8, TensorProto.UINT8, 2000),
    ]
    return write(folder, showing(tensors))


@CASES.add()
def overlapping(folder: Path) -> Path:
    """Ranges that overlap in part, and one inside another."""
    data_file(folder)
    tensors = [at("a", [400], 0), at("b", [400], 800), at("inside", [100], 400)]
    return write(folder, showing(tensors))


@CASES.add()
def equal_bytes(folder: Path) -> Path:
    """Equal bytes at different ranges: not tied, but a deduplicator may share them."""
    twin = tensor("twin", [500])
    tensors = []
    for name in ("a", "b", "c"):
        twin.name = name
        tensors.append(external(twin, folder) if name != "c" else twin)
    return write(folder, showing(tensors))


@CASES.add()
def out_of_order(folder: Path) -> Path:
    """Ranges in the reverse of the model's order, with gaps and unused bytes at both ends."""
    data_file(folder)
    tensors = [at("a", [300], 6_000), at("b", [300], 4_000), at("c", [300], 1_000)]
    return write(folder, showing(tensors))


@CASES.add()
def wide_gap(folder: Path) -> Path:
    """A gap of more than 64 KiB before a tensor."""
    tensors = [
        external(tensor("a", [300]), folder, gap=0),
        external(tensor("b", [300]), folder, gap=70_001),
    ]
    return write(folder, showing(tensors))


@CASES.add()
def beyond_4_gib(folder: Path) -> Path:
    """Offsets just under, across and far beyond 4 GiB, in a sparse file of a few blocks."""
    tensors = []
    with (folder / DATA).open("wb") as file:
        for name, offset in (("a", 4 * GIB - 3_000), ("b", 4 * GIB - 600), ("c", 9 * GIB + 7)):
            file.seek(offset)
            file.write(numbers(name, [300]).tobytes())
            tensors.append(at(name, [300], offset))
    return write(folder, showing(tensors))


@CASES.add()
def several_data_files(folder: Path) -> Path:
    """Tensors by turns in three data files, one of them used twice, large and small."""
    names = ("a.data", "b.bin", "c")
    tensors = [
        external(tensor(f"w{index}", [300 if index % 2 else 9]), folder, names[index % 3])
        for index in range(7)
    ]
    return write(folder, showing(tensors))


def concatenating(tensors: list[TensorProto]) -> GraphProto:
    """A graph that joins rank-1 tensors into one output."""
    graph = empty_graph([helper.make_node("Concat", [t.name for t in tensors], ["all"], axis=0)])
    graph.initializer.extend(tensors)
    show(graph, "all", [sum(t.dims[0] for t in tensors)])
    return graph


@CASES.add()
def two_thousand_small(folder: Path) -> Path:
    """2,000 external tensors of 4 to 400 bytes in one file, gaps of 0 to 6 bytes."""
    tensors = [
        external(tensor(f"w{index}", [1 + index % 100]), folder, gap=index % 7)
        for index in range(2_000)
    ]
    return write(folder, concatenating(tensors))


@CASES.add()
def one_file_a_tensor(folder: Path) -> Path:
    """300 data files of one tensor each."""
    tensors = [
        external(tensor(f"w{index}", [1 + index]), folder, f"w{index}", gap=0)
        for index in range(300)
    ]
    return write(folder, concatenating(tensors))


@CASES.add()
def quantised(folder: Path) -> Path:
    """int8 weights with scales and zero points, and a quantization_annotation."""
    graph = empty_graph()
    graph.initializer.append(external(tensor("weight", [64, 32], np.int8), folder))
    graph.initializer.append(external(tensor("scale", [32]), folder))
    graph.initializer.append(tensor("zero", [32], np.int8))
    inputs = ["weight", "scale", "zero"]
    graph.node.append(helper.make_node("DequantizeLinear", inputs, ["real"], axis=1))
    annotation = graph.quantization_annotation.add(tensor_name="weight")
    annotation.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="scale")
    annotation.quant_parameter_tensor_names.add(key="ZERO_POINT_TENSOR", value="zero")
    show(graph, "real", [64, 32])
    return write(folder, graph)
