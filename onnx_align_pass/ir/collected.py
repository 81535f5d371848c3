"""Every tensor of an ir.Model, with what is known of it and what was decided."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import onnx_ir as ir

from onnx_align_pass.passes.collect import Held, facts_of_tensor, tensors_of
from onnx_align_pass.policy import StorageDecision
from onnx_align_pass.tensors import TensorFacts

__all__ = ["Collected", "Decide", "collect"]

Decide: TypeAlias = Callable[[Held, TensorFacts], StorageDecision]
"""How the storage of a tensor is decided."""


class Collected(NamedTuple):
    """A tensor of the model with the decision about it."""

    held: Held
    facts: TensorFacts
    decision: StorageDecision


def collect(model: ir.Model, decide: Decide) -> tuple[Collected, ...]:
    """Find every tensor and decide about it.

    Raises:
        TensorError: An initializer has no value, or a shape that is not made of numbers.
    """
    found = []
    for held in tensors_of(model):
        facts = facts_of_tensor(held)
        found.append(Collected(held, facts, decide(held, facts)))
    return tuple(found)
