"""Whether files lie as a layout asks already: what a consumer's rules find in a model as it is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, cached_property
from itertools import compress, starmap
from operator import mod
from typing import Final, NamedTuple

from onnx_align_pass.layout.planner import round_up
from onnx_align_pass.policy import LayoutPolicy

__all__ = ["Breach", "Laid", "Lying", "breaches"]


class Lying(NamedTuple):
    """A tensor in a data file, as it lies now. All numbers are bytes, but for `element_bits`."""

    name: str
    file: str
    offset: int
    nbytes: int
    element_bits: int
    alignment: int | None = None
    """What a rule asks for this tensor alone."""


class Breach(NamedTuple):
    """What does not lie as asked."""

    code: str
    tensor: str | None
    file: str
    problem: str
    needed: str
    found: str


def breaches(
    lying: Sequence[Lying], sizes: Mapping[str, int], layout: LayoutPolicy
) -> Iterator[Breach]:
    """List what breaks a layout's rules, tensor by tensor, then file by file.

    Args:
        lying: The external tensors; empty ones do not count.
        sizes: Bytes of each data file.
        layout: What is asked: alignment, padding, the sizes and the number of files.
    """
    return Laid(lying, sizes).breaches(layout)


class Laid:
    """Tensors as they lie, to be held against several layouts: what all ask for is found once.

    Args:
        lying: The external tensors; empty ones do not count.
        sizes: Bytes of each data file.
    """

    def __init__(self, lying: Sequence[Lying], sizes: Mapping[str, int]) -> None:
        self._lying = [one for one in lying if one.nbytes]
        self._sizes = sizes
        self._offsets = [one.offset for one in self._lying]
        self._kinds = [(one.nbytes, one.element_bits, one.alignment) for one in self._lying]
        self._has_rules = any(alignment is not None for _, _, alignment in self._kinds)

    def breaches(self, layout: LayoutPolicy) -> Iterator[Breach]:
        """List what breaks a layout's rules, tensor by tensor, then file by file."""
        wanted = self._wanted(layout)
        for index in self._misplaced(wanted):
            yield _misaligned(self._lying[index], wanted[index])
        yield from self._in_files(wanted, layout)

    def first_breach(self, layout: LayoutPolicy) -> tuple[Breach | None, int]:
        """The first of the breaches, and how many there are."""
        wanted = self._wanted(layout)
        misplaced, others = self._misplaced(wanted), list(self._in_files(wanted, layout))
        count = len(misplaced) + len(others)
        if misplaced:
            return _misaligned(self._lying[misplaced[0]], wanted[misplaced[0]]), count
        return (others[0] if others else None), count

    def _wanted(self, layout: LayoutPolicy) -> Sequence[int]:
        """The alignment that each tensor should have."""
        uniform = layout.uniform_alignment
        if uniform is not None and not self._has_rules:
            return [uniform] * len(self._lying)
        # Of a model's tensors most are as large as others.
        return list(starmap(cache(layout.alignment_of), self._kinds))

    def _misplaced(self, wanted: Sequence[int]) -> list[int]:
        return list(compress(range(len(wanted)), map(mod, self._offsets, wanted)))

    @cached_property
    def _by_file(self) -> dict[str, list[int]]:
        """The tensors of each file, in the order of their offsets."""
        found: dict[str, list[int]] = defaultdict(list)
        for index, one in enumerate(self._lying):
            found[one.file].append(index)
        for tensors in found.values():
            tensors.sort(key=lambda index: (self._offsets[index], self._lying[index].nbytes))
        return found

    def _in_files(self, wanted: Sequence[int], layout: LayoutPolicy) -> Iterator[Breach]:
        if not _asks_of_files(layout):
            return
        for name, tensors in self._by_file.items():
            if name in self._sizes:
                yield from self._in_file(name, tensors, wanted, layout)
        count = len(self._by_file)
        if layout.max_files is not None and count > layout.max_files:
            yield Breach(
                "too-many-files",
                None,
                next(iter(self._by_file)),
                "there are more data files than are read",
                f"at most {layout.max_files:,}",
                f"{count:,}",
            )

    def _in_file(
        self, name: str, tensors: Sequence[int], wanted: Sequence[int], layout: LayoutPolicy
    ) -> Iterator[Breach]:
        size = self._sizes[name]
        if layout.pad == "file":
            largest = max(map(wanted.__getitem__, tensors))
            if size % largest:
                yield _of_size(name, size, "file-not-padded", f"a multiple of {largest:,}")
        if layout.pad == "tensor":
            pairs = [(self._lying[index], wanted[index]) for index in tensors]
            yield from _blocks(name, size, pairs)
        limit, wish = layout.max_file_bytes, layout.max_shard_size_bytes
        if limit is not None and size > limit:
            yield _of_size(name, size, "file-too-large", f"at most {limit:,} bytes")
        if wish is not None and size > wish and not self._is_one_range(tensors):
            yield _of_size(name, size, "shard-too-large", f"at most {wish:,} bytes")

    def _is_one_range(self, tensors: Sequence[int]) -> bool:
        return len({self._lying[index][2:4] for index in tensors}) == 1


_PROBLEMS: Final = {
    "file-not-padded": "the file does not end on a boundary",
    "file-too-large": "the file is larger than can be read",
    "shard-too-large": "the file is larger than a shard, and holds more than one tensor",
}


def _of_size(file: str, size: int, code: str, needed: str) -> Breach:
    return Breach(code, None, file, _PROBLEMS[code], needed, f"{size:,} bytes")


def _misaligned(one: Lying, wanted: int) -> Breach:
    return Breach(
        "misaligned",
        one.name,
        one.file,
        "it does not start on its boundary",
        f"a multiple of {wanted:,}",
        f"offset {one.offset:,}, {one.offset % wanted:,} bytes past one",
    )


def _asks_of_files(layout: LayoutPolicy) -> bool:
    limits = layout.max_file_bytes, layout.max_files, layout.max_shard_size_bytes
    return layout.pad != "none" or any(one is not None for one in limits)


def _blocks(file: str, size: int, placed: Sequence[tuple[Lying, int]]) -> Iterator[Breach]:
    """Each tensor, in their order, has its blocks whole, and for itself."""
    for (one, wanted), after in zip(placed, [*placed[1:], None], strict=True):
        if one.offset % wanted:
            continue
        end = round_up(one.offset + one.nbytes, wanted)
        tied = after is not None and after[0].offset == one.offset
        following = size if after is None or tied else after[0].offset
        if min(size, following) < end and not tied:
            yield Breach(
                "block-not-whole",
                one.name,
                file,
                "its last block is not whole, or not its own",
                f"bytes to {end:,}",
                f"the next tensor, or the end of the file, at {min(size, following):,}",
            )
