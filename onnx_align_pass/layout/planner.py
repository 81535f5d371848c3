"""Make a plan: declaration order, each tensor on its boundary, tied tensors once."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TypeAlias

from onnx_align_pass.layout.limits import (
    check_header_size,
    check_limits,
    notes_of_large,
    shard_limit,
)
from onnx_align_pass.layout.names import (
    check_names,
    data_base,
    default_data_name,
    literal,
    shard_name,
)
from onnx_align_pass.layout.open_file import OpenFile, round_up
from onnx_align_pass.layout.plan import LayoutPlan, Placement, PlannedFile
from onnx_align_pass.layout.safetensors import Header, Keys, is_safetensors
from onnx_align_pass.policy import LayoutPolicy
from onnx_align_pass.spans import FileSpan
from onnx_align_pass.tensors import TensorRequest

__all__ = ["make_plan", "round_up"]

Tie: TypeAlias = Hashable


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
        layout: Alignment, padding, shards, limits and names.
        model_name: File name of the model, from which data files are named.
        keep_homes: Each tensor stays in the data file it is in now, by name.
        notes: Carried into the plan.

    Raises:
        UsageError: Two data files would have one name.
        FileLimitError: A data file would be larger than the layout allows, or there would be more.
    """
    return _Planner(requests, layout, model_name, keep_homes).plan(notes)


class _Planner:
    """Fills data files in order; runs once a tensor, so the loop is kept short."""

    def __init__(
        self,
        requests: Sequence[TensorRequest],
        layout: LayoutPolicy,
        model_name: str,
        keep_homes: bool,
    ) -> None:
        self._requests = requests
        self._layout = layout
        self._limit = shard_limit(layout)
        self._model_name = model_name
        self._keep_homes = keep_homes
        self._keys: Keys | None = None
        self._files: list[OpenFile] = []
        self._open: dict[str, OpenFile] = {}

    def plan(self, notes: Sequence[str]) -> LayoutPlan:
        moved = [one for one in self._requests if one.decision.external]
        bases = self._bases(moved)
        ties, apart = self._ties(moved, bases)
        placed: list[Placement] = []
        files: list[OpenFile] = []
        first_of: dict[Tie, int] = {}
        pad_tensor = self._layout.pad == "tensor"
        parted = 0
        for request, base, tie, alignment in zip(
            moved, bases, ties, self._alignments(moved, ties), strict=True
        ):
            index = len(placed)
            first = index if tie is None else first_of.setdefault(tie, index)
            if first < index:
                spot = placed[first]
                place = spot.request.facts.slot.place
                placed.append(spot._replace(request=request, padding=0, tied_to=place))
                parted += request.decision.group not in (None, spot.request.decision.group)
                files.append(files[first])
                continue
            facts = request.facts
            file = self._file(base, request, alignment)
            end = file.end
            offset = (end + alignment - 1) & -alignment
            nbytes = facts.nbytes
            placed.append(Placement(request, base, offset, nbytes, alignment, offset - end))
            files.append(file)
            if file.header is not None:
                file.header.add(facts, offset)
            end = offset + nbytes
            file.end = round_up(end, alignment) if pad_tensor else end
            if alignment > file.alignment:
                file.alignment = alignment
        planned, placements = self._named(placed, files)
        check_limits(planned, placements, self._layout, in_homes=self._keep_homes)
        return LayoutPlan(
            planned,
            placements,
            tuple([one for one in self._requests if not one.decision.external]),
            (
                *notes,
                *_parted(parted),
                *_apart(apart),
                *notes_of_large(planned, placements, self._layout),
            ),
        )

    def _bases(self, moved: Sequence[TensorRequest]) -> Sequence[str]:
        """Names before sharding of the files that tensors go into."""
        default = default_data_name(self._layout, self._model_name)
        groups = {one.decision.group for one in moved}
        if not self._keep_homes and groups <= {None}:
            return [default] * len(moved)
        named = {group: data_base(group, self._model_name) for group in groups if group is not None}
        return [
            self._home(one, default) if group is None else named[group]
            for one in moved
            for group in [one.decision.group]
        ]

    def _home(self, request: TensorRequest, default: str) -> str:
        home = request.home if self._keep_homes else None
        # onnx refuses a location with two dots in it: such a file gets the default name.
        return default if home is None or ".." in home else literal(home)

    def _ties(
        self, moved: Sequence[TensorRequest], bases: Sequence[str]
    ) -> tuple[Sequence[Tie | None], int]:
        """What each tensor shares with others, and how many have to have bytes of their own.

        In a safetensors file no two entries share a byte.
        """
        ties = [_tie(one) for one in moved]
        alone = {base for base in set(bases) if is_safetensors(base)}
        if not alone:
            return ties, 0
        shared = [tie for tie, base in zip(ties, bases, strict=True) if base in alone and tie]
        kept = [None if base in alone else tie for tie, base in zip(ties, bases, strict=True)]
        return kept, len(shared) - len(set(shared))

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
        self, placed: Sequence[Placement], files: Sequence[OpenFile]
    ) -> tuple[tuple[PlannedFile, ...], tuple[Placement, ...]]:
        """Give files and placements their names, now that the number of shards is known."""
        shards = {base: file.shard for base, file in self._open.items()}
        names = [shard_name(one.base, one.shard, shards[one.base]) for one in self._files]
        # In place there are such files already, and the system tells them apart.
        check_names(names, self._model_name, everywhere=not self._keep_homes)
        planned = tuple(map(_planned, names, self._files))
        if all(
            name == one.base and one.header is None
            for name, one in zip(names, self._files, strict=True)
        ):
            return planned, tuple(placed)
        at = {
            id(one): (file.name, len(file.header))
            for one, file in zip(self._files, planned, strict=True)
        }
        return planned, tuple(
            [
                one._replace(file=name, offset=one.offset + header)
                for one, (name, header) in zip(
                    placed, [at[id(file)] for file in files], strict=True
                )
            ]
        )

    def _file(self, base: str, request: TensorRequest, alignment: int) -> OpenFile:
        """Choose the file that a tensor goes into; a full one gives way to its next shard."""
        file = self._open.get(base)
        if file is None:
            return self._begin(base, 1)
        limit = self._limit
        if limit is None or file.end == 0 or file.size_with(request.facts, alignment) <= limit:
            return file
        return self._begin(base, file.shard + 1)

    def _begin(self, base: str, shard: int) -> OpenFile:
        header = None
        if is_safetensors(base):
            self._keys = self._keys or Keys(self._requests)
            header = Header(self._keys)
        file = self._open[base] = OpenFile(base, shard, self._layout.pad, header)
        self._files.append(file)
        return file


def _planned(name: str, file: OpenFile) -> PlannedFile:
    end, header = file.data_size, file.header
    if header is None:
        return PlannedFile(name, end)
    check_header_size(name, file.header_size, file.alignment)
    text = header.to_bytes(end, file.alignment)
    return PlannedFile(name, len(text) + end, text)


def _apart(count: int) -> list[str]:
    if not count:
        return []
    return [f"{count:,} x shared bytes are written again: in safetensors each tensor has its own"]


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
