"""Make a plan: declaration order, each tensor on its boundary, tied tensors once."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from onnx_align_pass.layout.names import check_names, default_data_name, filled, shard_name
from onnx_align_pass.layout.plan import LayoutPlan, Placement, PlannedFile
from onnx_align_pass.policy import LayoutPolicy
from onnx_align_pass.spans import FileSpan
from onnx_align_pass.tensors import TensorRequest

__all__ = ["make_plan", "round_up"]

Tie: TypeAlias = Hashable


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

    Raises:
        UsageError: Two data files would have one name.
    """
    return _Planner(layout, model_name, keep_homes).plan(requests, notes)


class _Planner:
    """Fills data files in order; runs once a tensor, so the loop is kept short."""

    def __init__(self, layout: LayoutPolicy, model_name: str, keep_homes: bool) -> None:
        self._layout = layout
        self._model_name = model_name
        self._base = default_data_name(layout, model_name)
        self._keep_homes = keep_homes
        self._files: list[_OpenFile] = []
        self._open: dict[str, _OpenFile] = {}

    def plan(self, requests: Sequence[TensorRequest], notes: Sequence[str]) -> LayoutPlan:
        moved = [one for one in requests if one.decision.external]
        ties = [_tie(one) for one in moved]
        placed: list[Placement] = []
        files: list[_OpenFile] = []
        first_of: dict[Tie, int] = {}
        pad_tensor = self._layout.pad == "tensor"
        parted = 0
        for request, tie, alignment in zip(moved, ties, self._alignments(moved, ties), strict=True):
            index = len(placed)
            first = index if tie is None else first_of.setdefault(tie, index)
            if first < index:
                spot = placed[first]
                place = spot.request.facts.slot.place
                placed.append(spot._replace(request=request, padding=0, tied_to=place))
                parted += request.decision.group not in (None, spot.request.decision.group)
                files.append(files[first])
                continue
            nbytes = request.facts.nbytes
            file = self._file(request, nbytes, alignment)
            end = file.end
            offset = (end + alignment - 1) & -alignment
            placed.append(Placement(request, file.base, offset, nbytes, alignment, offset - end))
            files.append(file)
            end = offset + nbytes
            file.end = round_up(end, alignment) if pad_tensor else end
            if alignment > file.alignment:
                file.alignment = alignment
        return LayoutPlan(
            *self._named(placed, files),
            tuple([one for one in requests if not one.decision.external]),
            (*notes, *_parted(parted)),
        )

    def _alignments(
        self, moved: Sequence[TensorRequest], ties: Sequence[Tie | None]
    ) -> Sequence[int]:
        """Alignment of each tensor; tied ones share the largest that any of them needs."""
        uniform = self._layout.uniform_alignment
        if uniform is not None and all(one.decision.alignment is None for one in moved):
            return [uniform] * len(moved)
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

    def _named(
        self, placed: Sequence[Placement], files: Sequence[_OpenFile]
    ) -> tuple[tuple[PlannedFile, ...], tuple[Placement, ...]]:
        """Give files and placements their names, now that the number of shards is known."""
        shards = {base: file.shard for base, file in self._open.items()}
        names = [shard_name(one.base, one.shard, shards[one.base]) for one in self._files]
        check_names(names, self._model_name)
        planned = tuple(
            PlannedFile(name, self._size(one)) for name, one in zip(names, self._files, strict=True)
        )
        if max(shards.values(), default=1) == 1:
            return planned, tuple(placed)
        name_of = {id(one): name for name, one in zip(names, self._files, strict=True)}
        return planned, tuple(
            one._replace(file=name_of[id(file)]) for one, file in zip(placed, files, strict=True)
        )

    def _file(self, request: TensorRequest, nbytes: int, alignment: int) -> _OpenFile:
        """Choose the file that a tensor goes into; a full one gives way to its next shard."""
        group = request.decision.group
        if group is not None:
            base = filled(group, self._model_name)
        else:
            home = request.home if self._keep_homes else None
            # onnx refuses a location with two dots in it: such a file gets the default name.
            base = self._base if home is None or ".." in home else home
        file = self._open.get(base)
        if file is None:
            return self._begin(base, 1)
        limit = self._layout.max_shard_size_bytes
        if limit is None or file.end == 0:
            return file
        end = self._padded(file, round_up(file.end, alignment) + nbytes, alignment)
        return file if end <= limit else self._begin(base, file.shard + 1)

    def _begin(self, base: str, shard: int) -> _OpenFile:
        file = self._open[base] = _OpenFile(base, shard)
        self._files.append(file)
        return file

    def _padded(self, file: _OpenFile, end: int, alignment: int) -> int:
        """Size of a file that would end with a tensor at `end`."""
        if self._layout.pad == "file":
            return round_up(end, max(file.alignment, alignment))
        return round_up(end, alignment) if self._layout.pad == "tensor" else end

    def _size(self, file: _OpenFile) -> int:
        return round_up(file.end, file.alignment) if self._layout.pad == "file" else file.end


def _parted(count: int) -> list[str]:
    if not count:
        return []
    return [
        f"{count:,} x a group that was asked for is not its tensor's: it shares another's bytes"
    ]


def _tie(request: TensorRequest) -> Tie | None:
    """What tied tensors share: what was found equal, a range of a data file, or the very source."""
    if request.tie is not None:
        return request.tie
    source = request.source
    if source is None:
        return None
    if request.home is not None and isinstance(source, FileSpan):
        return request.home, source.offset, source.length
    return "", id(source), source.length
