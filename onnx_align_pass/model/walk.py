"""Every TensorProto of a model, wherever it hangs, in declaration order.

Main graph first (initializers, sparse initializers, then the nodes with their subgraphs), then
functions, then training graphs. Tensors are keyed by their place: the wrappers that protobuf hands
out are recycled, so an `id()` means nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import onnx

from onnx_align_pass.errors import BrokenModelError
from onnx_align_pass.tensors import Slot, SlotKind, name_of_node

__all__ = ["MAX_TENSORS", "text_of", "walk"]

Found = tuple[Slot, onnx.TensorProto]

MAX_TENSORS = 1_000_000
"""The largest models have a fifth; each takes a kilobyte of memory or two."""
_LEAST_WITH_TENSOR = 48
"""Bytes; an external tensor's entries alone take as many."""
_WITH_TENSORS = frozenset(
    {
        onnx.AttributeProto.UNDEFINED,  # the type field may be absent; what is set counts
        onnx.AttributeProto.TENSOR,
        onnx.AttributeProto.TENSORS,
        onnx.AttributeProto.GRAPH,
        onnx.AttributeProto.GRAPHS,
        onnx.AttributeProto.SPARSE_TENSOR,
        onnx.AttributeProto.SPARSE_TENSORS,
    }
)


def walk(
    model: onnx.ModelProto, *, thorough: bool = False, file: Path | None = None
) -> Iterator[Found]:
    """List every tensor of a model with its slot.

    Args:
        model: The model.
        thorough: List also those of a few bytes in attributes whose type denies them. No reader
            looks there, and looking takes three times as long as all else.
        file: The model, for errors.

    Raises:
        BrokenModelError: There are more than `MAX_TENSORS`.
    """
    for number, found in enumerate(_tensors(model, thorough=thorough)):
        if number == MAX_TENSORS:
            raise BrokenModelError(
                f"it has over {MAX_TENSORS:,} tensors",
                file=file,
                hint="No exporter makes so many; get the model from somebody you trust.",
            )
        yield found


def _tensors(model: onnx.ModelProto, *, thorough: bool) -> Iterator[Found]:
    least = 0 if thorough else _LEAST_WITH_TENSOR
    yield from _graph(model.graph, "graph", SlotKind.INITIALIZER, least)
    for index, function in enumerate(model.functions):
        place = f"functions[{index}]"
        yield from _attributes(
            function.attribute_proto,
            f"{place}.attribute_proto",
            text_of(function.name),
            SlotKind.INITIALIZER,
            least,
        )
        yield from _nodes(function.node, place, SlotKind.INITIALIZER, least)
    for index, training in enumerate(model.training_info):
        place = f"training_info[{index}]"
        yield from _graph(
            training.initialization, f"{place}.initialization", SlotKind.TRAINING, least
        )
        yield from _graph(training.algorithm, f"{place}.algorithm", SlotKind.TRAINING, least)


def _graph(graph: onnx.GraphProto, place: str, kind: SlotKind, least: int) -> Iterator[Found]:
    prefix = f"{place}.initializer["
    for index, tensor in enumerate(graph.initializer):
        where = f"{prefix}{index}]"
        name = tensor.name
        if isinstance(name, bytes):
            name = text_of(name)
        yield Slot(where, name or where, kind), tensor
    for index, sparse in enumerate(graph.sparse_initializer):
        yield from _sparse(sparse, f"{place}.sparse_initializer[{index}]", "", kind)
    yield from _nodes(graph.node, place, kind, least)


def _nodes(
    nodes: Iterable[onnx.NodeProto], place: str, kind: SlotKind, least: int
) -> Iterator[Found]:
    for index, node in enumerate(nodes):
        if node.attribute:
            where = f"{place}.node[{index}].attribute"
            yield from _attributes(node.attribute, where, _node_name(node), kind, least)


def _node_name(node: onnx.NodeProto) -> str:
    return text_of(name_of_node(node.op_type, node.name, node.output))


def text_of(name: str | bytes) -> str:
    """A name to show: protobuf hands out bytes when it is not UTF-8."""
    return name if isinstance(name, str) else name.decode(errors="backslashreplace")


def _attributes(
    attributes: Iterable[onnx.AttributeProto], place: str, owner: str, kind: SlotKind, least: int
) -> Iterator[Found]:
    own = SlotKind.TRAINING if kind is SlotKind.TRAINING else SlotKind.ATTRIBUTE
    for index, attribute in enumerate(attributes):
        # Most attributes are numbers: one look at type and size spares seven at the fields.
        # A larger one may hold a tensor that its type denies.
        if attribute.type not in _WITH_TENSORS and attribute.ByteSize() < least:
            continue
        where = f"{place}[{index}]"
        name = f"{owner}.{text_of(attribute.name)}" if owner else where
        if attribute.HasField("t"):
            yield Slot(f"{where}.t", text_of(attribute.t.name) or name, own), attribute.t
        for at, tensor in enumerate(attribute.tensors):
            called = text_of(tensor.name) or f"{name}[{at}]"
            yield Slot(f"{where}.tensors[{at}]", called, own), tensor
        if attribute.HasField("sparse_tensor"):
            yield from _sparse(attribute.sparse_tensor, f"{where}.sparse_tensor", name, kind)
        for at, sparse in enumerate(attribute.sparse_tensors):
            yield from _sparse(sparse, f"{where}.sparse_tensors[{at}]", f"{name}[{at}]", kind)
        if attribute.HasField("g"):
            yield from _graph(attribute.g, f"{where}.g", kind, least)
        for at, graph in enumerate(attribute.graphs):
            yield from _graph(graph, f"{where}.graphs[{at}]", kind, least)


def _sparse(
    sparse: onnx.SparseTensorProto, place: str, name: str, kind: SlotKind
) -> Iterator[Found]:
    own = SlotKind.TRAINING if kind is SlotKind.TRAINING else SlotKind.SPARSE
    for part in ("values", "indices"):
        if sparse.HasField(part):
            tensor: onnx.TensorProto = getattr(sparse, part)
            where = f"{place}.{part}"
            called = text_of(tensor.name) or (f"{name}.{part}" if name else where)
            yield Slot(where, called, own), tensor
