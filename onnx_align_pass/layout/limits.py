"""What a consumer can hold: refused where a plan is past it, noted where it is past a wish."""

from __future__ import annotations

from collections.abc import Sequence

from onnx_align_pass.errors import FileLimitError
from onnx_align_pass.layout.plan import Placement, PlannedFile
from onnx_align_pass.layout.safetensors import HEADER_MAX
from onnx_align_pass.policy import LayoutPolicy

__all__ = ["check_header_size", "check_limits", "notes_of_large", "shard_limit"]


_NAMED = 5
"""Tensors that are named, of many that are alike."""


def shard_limit(layout: LayoutPolicy) -> int | None:
    """Bytes past which a data file does not grow while another one can be begun."""
    asked = (layout.max_shard_size_bytes, layout.max_file_bytes)
    return min((limit for limit in asked if limit is not None), default=None)


def check_limits(
    files: Sequence[PlannedFile],
    placements: Sequence[Placement],
    layout: LayoutPolicy,
    *,
    in_homes: bool,
) -> None:
    """Prove that the consumer reads files as large, and as many of them.

    Args:
        files: The data files.
        placements: What is in them.
        layout: The limits.
        in_homes: Whether each tensor stays in the file that it is in.

    Raises:
        FileLimitError: It does not.
    """
    limit = layout.max_file_bytes
    for file, largest in _larger_than(limit, files, placements):
        raise FileLimitError(
            "the data file would be larger than can be read, for this one tensor",
            tensor=largest.request.facts.slot.name,
            file=file.name,
            needed=f"at most {limit:,} bytes",
            found=f"{file.size:,} bytes, of which the tensor has {largest.length:,}",
            hint=_too_large(largest.length > (limit or 0)),
        )
    if layout.max_files is not None and len(files) > layout.max_files:
        raise FileLimitError(
            "there would be more data files than can be read",
            needed=f"at most {layout.max_files:,}",
            found=f"{len(files):,}",
            hint=_too_many(in_homes),
        )


def check_header_size(name: str, size: int, alignment: int) -> None:
    """Prove that readers of safetensors take a header.

    Raises:
        FileLimitError: They do not.
    """
    if size > HEADER_MAX:
        raise FileLimitError(
            "the header of the safetensors file would be larger than readers take",
            file=name,
            needed=f"at most {HEADER_MAX:,} bytes",
            found=f"{size:,} bytes, for tensors on multiples of {alignment:,}",
            hint="Ask for a smaller alignment, for smaller shards, or for another kind of file.",
        )


def notes_of_large(
    files: Sequence[PlannedFile], placements: Sequence[Placement], layout: LayoutPolicy
) -> list[str]:
    """Name the tensors for which a file is larger than a shard was to be; of many, some."""
    wish = layout.max_shard_size_bytes
    found = _larger_than(wish, files, placements)
    notes = [
        f"{largest.request.facts.slot.name} has {largest.length:,} bytes: its file {file.name} is "
        f"larger than the {wish:,} that a shard was to have"
        for file, largest in found[:_NAMED]
    ]
    more = len(found) - _NAMED
    return [*notes, f"so are {more:,} more files"] if more > 0 else notes


def _larger_than(
    limit: int | None, files: Sequence[PlannedFile], placements: Sequence[Placement]
) -> list[tuple[PlannedFile, Placement]]:
    """The files past a limit, each with the largest tensor in it."""
    large = {file.name: file for file in files if limit is not None and file.size > limit}
    found: dict[str, Placement] = {}
    for one in placements if large else ():
        if one.file in large and one.length >= found.get(one.file, one).length:
            found[one.file] = one
    return [(large[name], one) for name, one in found.items()]


def _too_large(by_itself: bool) -> str:
    if by_itself:
        return "No layout makes it fit: split the weight in the model, or choose another reader."
    return "Ask for a smaller alignment, or for less padding."


def _too_many(in_homes: bool) -> str:
    if in_homes:
        return "Name a data file for all: in place each tensor stays in the file that it is in."
    return "Raise the size of a shard, or let fewer tensors have files of their own."
