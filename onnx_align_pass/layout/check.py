"""Prove a plan: the rules of the layout derived again, by other means than the planner's."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from operator import attrgetter

from onnx_align_pass.errors import PlanError
from onnx_align_pass.layout.check_header import header_violations
from onnx_align_pass.layout.plan import LayoutPlan, Placement
from onnx_align_pass.policy import LayoutPolicy

__all__ = ["check_plan", "violations"]

_RANGE = attrgetter("offset", "length")


def check_plan(plan: LayoutPlan, layout: LayoutPolicy) -> LayoutPlan:
    """Return the plan if it keeps every rule.

    Raises:
        PlanError: It does not: a defect of the planner, found before anything is written.
    """
    for tensor, problem in violations(plan, layout):
        raise PlanError(problem, tensor=tensor, hint="This is a bug; please report it.")
    return plan


def violations(plan: LayoutPlan, layout: LayoutPolicy) -> Iterator[tuple[str, str]]:
    """List what breaks a rule: (tensor, problem)."""
    sizes = {file.name: file.size for file in plan.files}
    if len(sizes) != len(plan.files):
        yield "", "two data files have one name"
    by_file: dict[str, list[Placement]] = defaultdict(list)
    blocks: dict[str, list[int]] = defaultdict(list)
    for one in plan.placements:
        request, file, offset, length, alignment, _, _ = one
        by_file[file].append(one)
        facts = request.facts
        wanted = layout.alignment_of(facts.nbytes, facts.element_bits, request.decision.alignment)
        blocks[file].append(wanted)
        size = sizes.get(file)
        if size is None:
            yield facts.slot.name, f"it lies in {file}, which is not planned"
        if offset % wanted or offset % alignment:
            yield facts.slot.name, f"offset {offset} is not a multiple of {wanted}"
        if length != facts.nbytes:
            yield facts.slot.name, f"length {length} is not its {facts.nbytes} bytes"
        if size is not None and (offset < 0 or offset + length > size):
            yield facts.slot.name, f"bytes {offset} to {offset + length} are not in {file}"
    for file in sizes.keys() - by_file.keys():
        yield "", f"{file} would hold no tensor"
    for file, placements in by_file.items():
        yield from _together(placements)
        if file in sizes:
            yield from _padding(file, sizes[file], placements, blocks[file], layout)
            yield from _sizes(file, sizes[file], placements, layout)
    for planned in plan.files:
        yield from header_violations(planned, by_file[planned.name])
    if layout.max_files is not None and len(plan.files) > layout.max_files:
        yield "", f"there are {len(plan.files)} files, more than {layout.max_files}"


def _sizes(
    file: str, size: int, placements: list[Placement], layout: LayoutPolicy
) -> Iterator[tuple[str, str]]:
    """Past the size of a shard, or what can be read, only for one range; never past the latter."""
    wish, cap = layout.max_shard_size_bytes, layout.max_file_bytes
    if (
        wish is not None
        and size > wish
        and len({_RANGE(one) for one in placements if one.length}) > 1
    ):
        yield "", f"{file} is larger than {wish:,} bytes and holds more than one tensor"
    if cap is not None and size > cap:
        yield "", f"{file} is larger than {cap:,} bytes"


def _padding(
    file: str, size: int, placements: list[Placement], blocks: list[int], layout: LayoutPolicy
) -> Iterator[tuple[str, str]]:
    """A file, or each tensor, has its last block whole and for itself."""
    if layout.pad == "file" and size % max(blocks):
        yield "", f"{file} does not end on a multiple of {max(blocks)}"
    if layout.pad == "tensor":
        starts = sorted({one.offset for one in placements if one.length})
        for one, block in zip(placements, blocks, strict=True):
            after = bisect_right(starts, one.offset)
            free = min([size, *starts[after : after + 1]])
            if one.length and free < -(-(one.offset + one.length) // block) * block:
                yield one.request.facts.slot.name, "its last block is not whole, or not its own"


def _together(placements: list[Placement]) -> Iterator[tuple[str, str]]:
    """No two ranges of a file share a byte, unless they are one range, tied."""
    written = [one for one in placements if one.tied_to is None]
    written.sort(key=_RANGE)
    ends_at, last = 0, ""
    for one in written:
        if not one.length:
            continue  # an empty range shares no byte, wherever it lies
        if one.offset < ends_at:
            yield one.request.facts.slot.name, f"it overlaps {last}"
        ends_at, last = one.offset + one.length, one.request.facts.slot.name
    tied = [one for one in placements if one.tied_to is not None]
    ranges = {(one.request.facts.slot.place, *_RANGE(one)) for one in written} if tied else set()
    for one in tied:
        if (one.tied_to, one.offset, one.length) not in ranges:
            yield one.request.facts.slot.name, "it is tied to a range that nothing writes"
