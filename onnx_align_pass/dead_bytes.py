"""Bytes of a data file that no tensor of its model has: where they are most of it, whose is it?

In place they would be gone. A model that points at a few bytes of somebody's document claims it as
much as it claims its weights.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from onnx_align_pass.errors import DataFileSharedError
from onnx_align_pass.prepare import Prepared
from onnx_align_pass.spans import FileSpan
from onnx_align_pass.transfer.open_source import SourceFiles
from onnx_align_pass.transfer.positional import read_full
from onnx_align_pass.units import format_bytes

__all__ = ["check_claimed"]

LEAST_SHARE: Final = 4
"""A model has at least one of so many parts of its data file; of one that was written into twice it
has half. Padding is not counted: zeros are nobody's."""
LOOKED_AT_BYTES: Final = 64 << 20
"""Of one file; what this much of the gaps holds, all of them do."""
_CHUNK_BYTES: Final = 4096


def check_claimed(prepared: Prepared, files: SourceFiles) -> None:
    """Prove that data files which will be replaced or removed hold mostly tensors of the model.

    Raises:
        DataFileSharedError: One holds far more that is not its own.
        ModelError: One cannot be read.
    """
    ranges: dict[Path, list[tuple[int, int]]] = {}
    for home in prepared.homes:
        ranges[prepared.skeleton.data_path(home)] = []
    for one in prepared.requests:
        if isinstance(one.source, FileSpan) and one.source.path in ranges:
            ranges[one.source.path].append((one.source.offset, one.source.length))
    for path, found in ranges.items():
        if not path.exists():
            continue  # empty tensors may name a file that is not there
        size = files.size(path)
        gaps = list(_gaps(found, size))
        held = size - sum(length for _, length in gaps)
        if held * LEAST_SHARE < size and _is_content(files.fd(path), gaps):
            raise DataFileSharedError(
                "most of the data file is no tensor of this model, and would be gone",
                file=path,
                needed=f"a file that is mostly the model's {format_bytes(held)}",
                found=f"{format_bytes(size)}",
                hint="Write to a new destination, or force it, if nothing else needs the file.",
            )


def _gaps(ranges: list[tuple[int, int]], size: int) -> Iterator[tuple[int, int]]:
    reached = 0
    for offset, length in sorted(ranges):
        if offset > reached:
            yield reached, offset - reached
        reached = max(reached, offset + length)
    if size > reached:
        yield reached, size - reached


def _is_content(fd: int, gaps: list[tuple[int, int]]) -> bool:
    """Whether more than half of what was looked at is not zeros."""
    view, looked, filled = memoryview(bytearray(_CHUNK_BYTES)), 0, 0
    for offset, length in gaps:
        for at in range(offset, offset + length, _CHUNK_BYTES):
            if looked >= LOOKED_AT_BYTES:
                return filled * 2 > looked
            count = read_full(fd, view[: min(_CHUNK_BYTES, offset + length - at)], at)
            looked += count
            filled += count if view[:count].tobytes().strip(b"\0") else 0
    return filled * 2 > looked
