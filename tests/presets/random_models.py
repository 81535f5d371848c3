"""Models made at random: sizes at the thresholds of presets, ties, attributes, subgraphs."""

from __future__ import annotations

import random
from pathlib import Path
from typing import NamedTuple

import numpy as np
from onnx import GraphProto, NodeProto, TensorProto, helper

from tests.corpus.build import model_of, point, show

__all__ = ["BITS", "EDGES", "random_model"]

BITS: dict[int, int] = {
    TensorProto.FLOAT: 32,
    TensorProto.FLOAT16: 16,
    TensorProto.BFLOAT16: 16,
    TensorProto.DOUBLE: 64,
    TensorProto.INT8: 8,
    TensorProto.UINT8: 8,
    TensorProto.BOOL: 8,
    TensorProto.INT32: 32,
    TensorProto.INT64: 64,
    TensorProto.INT4: 4,
    TensorProto.UINT4: 4,
}
"""Types that onnxruntime casts to float32, with the bits of an element."""
EDGES = (8, 1024, 4096, 16_384, 65_536, 1 << 20)
"""Bytes at which some preset begins to treat a tensor otherwise."""
DATA = "old data"


class Random(NamedTuple):
    """The source of all that is random in a model."""

    rng: random.Random
    path: Path
    """Of the data file."""
    sizes: tuple[int, ...]
    filled: bool
    """Whether bytes are random too, or a hole."""
    ranges: list[tuple[int, int]]
    """What others may share: offset and length."""


def random_model(
    folder: Path, seed: int, *, sizes: tuple[int, ...] = EDGES, filled: bool = False
) -> Path:
    """Write a model of up to some dozen tensors, each of them an output.

    Args:
        folder: An empty folder.
        seed: The same model for the same one.
        sizes: About as many bytes each tensor has.
        filled: Whether its data file is of random bytes; else it is a hole, which takes no room.
    """
    data = Random(random.Random(seed), folder / DATA, sizes, filled, [])
    data.path.touch()
    graph = helper.make_graph([], "random", [], [])
    for number in range(data.rng.randint(1, 6)):
        tensor = random_tensor(data, f"w{number}")
        graph.initializer.append(tensor)
        show(graph, tensor.name, list(tensor.dims), tensor.data_type)
    for number in range(data.rng.randint(0, 2)):
        tensor = random_tensor(data, f"c{number}")
        graph.node.append(helper.make_node("Constant", [], [tensor.name], value=tensor))
        show(graph, tensor.name, list(tensor.dims), tensor.data_type)
    for number in range(data.rng.randint(0, 2)):
        branch(data, graph, f"if{number}")
    path = folder / "source.onnx"
    path.write_bytes(model_of(graph).SerializeToString())
    return path


def branch(data: Random, graph: GraphProto, name: str) -> None:
    """An If whose branches have a tensor each: an initializer, and a Constant."""
    dtype = data.rng.choice(list(BITS))
    nbytes = random_size(data, dtype)
    chosen = TensorProto(name=f"{name}.cond", data_type=TensorProto.BOOL)
    chosen.raw_data = bytes([data.rng.randint(0, 1)])
    graph.initializer.append(chosen)
    branches = []
    for which in ("then", "else"):
        tensor = random_tensor(data, f"{name}.{which}", dtype, nbytes)
        output = helper.make_tensor_value_info(f"{name}.{which}.out", dtype, tensor.dims)
        nodes: list[NodeProto] = []
        if which == "else":
            nodes = [helper.make_node("Constant", [], [tensor.name], value=tensor)]
        nodes.append(helper.make_node("Identity", [tensor.name], [output.name]))
        inner = helper.make_graph(nodes, which, [], [output])
        inner.initializer.extend([tensor] * (which == "then"))
        branches.append(inner)
    graph.node.append(
        helper.make_node(
            "If", [chosen.name], [name], then_branch=branches[0], else_branch=branches[1]
        )
    )
    show(graph, name, list(tensor.dims), dtype)


def random_size(data: Random, dtype: int) -> int:
    """A size at an edge, or an element less or more, such as the type can have."""
    element = max(1, BITS[dtype] // 8)
    near = data.rng.choice(data.sizes) + data.rng.choice((-1, 0, 0, 1)) * element
    return max(1, near // element) * element


def random_tensor(data: Random, name: str, dtype: int = 0, nbytes: int = 0) -> TensorProto:
    """A tensor of any type, of rank 1 to 3; inline if it is small, sometimes, else in the file."""
    dtype = dtype or data.rng.choice(list(BITS))
    nbytes = nbytes or random_size(data, dtype)
    count = nbytes * 8 // BITS[dtype] - (BITS[dtype] == 4 and data.rng.random() < 0.5)
    tensor = TensorProto(name=name, data_type=dtype)
    tensor.dims.extend([1] * data.rng.randint(0, 2) + [count])
    if nbytes < 100_000 and data.rng.random() < 0.4:
        tensor.raw_data = content(data, dtype, nbytes)
        return tensor
    alike = [one for one in data.ranges if one[1] == nbytes and dtype != TensorProto.BOOL]
    shares = bool(alike) and data.rng.random() < 0.6
    offset = data.rng.choice(alike)[0] if shares else appended(data, dtype, nbytes)
    entries = {"location": DATA, "offset": str(offset), "length": str(nbytes)}
    return point(tensor, entries.items())


def appended(data: Random, dtype: int, nbytes: int) -> int:
    """Put a tensor's bytes behind all others, on no boundary at all."""
    with data.path.open("r+b") as file:
        offset = file.seek(0, 2) + data.rng.randint(0, 9)
        file.truncate(offset + nbytes)
        if data.filled:
            file.seek(offset)
            file.write(content(data, dtype, nbytes))
    data.ranges.append((offset, nbytes))
    return offset


def content(data: Random, dtype: int, nbytes: int) -> bytes:
    """Random bytes of a type; an odd number of 4-bit elements may leave anything in the last."""
    rng = np.random.default_rng(data.rng.randrange(2**32))
    raw = rng.integers(0, 2 if dtype == TensorProto.BOOL else 256, nbytes, np.uint8)
    return raw.tobytes()
