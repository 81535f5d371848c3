"""Whether files lie as a layout asks already: what a consumer's rules find in a model as it is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from onnx_align_pass.layout.planner import round_up
from onnx_align_pass.policy import LayoutPolicy

__all__ = ["Breach", "Lying", "breaches", "first_breach"]


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
        lying: The external tensors.
        sizes: Bytes of each data file.
        layout: What is asked: alignment, padding, the sizes and the number of files.
    """
    placed = _placed(lying, layout)
    for one, wanted in _misplaced(placed):
        yield _misaligned(one, wanted)
    yield from _files(placed, sizes, layout)


def first_breach(
    lying: Sequence[Lying], sizes: Mapping[str, int], layout: LayoutPolicy
) -> tuple[Breach | None, int]:
    """The first of the breaches, and how many there are; the sentences of the rest are not made."""
    placed = _placed(lying, layout)
    misplaced, others = _misplaced(placed), list(_files(placed, sizes, layout))
    count = len(misplaced) + len(others)
    if misplaced:
        return _misaligned(*misplaced[0]), count
    return (others[0] if others else None), count


_Placed: TypeAlias = tuple[Lying, int]
"""A tensor, and the alignment that it should have."""


def _placed(lying: Sequence[Lying], layout: LayoutPolicy) -> list[_Placed]:
    uniform = layout.uniform_alignment
    if uniform is not None and all(one.alignment is None for one in lying):
        return [(one, uniform) for one in lying]
    alignment_of = layout.alignment_of
    return [(one, alignment_of(one.nbytes, one.element_bits, one.alignment)) for one in lying]


def _misplaced(placed: Sequence[_Placed]) -> list[_Placed]:
    return [pair for pair in placed if pair[0].offset % pair[1] and pair[0].nbytes]


def _misaligned(one: Lying, wanted: int) -> Breach:
    return Breach(
        "misaligned",
        one.name,
        one.file,
        "it does not start on its boundary",
        f"a multiple of {wanted:,}",
        f"offset {one.offset:,}, {one.offset % wanted:,} bytes past one",
    )


def _files(
    placed: Sequence[_Placed], sizes: Mapping[str, int], layout: LayoutPolicy
) -> Iterator[Breach]:
    if not _asks_of_files(layout):
        return
    by_file: dict[str, list[_Placed]] = defaultdict(list)
    for pair in placed:
        by_file[pair[0].file].append(pair)
    for file, pairs in by_file.items():
        if file in sizes:
            yield from _file(file, sizes[file], pairs, layout)
    if layout.max_files is not None and len(by_file) > layout.max_files:
        yield Breach(
            "too-many-files",
            None,
            next(iter(by_file)),
            "there are more data files than are read",
            f"at most {layout.max_files:,}",
            f"{len(by_file):,}",
        )


def _asks_of_files(layout: LayoutPolicy) -> bool:
    limits = layout.max_file_bytes, layout.max_files, layout.max_shard_size_bytes
    return layout.pad != "none" or any(one is not None for one in limits)


def _file(file: str, size: int, placed: list[_Placed], layout: LayoutPolicy) -> Iterator[Breach]:
    if layout.pad == "file":
        largest = max(wanted for _, wanted in placed)
        if size % largest:
            yield Breach(
                "file-not-padded",
                None,
                file,
                "the file does not end on a boundary",
                f"a multiple of {largest:,}",
                f"{size:,} bytes",
            )
    if layout.pad == "tensor":
        yield from _blocks(file, size, placed)
    limit = layout.max_file_bytes
    if limit is not None and size > limit:
        yield Breach(
            "file-too-large",
            None,
            file,
            "the file is larger than can be read",
            f"at most {limit:,} bytes",
            f"{size:,} bytes",
        )
    wish = layout.max_shard_size_bytes
    if (
        wish is not None
        and size > wish
        and len({(one.offset, one.nbytes) for one, _ in placed}) > 1
    ):
        yield Breach(
            "shard-too-large",
            None,
            file,
            "the file is larger than a shard, and holds more than one tensor",
            f"at most {wish:,} bytes",
            f"{size:,} bytes",
        )


def _blocks(file: str, size: int, placed: list[_Placed]) -> Iterator[Breach]:
    """Each tensor has its blocks whole, and for itself."""
    ordered = sorted(placed, key=lambda one: (one[0].offset, one[0].nbytes))
    for (one, wanted), after in zip(ordered, [*ordered[1:], None], strict=True):
        if not one.nbytes or one.offset % wanted:
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
