"""Whether files lie as a layout asks already: what a consumer's rules find in a model as it is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from onnx_align_pass.layout.planner import round_up
from onnx_align_pass.policy import LayoutPolicy

__all__ = ["Breach", "Lying", "breaches"]


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
    by_file: dict[str, list[tuple[Lying, int]]] = defaultdict(list)
    for one in lying:
        wanted = layout.alignment_of(one.nbytes, one.element_bits, one.alignment)
        by_file[one.file].append((one, wanted))
        if one.offset % wanted and one.nbytes:
            yield Breach(
                "misaligned",
                one.name,
                one.file,
                "it does not start on its boundary",
                f"a multiple of {wanted:,}",
                f"offset {one.offset:,}, {one.offset % wanted:,} bytes past one",
            )
    for file, placed in by_file.items():
        if file in sizes:
            yield from _file(file, sizes[file], placed, layout)
    if layout.max_files is not None and len(by_file) > layout.max_files:
        yield Breach(
            "too-many-files",
            None,
            next(iter(by_file)),
            "there are more data files than are read",
            f"at most {layout.max_files:,}",
            f"{len(by_file):,}",
        )


def _file(
    file: str, size: int, placed: list[tuple[Lying, int]], layout: LayoutPolicy
) -> Iterator[Breach]:
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


def _blocks(file: str, size: int, placed: list[tuple[Lying, int]]) -> Iterator[Breach]:
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
