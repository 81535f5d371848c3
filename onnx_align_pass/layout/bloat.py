"""What a layout costs in bytes, before there is a model: padding over a known set of weights."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import prod
from typing import Final, NamedTuple

from onnx_align_pass.layout.planner import make_plan
from onnx_align_pass.policy import LayoutPolicy, StoragePolicy
from onnx_align_pass.tensors import Slot, SlotKind, TensorFacts, TensorRequest

__all__ = ["REFERENCE", "Bloat", "bloat", "reference_weights"]

REFERENCE: Final = "BERT base in float16"
"""What `reference_weights` are the weights of."""
_WIDE: Final = 768
_LAYERS: Final = 12
_WORDS: Final = 30_522
_PLACES: Final = 512


class Bloat(NamedTuple):
    """What a layout adds to the weights. Numbers are bytes."""

    tensor_bytes: int
    added_bytes: int
    """Padding and headers."""

    @property
    def percent(self) -> float:
        """What is added, in percent of the weights."""
        return 100 * self.added_bytes / self.tensor_bytes if self.tensor_bytes else 0.0


def bloat(storage: StoragePolicy, layout: LayoutPolicy, weights: Iterable[TensorFacts]) -> Bloat:
    """Say what a layout adds to weights that all lie in data files of their own.

    Args:
        storage: Which of them are external.
        layout: How they lie.
        weights: The weights, in declaration order.
    """
    requests = [TensorRequest(one, None, storage.decide(one)) for one in weights]
    plan = make_plan(requests, layout, model_name="model.onnx")
    return Bloat(plan.tensor_bytes, plan.total_bytes - plan.tensor_bytes)


def reference_weights() -> Iterator[TensorFacts]:
    """The 199 weights of BERT base in float16, 109 million numbers: a model of a usual size."""
    shapes = [(_WORDS, _WIDE), (_PLACES, _WIDE), (2, _WIDE), (_WIDE,), (_WIDE,)]
    square, bias = (_WIDE, _WIDE), (_WIDE,)
    layer = [square, bias] * 4 + [bias] * 2
    layer += [(_WIDE, 4 * _WIDE), (4 * _WIDE,), (4 * _WIDE, _WIDE), bias, bias, bias]
    for index, shape in enumerate([*shapes, *layer * _LAYERS, square, bias]):
        slot = Slot(f"graph.initializer[{index}]", f"weight.{index}", SlotKind.INITIALIZER)
        yield TensorFacts(slot, "FLOAT16", shape, 2 * prod(shape), 16, True)
