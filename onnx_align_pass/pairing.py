"""Which tensors of two models are the same one, in two layouts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Set
from typing import Final, NamedTuple

from onnx_align_pass.inspection.inventory import Entry, Inventory
from onnx_align_pass.model.contents import opaque
from onnx_align_pass.spans import FileSpan, MemoryBytes, Source
from onnx_align_pass.tensors import TensorFacts
from onnx_align_pass.transfer.difference import Side
from onnx_align_pass.transfer.open_source import FileIdentity

__all__ = ["Pair", "pairs_of"]

_EMPTY: Final = MemoryBytes(b"")


class Pair(NamedTuple):
    """A tensor of both models."""

    entry: Entry
    facts: TensorFacts
    ours: Side
    theirs: Side
    shared: bool
    """Both are the same range of the same file: equal, and not read."""


def pairs_of(one: Inventory, other: Inventory) -> list[Pair]:
    """Find the tensors that two models have in common: of one place, name, type and shape.

    All others are seen in what the models are besides: there they differ in a field.
    """
    theirs = {entry.slot.place: entry for entry in other.entries}
    same = _same_files(one, other)
    matched = ((entry, theirs.get(entry.slot.place)) for entry in one.entries)
    return [
        _pair(entry, match, entry.facts, one, other, same)
        for entry, match in matched
        if match is not None and entry.facts is not None and _are_alike(entry, match)
    ]


def _are_alike(entry: Entry, match: Entry) -> bool:
    facts, theirs = entry.facts, match.facts
    if facts is None or theirs is None or entry.fault or match.fault:
        return False
    return entry.slot == match.slot and facts.dtype == theirs.dtype and facts.shape == theirs.shape


def _pair(
    entry: Entry,
    match: Entry,
    facts: TensorFacts,
    one: Inventory,
    other: Inventory,
    same: Set[tuple[str | None, str | None]],
) -> Pair:
    ours, theirs = _content(entry, one), _content(match, other)
    shared = (
        isinstance(ours, FileSpan)
        and isinstance(theirs, FileSpan)
        and (ours.offset, ours.length) == (theirs.offset, theirs.length)
        and (entry.home, match.home) in same
    )
    name = entry.slot.name
    return Pair(entry, facts, Side(ours, name, one.files), Side(theirs, name, other.files), shared)


def _same_files(one: Inventory, other: Inventory) -> frozenset[tuple[str | None, str | None]]:
    """Pairs of names, None for the model itself, by which both models mean one file."""
    by_inode: dict[tuple[int, int], list[str | None]] = defaultdict(list)
    for name, file in _files(one):
        by_inode[file.device, file.inode].append(name)
    return frozenset(
        (ours, theirs)
        for theirs, file in _files(other)
        for ours in by_inode.get((file.device, file.inode), ())
    )


def _files(inventory: Inventory) -> Iterator[tuple[str | None, FileIdentity]]:
    yield None, inventory.files.identity(inventory.skeleton.path)
    whole = {entry.home for entry in inventory.entries if entry.fault is None}
    for name, path in inventory.homes.items():
        if name in whole:
            yield name, inventory.files.identity(path)


def _content(entry: Entry, inventory: Inventory) -> Source:
    source = entry.source
    if source is None and entry.facts is not None and not entry.facts.element_bits:
        source = opaque(entry.tensor, inventory.skeleton)
    return _EMPTY if source is None else source
