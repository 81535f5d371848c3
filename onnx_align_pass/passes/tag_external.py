"""The pass that says of each tensor whether it is external data."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby

import onnx_ir as ir

from onnx_align_pass.passes.collect import Held, facts_of_tensor, tensors_of
from onnx_align_pass.passes.decide import decide_again
from onnx_align_pass.passes.registry import describe_pass
from onnx_align_pass.passes.tags import record, tag_of
from onnx_align_pass.policy import StoragePolicy

__all__ = ["TagExternalDataPass"]


@dataclass(frozen=True)
class TagExternalDataPass(ir.passes.InPlacePass):
    """Tag every tensor with the decision where its bytes shall be, and with the reason.

    Before: every initializer has a value, of a fixed shape. After: every initializer of the main
    graph, of subgraphs and of function bodies, and every attribute tensor, has a tag that holds
    what `StoragePolicy.decide` says, under the wishes that a user has tagged it with
    (`tag_tensor`). No byte of a tensor is read. Run twice, it changes nothing the second time.

    Tag last: after folding, lifting, deduplication and renaming.
    """

    storage: StoragePolicy = field(default_factory=StoragePolicy)
    """Which tensors are external data."""

    def __str__(self) -> str:
        return describe_pass(self)

    def requires(self, model: ir.Model) -> None:
        """Every initializer has a value of a fixed shape."""
        for held in tensors_of(model):
            facts_of_tensor(held)

    def call(self, model: ir.Model) -> ir.passes.PassResult:
        """Tag the tensors of `model`; `modified` says whether any tag is news."""
        modified = False
        by_owner = groupby(tensors_of(model), key=lambda held: id(held.holder.owner))
        for _, group in by_owner:
            held = list(group)
            decisions = tuple(decide_again(one, facts_of_tensor(one), self.storage) for one in held)
            modified |= record(held[0].holder.owner, decisions)
        return ir.passes.PassResult(model, modified)

    def ensures(self, model: ir.Model) -> None:
        """Every tensor has a decision."""
        missing = [one.slot.name for one in tensors_of(model) if not _is_tagged(one)]
        if missing:
            raise ir.passes.PostconditionError(f"tensors without a tag: {', '.join(missing[:5])}")


def _is_tagged(held: Held) -> bool:
    return held.holder.index < len(tag_of(held.holder.owner).decisions)
