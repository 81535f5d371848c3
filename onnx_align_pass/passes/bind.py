"""Tensors of an ir.Model put aside for a while, or pointed at new files for good."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import onnx_ir as ir

from onnx_align_pass.passes.collect import Held, tensors_of
from onnx_align_pass.tensors import TensorFacts

__all__ = ["description_of", "rebind", "stand_in", "stood_in", "values_made"]


def stand_in(
    held: Held, facts: TensorFacts, location: str, offset: int | None = None
) -> ir.ExternalTensor:
    """Make an external tensor that says all of a tensor but its bytes."""
    tensor = held.tensor
    assert tensor is not None, "its facts are known"
    return ir.ExternalTensor(
        location,
        offset,
        None if offset is None else facts.nbytes,
        tensor.dtype,
        shape=ir.Shape(facts.shape),
        name=tensor.name or "",
        **description_of(tensor),
    )


def description_of(tensor: ir.TensorProtocol) -> dict[str, Any]:
    """What is said of a tensor, as arguments; tensors of other makers may lack a part."""
    return {
        "doc_string": getattr(tensor, "doc_string", None),
        "metadata_props": dict(getattr(tensor, "metadata_props", None) or {}),
    }


@contextmanager
def stood_in(
    replacements: Iterable[tuple[Held, ir.ExternalTensor]], tensors: Iterable[Held]
) -> Iterator[None]:
    """Hang stand-ins where tensors hang; when done, all is as it was.

    Args:
        replacements: What hangs where meanwhile.
        tensors: All of the model's; onnx-ir gives those it serialises the names of their values,
            which is taken back.
    """
    named = [(one.tensor, one.tensor.name) for one in tensors if one.tensor is not None]
    undo: list[tuple[Held, ir.TensorProtocol | None]] = []
    try:
        for held, tensor in replacements:
            undo.append((held, held.tensor))
            held.holder.put(tensor)
        yield
    finally:
        for held, before in reversed(undo):
            held.holder.restore(before)
        for original, name in named:
            if original.name != name:
                original.name = name


def rebind(model: ir.Model, moved: Mapping[int, ir.TensorProtocol]) -> int:
    """Hang new tensors where old ones hang, wherever that is; return how many changed.

    Args:
        model: The model.
        moved: The new tensors by the `id` of the old ones, which are alive.
    """
    count = 0
    for held in list(tensors_of(model)):
        new = moved.get(id(held.tensor))
        if new is not None:
            held.holder.put(new)
            count += 1
    for value in values_made(model):
        new = moved.get(id(value.const_value))
        if new is not None:
            value.const_value = new
    return count


def values_made(model: ir.Model) -> Iterator[ir.Value]:
    """Inputs, and what nodes make: a fold may have left a tensor there that nothing serialises."""
    parts: list[ir.Graph | ir.Function] = [model.graph, *model.functions.values()]
    for part in parts:
        yield from part.inputs
        for node in part.all_nodes():
            yield from node.outputs
