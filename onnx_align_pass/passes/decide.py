"""One tensor's storage decision: the policy's, under what its tag says."""

from __future__ import annotations

from onnx_align_pass.passes.collect import Held
from onnx_align_pass.passes.tags import tag_of
from onnx_align_pass.policy import StorageDecision, StoragePolicy
from onnx_align_pass.tensors import TensorFacts

__all__ = ["decide", "decide_again"]


def decide_again(held: Held, facts: TensorFacts, storage: StoragePolicy) -> StorageDecision:
    """Ask the policy, whatever was decided before; a user's wishes are laid over its answer."""
    decision = storage.decide(facts)
    if facts.nbytes == 0 or facts.element_bits == 0:
        return decision  # nothing to move, or nothing to size it by
    return tag_of(held.holder.owner).over(decision)


def decide(held: Held, facts: TensorFacts, storage: StoragePolicy) -> StorageDecision:
    """Take the decision that a tagging pass recorded; ask the policy where there is none.

    Nor does one count that was made for a tensor of another type or shape, which hung here then.
    """
    recorded = tag_of(held.holder.owner).decided
    if held.holder.index < len(recorded):
        dtype, shape, decision = recorded[held.holder.index]
        if (dtype, shape) == (facts.dtype, facts.shape):
            return decision
    return decide_again(held, facts, storage)
