"""The models of the bench: valid, runnable, and built without holding their weights."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import onnx

from onnx_align_pass.bench.files import MODEL_NAME, data_file_of
from onnx_align_pass.bench.graphs import chain_graph, concat_graph, model_of
from onnx_align_pass.bench.inline import write_inline
from onnx_align_pass.bench.sources import FILE
from onnx_align_pass.bench.weights import (
    Weight,
    external_initializers,
    square_weights,
    write_densely,
)

__all__ = [
    "WORKLOADS",
    "Workload",
    "build_gallery",
    "build_inline",
    "build_large",
    "build_small",
]

ODD_WEIGHTS = (
    Weight("odd.bias", (7,)),
    Weight("odd.points", (1000, 3)),
    Weight("odd.halves", (12345, 17), onnx.TensorProto.FLOAT16),
    Weight("odd.bytes", (333, 5), onnx.TensorProto.INT8),
    Weight("odd.indices", (11, 13), onnx.TensorProto.INT64),
)
"""Sizes that leave everything behind them unaligned, from 28 bytes to 410 KiB."""

SMALLEST_SIDE = 16
"""Side of the smallest float32 square that the default storage policy keeps external, 1 KiB."""


def _build_external(
    folder: Path, graph: onnx.GraphProto, weights: Sequence[Weight], *, lead: int = 0
) -> Path:
    path = folder / MODEL_NAME
    data_file = data_file_of(path)
    write_densely(data_file, weights, lead=lead)
    graph.initializer.extend(external_initializers(weights, data_file.name, lead=lead))
    path.write_bytes(model_of(graph).SerializeToString())
    return path


def build_gallery(folder: Path, *, tensors: int = 24, side: int = 1024, odd: bool = False) -> Path:
    """Float32 squares in one dense data file, 96 MiB by default; the `.onnx` is returned.

    Args:
        folder: An existing folder that the model is written to.
        tensors: Number of squares.
        side: Elements along each side of a square.
        odd: Also put tensors of odd sizes and other types between them.
    """
    squares = square_weights(tensors, side)
    others = ODD_WEIGHTS if odd else ()
    pairs = [weight for pair in zip(squares, others, strict=False) for weight in pair]
    weights = [*pairs, *squares[len(others) :], *others[tensors:]]
    return _build_external(folder, chain_graph(squares, others), weights)


def build_large(folder: Path, *, tensors: int = 64, side: int = 2048, lead: int = 100) -> Path:
    """1 GiB by default; `lead` bytes come first in the data file, so no tensor is aligned."""
    weights = square_weights(tensors, side)
    return _build_external(folder, chain_graph(weights), weights, lead=lead)


def build_small(folder: Path, *, tensors: int = 20_000) -> Path:
    """Many external tensors of 400 to 16,000 bytes, spread evenly; 164 MB by default."""
    rows = [25 + index * 7919 % 976 for index in range(tensors)]
    weights = [Weight(f"part.{index}", (count, 4)) for index, count in enumerate(rows)]
    return _build_external(folder, concat_graph(weights), weights)


def build_inline(folder: Path, *, tensors: int = 100, side: int = 2000) -> Path:
    """A `.onnx` with its weights inside, 1.6 GB by default; peers need less than 2 GiB."""
    path = folder / MODEL_NAME
    weights = square_weights(tensors, side)
    write_inline(path, model_of(chain_graph(weights)), weights)
    return path


@dataclass(frozen=True, slots=True)
class Workload:
    """A named model, in any size."""

    name: str
    description: str
    build: Callable[[Path, float], Path]
    """Builds into an existing folder, at a share of the full size in bytes; gives the `.onnx`."""
    form: str = FILE
    """What the `.onnx` is made into before a peer gets it; a name in `FORMS`."""


def _side(full: int, scale: float) -> int:
    return max(SMALLEST_SIDE, round(full * math.sqrt(scale)))


WORKLOADS = {
    workload.name: workload
    for workload in (
        Workload(
            "gallery",
            "24 float32 tensors of 1024 x 1024, external, dense",
            lambda folder, scale: build_gallery(folder, side=_side(1024, scale)),
        ),
        Workload(
            "large",
            "1 GiB in 64 tensors, external, none aligned",
            lambda folder, scale: build_large(folder, side=_side(2048, scale)),
        ),
        Workload(
            "small",
            "20,000 tensors of 0.4 to 16 KB, external, dense",
            lambda folder, scale: build_small(folder, tensors=max(4, round(20_000 * scale))),
        ),
        Workload(
            "inline",
            "1.6 GB in 100 tensors inside the .onnx",
            lambda folder, scale: build_inline(folder, side=_side(2000, scale)),
        ),
        Workload(
            "model in memory",
            "an ir.Model of 1 GiB in 64 arrays, saved",
            lambda folder, scale: build_large(folder, side=_side(2048, scale)),
            "model in memory",
        ),
        Workload(
            "model external",
            "an ir.Model of 1 GiB in 64 external tensors, none aligned, saved",
            lambda folder, scale: build_large(folder, side=_side(2048, scale)),
            "model external",
        ),
    )
}
"""In the order in which they run."""
