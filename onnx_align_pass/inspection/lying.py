"""How a model's tensors lie, as a layout and a storage policy are held against it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from onnx_align_pass.inspection.inventory import Entry, Inventory
from onnx_align_pass.layout.satisfy import Lying
from onnx_align_pass.model.feeds import feeds_of
from onnx_align_pass.policy import StorageDecision, StoragePolicy
from onnx_align_pass.spans import FileSpan
from onnx_align_pass.tensors import Feed, TensorFacts

__all__ = ["kept_in", "lying_in"]


def lying_in(inventory: Inventory, storage: StoragePolicy | None = None) -> list[Lying]:
    """List the external tensors that can be read and have bytes.

    Args:
        inventory: The model.
        storage: Whose rules may ask for alignments of single tensors.
    """
    ask = _Asker(inventory, storage) if storage is not None and storage.rules else None
    return [
        Lying(
            one.slot.name,
            one.home,
            one.source.offset,
            one.facts.nbytes,
            one.facts.element_bits,
            None if ask is None else ask.decision(one.facts).alignment,
        )
        for one in inventory.entries
        if one.home is not None
        and one.fault is None
        and one.facts is not None
        and isinstance(one.source, FileSpan)
        and one.source.length
    ]


def kept_in(
    inventory: Inventory, storage: StoragePolicy
) -> Iterator[tuple[Entry, TensorFacts, StorageDecision]]:
    """List the tensors that a policy wants in data files, and that are inline."""
    ask = _Asker(inventory, storage)
    for one in inventory.entries:
        if one.facts is None or one.facts.is_external or one.fault is not None:
            continue
        decision = ask.decision(one.facts)
        if decision.external:
            yield one, one.facts, decision


class _Asker:
    """Asks a policy, with what tensors feed where a rule depends on it."""

    def __init__(self, inventory: Inventory, storage: StoragePolicy) -> None:
        self._storage = storage
        self._feeds: Mapping[str, tuple[Feed, ...]] = {}
        if storage.asks_inputs:
            self._feeds = feeds_of(inventory.skeleton.proto)

    def decision(self, facts: TensorFacts) -> StorageDecision:
        if self._feeds:
            facts = facts._replace(feeds=self._feeds.get(facts.slot.place, ()))
        return self._storage.decide(facts)
