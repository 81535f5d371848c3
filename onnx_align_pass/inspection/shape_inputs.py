"""External tensors that feed a shape: onnxruntime and onnx's shape inference refuse them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from onnx_align_pass.inspection.inventory import Inventory
from onnx_align_pass.model.feeds import feeds_of

__all__ = ["SHAPE_INPUTS", "ShapeInput", "shape_inputs"]

_REDUCTIONS: Final = (
    *("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean"),
    *("ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare"),
)
SHAPE_INPUTS: Final[dict[str, tuple[int, ...]]] = {
    "AffineGrid": (1,),
    "BlackmanWindow": (0,),
    "CenterCropPad": (1,),
    "Col2Im": (1, 2),
    "ConstantOfShape": (0,),
    "DFT": (1, 2),
    "Expand": (1,),
    "HammingWindow": (0,),
    "HannWindow": (0,),
    "MelWeightMatrix": (0, 1),
    "OneHot": (1,),
    "Pad": (1, 3),
    "Range": (0, 1, 2),
    "Reshape": (1,),
    "Resize": (2, 3),
    "STFT": (1, 3),
    "Slice": (1, 2, 3, 4),
    "Split": (1,),
    "SplitToSequence": (1,),
    "Squeeze": (1,),
    "Tile": (1,),
    "TopK": (1,),
    "Unsqueeze": (1,),
    "Upsample": (1,),
    **dict.fromkeys(_REDUCTIONS, (1,)),
}
"""Inputs whose values shape inference reads, by operator of the default domain.

Measured on the node tests of onnx 1.23: what loads with such an input inline, and not with it
external. `Resize.roi` is not read; `DFT.dft_length` is by onnx's source, and no node test has it.
"""
_DEFAULT_DOMAIN: Final = ("", "ai.onnx")


class ShapeInput(NamedTuple):
    """An external tensor where a shape is read."""

    tensor: int
    op_type: str
    input: int


def shape_inputs(inventory: Inventory) -> Iterator[ShapeInput]:
    """List the external tensors that feed shapes, each once, in declaration order."""
    entries = inventory.entries
    external = [index for index, one in enumerate(entries) if one.facts and one.facts.is_external]
    feeds = feeds_of(inventory.skeleton.proto) if external else {}
    for tensor in external:
        for domain, op_type, index in feeds.get(entries[tensor].slot.place, ()):
            if domain in _DEFAULT_DOMAIN and index in SHAPE_INPUTS.get(op_type, ()):
                yield ShapeInput(tensor, op_type, index)
                break
