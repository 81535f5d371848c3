"""Models of a few kilobytes that name the same bytes many times; all data is a hole in a file."""

from __future__ import annotations

import os
from pathlib import Path

from onnx import GraphProto, TensorProto

from tests.corpus.build import empty_graph, point, write

__all__ = ["MIB", "naming", "overlapping", "tied"]

MIB = 1 << 20
DATA = "w.data"


def naming(
    folder: Path, ranges: list[tuple[int, int]], *, name: str = "model.onnx", location: str = DATA
) -> Path:
    """A model of one tensor of bytes for each (offset, length)."""
    graph: GraphProto = empty_graph()
    for index, (offset, length) in enumerate(ranges):
        bare = TensorProto(name=f"w{index}", data_type=TensorProto.UINT8, dims=[length])
        entries = (("location", location), ("offset", str(offset)), ("length", str(length)))
        graph.initializer.append(point(bare, entries))
    model = write(folder, graph, name)
    size = max(offset + length for offset, length in ranges)
    path = model.parent / location
    if not path.exists():
        path.touch()
        os.truncate(path, size)
    return model


def overlapping(folder: Path, count: int, nbytes: int) -> Path:
    """Tensors of a size, each of which begins a little behind the one before."""
    return naming(folder, [(16 * index, nbytes) for index in range(count)])


def tied(folder: Path, count: int, nbytes: int) -> Path:
    """Tensors that all have one range."""
    return naming(folder, [(0, nbytes)] * count)
