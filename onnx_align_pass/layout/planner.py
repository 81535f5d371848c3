"""Make a plan: declaration order, each tensor on its boundary, tied tensors once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from onnx_align_pass.layout.names import default_data_name, shard_name
from onnx_align_pass.layout.plan import LayoutPlan, Placement, PlannedFile
from onnx_align_pass.policy import LayoutPolicy
from onnx_align_pass.spans import FileSpan
from onnx_align_pass.tensors import TensorRequest

__all__ = ["make_plan", "round_up"]

Tie = tuple[str, int, int]


def round_up(value: int, alignment: int) -> int:
    """Return the first multiple of `alignment`, a power of two, that is not below `value`."""
    return (value + alignment - 1) & -alignment


@dataclass(slots=True)
class _OpenFile:
    """A data file while it fills."""

    base: str
    """Name before sharding."""
    shard: int
    """1 for the first file of its base."""
    end: int = 0
    alignment: int = 1
    """The largest alignment in it."""


class _Spot(NamedTuple):
    """A placement whose file has no final name yet."""

    file: _OpenFile
    offset: int
    alignment: int
    padding: int
    tied_to: str | None = None


def make_plan(
    requests: Sequence[TensorRequest],
    layout: LayoutPolicy,
    *,
    model_name: str,
    keep_homes: bool = False,
    notes: Sequence[str] = (),
) -> LayoutPlan:
    """Give each external tensor its range.

    Args:
        requests: Every tensor of the model, in declaration order.
        layout: Alignment, padding, shards and names.
        model_name: File name of the model, from which data files are named.
        keep_homes: Each tensor stays in the data file it is in now, by name.
        notes: Carried into the plan.
    """
    return _Planner(layout, default_data_name(layout, model_name), keep_homes).plan(requests, notes)


class _Planner:
    def __init__(self, layout: LayoutPolicy, base: str, keep_homes: bool) -> None:
        self._layout = layout
        self._base = base
        self._keep_homes = keep_homes
        self._files: list[_OpenFile] = []
        self._open: dict[str, _OpenFile] = {}
        self._ties: dict[Tie, tuple[str, _Spot]] = {}

    def plan(self, requests: Sequence[TensorRequest], notes: Sequence[str]) -> LayoutPlan:
        moved = [one for one in requests if one.decision.external]
        ties = [_tie(one) for one in moved]
        alignments = self._alignments(moved, ties)
        spots = [self._spot(*one) for one in zip(moved, ties, alignments, strict=True)]
        names = self._names()
        placements = tuple(
            Placement(
                request,
                names[spot.file.base, spot.file.shard],
                spot.offset,
                request.facts.nbytes,
                spot.alignment,
                spot.padding,
                spot.tied_to,
            )
            for request, spot in zip(moved, spots, strict=True)
        )
        return LayoutPlan(
            tuple(PlannedFile(names[f.base, f.shard], self._size(f)) for f in self._files),
            placements,
            tuple(one for one in requests if not one.decision.external),
            tuple(notes),
        )

    def _alignments(
        self, moved: Sequence[TensorRequest], ties: Sequence[Tie | None]
    ) -> Sequence[int]:
        """Alignment of each tensor; tied ones share the largest that any of them needs."""
        own = [
            self._layout.alignment_of(
                one.facts.nbytes, one.facts.element_bytes, one.decision.alignment
            )
            for one in moved
        ]
        largest: dict[Tie | None, int] = {}
        for tie, alignment in zip(ties, own, strict=True):
            if alignment > largest.get(tie, 0):
                largest[tie] = alignment
        return [
            largest[tie] if tie is not None else one for tie, one in zip(ties, own, strict=True)
        ]

    def _spot(self, request: TensorRequest, tie: Tie | None, alignment: int) -> _Spot:
        if tie is not None and tie in self._ties:
            place, spot = self._ties[tie]
            return _Spot(spot.file, spot.offset, spot.alignment, 0, place)
        nbytes = request.facts.nbytes
        file = self._file(self._base_of(request), nbytes, alignment)
        offset = round_up(file.end, alignment)
        spot = _Spot(file, offset, alignment, offset - file.end)
        file.end = offset + nbytes
        file.alignment = max(file.alignment, alignment)
        if self._layout.pad == "tensor":
            file.end = round_up(file.end, alignment)
        if tie is not None:
            self._ties[tie] = (request.facts.slot.place, spot)
        return spot

    def _base_of(self, request: TensorRequest) -> str:
        if request.decision.group is not None:
            return request.decision.group
        return (request.home if self._keep_homes else None) or self._base

    def _file(self, base: str, nbytes: int, alignment: int) -> _OpenFile:
        file = self._open.get(base)
        limit = self._layout.max_shard_size_bytes
        full = (
            file is not None
            and limit is not None
            and file.end > 0
            and self._padded(round_up(file.end, alignment) + nbytes, alignment) > limit
        )
        if file is None or full:
            file = _OpenFile(base, shard=1 if file is None else file.shard + 1)
            self._open[base] = file
            self._files.append(file)
        return file

    def _padded(self, end: int, alignment: int) -> int:
        return end if self._layout.pad == "none" else round_up(end, alignment)

    def _size(self, file: _OpenFile) -> int:
        return round_up(file.end, file.alignment) if self._layout.pad == "file" else file.end

    def _names(self) -> dict[tuple[str, int], str]:
        shards = {base: file.shard for base, file in self._open.items()}
        return {(f.base, f.shard): shard_name(f.base, f.shard, shards[f.base]) for f in self._files}


def _tie(request: TensorRequest) -> Tie | None:
    """What two tensors must share to be tied: the same bytes of the same data file."""
    source = request.source
    if request.home is None or not isinstance(source, FileSpan):
        return None
    return request.home, source.offset, source.length
