"""Every tensor of an ir.Model, wherever it hangs, in the order in which onnx-ir serialises them.

The same order, places and names as `model.walk` finds in the file: what is decided for a tensor
here is found again there.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import onnx_ir as ir

from onnx_align_pass.errors import TensorError, UninitializedTensorError
from onnx_align_pass.model.schema import ELEMENT_BITS
from onnx_align_pass.tensors import Feed, Slot, SlotKind, TensorFacts, is_constant, name_of_node

__all__ = ["Held", "Holder", "facts_of_tensor", "require_values", "tensors_of"]

Tensor: TypeAlias = ir.TensorProtocol
Attributes: TypeAlias = MutableMapping[str, ir.Attr]

_TENSOR: Final = ir.AttributeType.TENSOR
_TENSORS: Final = ir.AttributeType.TENSORS
_GRAPH: Final = ir.AttributeType.GRAPH
_GRAPHS: Final = ir.AttributeType.GRAPHS


@dataclass(frozen=True, slots=True)
class Holder:
    """What a tensor hangs on: a value that it initializes, or an attribute."""

    owner: ir.Value | ir.Attr
    """Where tags are kept, in its `meta`."""
    attributes: Attributes | None = None
    """The attributes that `owner` is one of."""
    index: int = 0
    """Position in an attribute of several tensors."""

    def put(self, tensor: Tensor) -> None:
        """Hang another tensor here.

        An attribute is replaced by a new one with the same name, doc string and tags; `owner` stays
        what it was, so a holder serves once.
        """
        if isinstance(self.owner, ir.Value):
            self.owner.const_value = tensor
            return
        assert self.attributes is not None, "an attribute is one of a node's or a function's"
        current = self.attributes[self.owner.name]
        value: Tensor | list[Tensor] = tensor
        if current.type is _TENSORS:
            value = list(current.value)
            value[self.index] = tensor
        replaced = ir.Attr(current.name, current.type, value, doc_string=current.doc_string)
        replaced.meta.update(current.meta)
        self.attributes[current.name] = replaced

    def restore(self, tensor: Tensor | None) -> None:
        """Undo `put`: `tensor` is what hung here when the holder was made."""
        if isinstance(self.owner, ir.Value):
            self.owner.const_value = tensor
        elif self.attributes is not None:
            self.attributes[self.owner.name] = self.owner


@dataclass(frozen=True, slots=True)
class Held:
    """A tensor with its place and what it hangs on."""

    slot: Slot
    tensor: Tensor | None
    """None where an initializer has no value."""
    holder: Holder
    value: ir.Value | None = None
    """As what nodes use it: the initializer, or the output of its Constant."""


def tensors_of(model: ir.Model) -> Iterator[Held]:
    """List every tensor of a model: main graph, subgraphs, functions, attributes."""
    yield from _graph(model.graph, "graph")
    for index, function in enumerate(model.functions.values()):
        place = f"functions[{index}]"
        defaults = function.attributes
        filled = [one for one in defaults.values() if one.value is not None]
        yield from _attributes(filled, defaults, f"{place}.attribute_proto", function.name)
        yield from _nodes(function, place)


def _graph(graph: ir.Graph, place: str) -> Iterator[Held]:
    for index, value in enumerate(list(graph.initializers.values())):
        where = f"{place}.initializer[{index}]"
        slot = Slot(where, value.name or where, SlotKind.INITIALIZER)
        yield Held(slot, value.const_value, Holder(value), value)
    yield from _nodes(graph, place)


def _nodes(nodes: Iterable[ir.Node], place: str) -> Iterator[Held]:
    for index, node in enumerate(nodes):
        if node.attributes:
            outputs = [output.name or "" for output in node.outputs]
            name = name_of_node(node.op_type, node.name or "", outputs)
            where = f"{place}.node[{index}].attribute"
            made = node.outputs[0] if is_constant(node.domain, node.op_type) and outputs else None
            attributes = list(node.attributes.values())
            yield from _attributes(attributes, node.attributes, where, name, made)


def _attributes(
    attributes: Sequence[ir.Attr],
    container: Attributes,
    place: str,
    owner: str,
    made: ir.Value | None = None,
) -> Iterator[Held]:
    for index, attribute in enumerate(attributes):
        kind = attribute.type
        if attribute.is_ref() or kind not in (_TENSOR, _TENSORS, _GRAPH, _GRAPHS):
            continue
        where = f"{place}[{index}]"
        name = f"{owner}.{attribute.name}" if owner else where
        if kind is _TENSOR:
            slot = Slot(f"{where}.t", attribute.value.name or name, SlotKind.ATTRIBUTE)
            yield Held(slot, attribute.value, Holder(attribute, container), made)
        elif kind is _TENSORS:
            for at, tensor in enumerate(attribute.value):
                called = tensor.name or f"{name}[{at}]"
                slot = Slot(f"{where}.tensors[{at}]", called, SlotKind.ATTRIBUTE)
                yield Held(slot, tensor, Holder(attribute, container, at))
        elif kind is _GRAPH:
            yield from _graph(attribute.value, f"{where}.g")
        else:
            for at, graph in enumerate(attribute.value):
                yield from _graph(graph, f"{where}.graphs[{at}]")


def facts_of_tensor(held: Held, feeds: tuple[Feed, ...] = ()) -> TensorFacts:
    """Return what a storage decision may depend on; no byte of the tensor is touched.

    Raises:
        UninitializedTensorError: The initializer has no value.
        TensorError: Its shape is not made of numbers.
    """
    tensor = held.tensor
    if tensor is None:
        raise UninitializedTensorError("the initializer has no value", tensor=held.slot.name)
    dims = tuple(tensor.shape)
    if not all(isinstance(dim, int) for dim in dims):
        raise TensorError(
            "its shape is not made of numbers",
            tensor=held.slot.name,
            found=f"shape {[str(dim) for dim in dims]}",
            hint="A tensor has a fixed shape; build it anew.",
        )
    shape = tuple(int(dim) for dim in dims if isinstance(dim, int))
    bits = ELEMENT_BITS.get(tensor.dtype.value, 0)
    nbytes = (math.prod(shape) * bits + 7) // 8
    external = isinstance(tensor, ir.ExternalTensor) and not _lies_in_model(tensor)
    return TensorFacts(held.slot, tensor.dtype.name, shape, nbytes, bits, external, feeds)


def require_values(model: ir.Model) -> None:
    """Prove that every initializer has a value of a fixed shape; raises as `facts_of_tensor`."""
    for held in tensors_of(model):
        facts_of_tensor(held)


def _lies_in_model(tensor: ir.ExternalTensor) -> bool:
    """Whether a tensor's bytes are inside a model file: for the policy, such a one is inline."""
    known = getattr(tensor, "is_inline", None)  # one that `load` made
    if known is not None:
        return bool(known)
    return os.fspath(tensor.location).lower().endswith(".onnx")
