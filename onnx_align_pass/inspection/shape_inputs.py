"""External tensors that feed a shape: onnxruntime and onnx's shape inference refuse them."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

import onnx

from onnx_align_pass.inspection.inventory import Inventory
from onnx_align_pass.tensors import name_of_node

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
_GRAPHS: Final = frozenset(
    {onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS, onnx.AttributeProto.UNDEFINED}
)

Scope = ChainMap[str, int | None]
"""External tensors by the name of the value that holds them; None for a value that hides one."""


class ShapeInput(NamedTuple):
    """An external tensor where a shape is read."""

    tensor: int
    op_type: str
    input: int
    node: str
    """The name by which a person finds the node."""


def shape_inputs(inventory: Inventory) -> Iterator[ShapeInput]:
    """List the external tensors that feed shapes, in graphs, their bodies and functions."""
    external = {
        entry.slot.place: index
        for index, entry in enumerate(inventory.entries)
        if entry.tensor.data_location == onnx.TensorProto.EXTERNAL
    }
    if not external:
        return
    search = _Search(external)
    model = inventory.skeleton.proto
    yield from search.graph(model.graph, "graph", ChainMap())
    for index, function in enumerate(model.functions):
        yield from search.nodes(function.node, f"functions[{index}]", ChainMap())


class _Search:
    def __init__(self, external: dict[str, int]) -> None:
        self._external = external

    def graph(self, graph: onnx.GraphProto, place: str, outer: Scope) -> Iterator[ShapeInput]:
        own: dict[str, int | None] = dict.fromkeys([one.name for one in graph.input])
        prefix = f"{place}.initializer["
        for index, tensor in enumerate(graph.initializer):
            own[tensor.name] = self._external.get(f"{prefix}{index}]")
        yield from self.nodes(graph.node, place, ChainMap(own, *outer.maps))

    def nodes(
        self, nodes: Iterable[onnx.NodeProto], place: str, scope: Scope
    ) -> Iterator[ShapeInput]:
        for index, node in enumerate(nodes):
            op_type = node.op_type
            if op_type in SHAPE_INPUTS and node.domain in _DEFAULT_DOMAIN:
                yield from _fed(node, op_type, scope)
            if node.attribute:
                where = f"{place}.node[{index}].attribute"
                if op_type == "Constant" and node.output:
                    scope[node.output[0]] = self._external.get(f"{where}[{_value_of(node)}].t")
                yield from self._bodies(node, where, scope)

    def _bodies(self, node: onnx.NodeProto, where: str, scope: Scope) -> Iterator[ShapeInput]:
        for index, attribute in enumerate(node.attribute):
            if attribute.type not in _GRAPHS:
                continue
            place = f"{where}[{index}]"
            if attribute.HasField("g"):
                yield from self.graph(attribute.g, f"{place}.g", scope)
            for at, graph in enumerate(attribute.graphs):
                yield from self.graph(graph, f"{place}.graphs[{at}]", scope)


def _value_of(constant: onnx.NodeProto) -> int:
    """Which attribute of a Constant holds its tensor."""
    named = (index for index, one in enumerate(constant.attribute) if one.name == "value")
    return next(named, 0)


def _fed(node: onnx.NodeProto, op_type: str, scope: Scope) -> Iterator[ShapeInput]:
    inputs = node.input
    for index in SHAPE_INPUTS[op_type]:
        if index < len(inputs):
            tensor = scope.get(inputs[index])
            if tensor is not None:
                name = name_of_node(op_type, node.name, node.output)
                yield ShapeInput(tensor, op_type, index, str(name))
