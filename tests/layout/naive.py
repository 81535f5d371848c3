"""What a plan must be, said in the plainest way: loops that look at each byte or each pair."""

from __future__ import annotations

from collections.abc import Sequence

from onnx_align_pass.layout.plan import LayoutPlan, Placement
from onnx_align_pass.policy import LayoutPolicy
from onnx_align_pass.tensors import TensorRequest

__all__ = [
    "is_broken",
    "next_multiple",
    "of_file",
    "shared_alignment",
    "tie_of",
    "wanted_alignment",
]


def next_multiple(value: int, alignment: int) -> int:
    """The first multiple at or after `value`, found by counting."""
    while value % alignment:
        value += 1
    return value


def tie_of(request: TensorRequest) -> tuple[object, ...]:
    """Equal for tensors that lie in one range of one data file, and for no others."""
    if request.home is None:
        return (request.facts.slot.place,)
    source = request.source
    return request.home, getattr(source, "offset", None), getattr(source, "length", None)


def wanted_alignment(request: TensorRequest, layout: LayoutPolicy) -> int:
    """The boundary that a tensor asks for, by the words of the policy's fields."""
    if request.decision.alignment is not None:
        return request.decision.alignment
    small = request.facts.nbytes < layout.align_threshold
    wanted = layout.alignment
    if small and layout.small_alignment < layout.alignment:
        wanted = layout.small_alignment
    if small or layout.element_floor:
        floor = {128: 16, 64: 8, 32: 4, 16: 2}.get(request.facts.element_bits, 1)
        wanted = max(wanted, floor)
    return wanted


def shared_alignment(
    request: TensorRequest, requests: Sequence[TensorRequest], layout: LayoutPolicy
) -> int:
    """The largest boundary that any tensor of the same range asks for."""
    return max(
        wanted_alignment(one, layout)
        for one in requests
        if one.decision.external and tie_of(one) == tie_of(request)
    )


def of_file(plan: LayoutPlan, name: str) -> list[Placement]:
    """What is written to one file, in the order of the plan."""
    return [one for one in plan.placements if one.file == name and one.tied_to is None]


def is_broken(plan: LayoutPlan, layout: LayoutPolicy) -> bool:
    """Whether a plan breaks any rule; each pair of placements is looked at."""
    sizes: dict[str, int] = {}
    for file in plan.files:
        if file.name in sizes:
            return True
        sizes[file.name] = file.size
    if set(sizes) != {one.file for one in plan.placements}:
        return True
    return (
        any(is_wrong(one, sizes, layout) for one in plan.placements)
        or any(clash(one, other) for one in plan.placements for other in plan.placements)
        or any(not has_partner(one, plan) for one in plan.placements)
        or any(is_overfull(name, size, plan, layout) for name, size in sizes.items())
        or any(is_ragged(name, size, plan, layout) for name, size in sizes.items())
    )


def is_wrong(one: Placement, sizes: dict[str, int], layout: LayoutPolicy) -> bool:
    wanted = wanted_alignment(one.request, layout)
    return (
        one.offset < 0
        or one.offset % wanted != 0
        or one.offset % one.alignment != 0
        or one.length != one.request.facts.nbytes
        or one.offset + one.length > sizes[one.file]
    )


def clash(one: Placement, other: Placement) -> bool:
    """Two written ranges of one file that share a byte."""
    if one is other or one.file != other.file or one.tied_to or other.tied_to:
        return False
    return max(one.offset, other.offset) < min(one.offset + one.length, other.offset + other.length)


def has_partner(one: Placement, plan: LayoutPlan) -> bool:
    """A tied range is written, by the tensor that it names."""
    return one.tied_to is None or any(
        other.request.facts.slot.place == one.tied_to
        and other.tied_to is None
        and (other.file, other.offset, other.length) == (one.file, one.offset, one.length)
        for other in plan.placements
    )


def is_overfull(name: str, size: int, plan: LayoutPlan, layout: LayoutPolicy) -> bool:
    """A file past the limit holds one range at most, empty ones not counted."""
    limit = layout.max_shard_size_bytes
    ranges = {(one.offset, one.length) for one in plan.placements if one.file == name}
    full = [one for one in ranges if one[1]]
    return limit is not None and size > limit and len(full) > 1


def is_ragged(name: str, size: int, plan: LayoutPlan, layout: LayoutPolicy) -> bool:
    """A file's end, or a tensor's last block, is not whole; or the block holds another tensor."""
    inside = [one for one in plan.placements if one.file == name]
    if layout.pad == "file":
        return any(size % wanted_alignment(one.request, layout) for one in inside)
    return layout.pad == "tensor" and any(
        end > size or any(one.offset < other.offset < end and other.length for other in inside)
        for one in inside
        if one.length
        for end in [next_multiple(one.offset + one.length, wanted_alignment(one.request, layout))]
    )
