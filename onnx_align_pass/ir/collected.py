"""Every tensor of an ir.Model, with what is known of it and what was decided."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import onnx_ir as ir

from onnx_align_pass.passes.collect import Held, facts_of_tensor, tensors_of
from onnx_align_pass.passes.feeds import feeds_of_model, no_feeds
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


def collect(model: ir.Model, decide: Decide, *, with_feeds: bool = False) -> tuple[Collected, ...]:
    """Find every tensor and decide about it.

    Args:
        model: The model.
        decide: How.
        with_feeds: Whether the decision asks for the op inputs that a tensor goes into.

    Raises:
        TensorError: An initializer has no value, or a shape that is not made of numbers.
    """
    feeds_of = feeds_of_model(model) if with_feeds else no_feeds
    found = []
    for held in tensors_of(model):
        facts = facts_of_tensor(held, feeds_of(held))
        found.append(Collected(held, facts, decide(held, facts)))
    return tuple(found)
