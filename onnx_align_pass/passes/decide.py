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
    """Take the decision that a tagging pass recorded; ask the policy where there is none."""
    recorded = tag_of(held.holder.owner).decisions
    if held.holder.index < len(recorded):
        decision = recorded[held.holder.index]
        # The tensor may have been replaced since, by one that cannot be external.
        if not decision.external or (facts.nbytes and facts.element_bits):
            return decision
    return decide_again(held, facts, storage)
