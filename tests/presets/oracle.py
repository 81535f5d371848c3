"""What a plan for a consumer must be, by the numbers of the table: plain loops, pair by pair."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from onnx_align_pass.layout.plan import LayoutPlan

from .table import Row

__all__ = ["Placed", "broken_promises", "placed_in"]


class Placed(NamedTuple):
    """One tensor where it lies. All numbers but the last are bytes."""

    name: str
    file: str
    offset: int
    nbytes: int
    element_bits: int

    @property
    def range(self) -> tuple[str, int, int]:
        """What it shares with those that are tied to it."""
        return self.file, self.offset, self.nbytes


def placed_in(plan: LayoutPlan) -> list[Placed]:
    """The external tensors of a plan."""
    return [
        Placed(facts.slot.name, one.file, one.offset, one.length, facts.element_bits)
        for one in plan.placements
        for facts in [one.request.facts]
    ]


def broken_promises(row: Row, placed: Sequence[Placed], sizes: dict[str, int]) -> list[str]:
    """Say what a consumer would not find as it wants it."""
    found = [f"{one.name} starts off its boundary" for one in placed if is_off(row, one)]
    found += [
        f"{one.name} and {other.name} overlap"
        for one in placed
        for other in placed
        if one.range != other.range and shares_bytes(one, other, one.offset + one.nbytes)
    ]
    if row.pad == "tensor":
        found += [
            f"{one.name} has no blocks of its own"
            for one in placed
            if is_cut(row, one, placed, sizes)
        ]
    for file, size in sizes.items():
        inside = [one for one in placed if one.file == file]
        end = max(one.offset + one.nbytes for one in inside)
        largest = max(row.wanted(one.nbytes, one.element_bits) for one in inside)
        if row.pad == "none" and size != end:
            found.append(f"{file} does not end with its last tensor")
        if row.pad == "file" and not (size % largest == 0 and end <= size < end + largest):
            found.append(f"{file} does not end on a boundary")
        if row.shard is not None and size > row.shard and len({one.range for one in inside}) > 1:
            found.append(f"{file} is larger than a shard")
        if row.cap is not None and size > row.cap:
            found.append(f"{file} is larger than can be read")
    if row.files is not None and len(sizes) > row.files:
        found.append("there are too many files")
    return found


def is_off(row: Row, one: Placed) -> bool:
    return one.offset % row.wanted(one.nbytes, one.element_bits) != 0


def shares_bytes(one: Placed, other: Placed, end: int) -> bool:
    """Whether another tensor has a byte between the start of one and `end`."""
    return (
        one.file == other.file and other.offset < end and one.offset < other.offset + other.nbytes
    )


def is_cut(row: Row, one: Placed, placed: Sequence[Placed], sizes: dict[str, int]) -> bool:
    """Whether its last block is not in the file, or another tensor is in it."""
    end = one.offset + one.nbytes
    while end % row.wanted(one.nbytes, one.element_bits):
        end += 1
    others = [other for other in placed if other.range != one.range]
    return end > sizes[one.file] or any(shares_bytes(one, other, end) for other in others)
