"""The pass that says of each tensor whether it is external data."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby

import onnx_ir as ir

from onnx_align_pass.passes.collect import Held, facts_of_tensor, require_values, tensors_of
from onnx_align_pass.passes.decide import decide_again
from onnx_align_pass.passes.feeds import feeds_of_model, no_feeds
from onnx_align_pass.passes.tags import Decided, record, tag_of
from onnx_align_pass.policy import StoragePolicy
from onnx_align_pass.registry.spec import describe_pass
from onnx_align_pass.tensors import Feed

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
        require_values(model)

    def call(self, model: ir.Model) -> ir.passes.PassResult:
        """Tag the tensors of `model`; `modified` says whether any tag is news."""
        modified = False
        feeds_of = feeds_of_model(model) if self.storage.asks_inputs else no_feeds
        by_owner = groupby(tensors_of(model), key=lambda held: id(held.holder.owner))
        for _, group in by_owner:
            held = list(group)
            decided = tuple(self._decided(one, feeds_of(one)) for one in held)
            modified |= record(held[0].holder.owner, decided)
        return ir.passes.PassResult(model, modified)

    def _decided(self, held: Held, feeds: tuple[Feed, ...]) -> Decided:
        facts = facts_of_tensor(held, feeds)
        return Decided(facts.dtype, facts.shape, decide_again(held, facts, self.storage))

    def ensures(self, model: ir.Model) -> None:
        """Every tensor has a decision."""
        missing = [one.slot.name for one in tensors_of(model) if not _is_tagged(one)]
        if missing:
            raise ir.passes.PostconditionError(f"tensors without a tag: {', '.join(missing[:5])}")


def _is_tagged(held: Held) -> bool:
    return held.holder.index < len(tag_of(held.holder.owner).decided)
