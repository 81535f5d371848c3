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
        self._ties: dict[Tie | None, tuple[str, _Spot]] = {}

    def plan(self, requests: Sequence[TensorRequest], notes: Sequence[str]) -> LayoutPlan:
        moved = [one for one in requests if one.decision.external]
        ties = [_tie(one) for one in moved]
        alignments = self._alignments(moved, ties)
        spots = [
            (self._tied(tie) if tie in self._ties else self._spot(request, tie, alignment))
            for request, tie, alignment in zip(moved, ties, alignments, strict=True)
        ]
        names = self._names()
        placements = tuple(
            Placement(
                request,
                names[file.base, file.shard],
                offset,
                request.facts.nbytes,
                alignment,
                padding,
                tied_to,
            )
            for request, (file, offset, alignment, padding, tied_to) in zip(
                moved, spots, strict=True
            )
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
        alignment_of = self._layout.alignment_of
        own = [
            alignment_of(one.facts.nbytes, one.facts.element_bits, one.decision.alignment)
            for one in moved
        ]
        if len(set(own)) <= 1:
            return own
        largest: dict[Tie | None, int] = {}
        for tie, alignment in zip(ties, own, strict=True):
            if alignment > largest.get(tie, 0):
                largest[tie] = alignment
        return [
            largest[tie] if tie is not None else one for tie, one in zip(ties, own, strict=True)
        ]

    def _tied(self, tie: Tie | None) -> _Spot:
        place, spot = self._ties[tie]
        return _Spot(spot.file, spot.offset, spot.alignment, 0, place)

    def _spot(self, request: TensorRequest, tie: Tie | None, alignment: int) -> _Spot:
        nbytes = request.facts.nbytes
        file = self._file(self._base_of(request), nbytes, alignment)
        end = file.end
        offset = (end + alignment - 1) & -alignment
        spot = _Spot(file, offset, alignment, offset - end)
        file.end = offset + nbytes
        if alignment > file.alignment:
            file.alignment = alignment
        if self._layout.pad == "tensor":
            file.end = round_up(file.end, alignment)
        if tie is not None:
            self._ties[tie] = (request.facts.slot.place, spot)
        return spot

    def _base_of(self, request: TensorRequest) -> str:
        if request.decision.group is not None:
            return request.decision.group
        home = request.home if self._keep_homes else None
        # onnx refuses a location with two dots anywhere in it: such a file gets the default name.
        return self._base if home is None or ".." in home else home

    def _file(self, base: str, nbytes: int, alignment: int) -> _OpenFile:
        file = self._open.get(base)
        if file is None:
            return self._begin(base, 1)
        limit = self._layout.max_shard_size_bytes
        if limit is None or file.end == 0:
            return file
        end = self._padded(round_up(file.end, alignment) + nbytes, alignment)
        return file if end <= limit else self._begin(base, file.shard + 1)

    def _begin(self, base: str, shard: int) -> _OpenFile:
        file = self._open[base] = _OpenFile(base, shard)
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
