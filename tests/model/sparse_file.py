"""Models of gigabytes that take no disk: weights are holes, marked at their ends."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from tests.corpus.wire import block, tag, varint, varint_field

__all__ = ["MARK", "sparse_model"]

MARK = bytes(range(1, 17))
"""The first and the last bytes of each tensor; all others are zero."""
RAW_DATA = tag(9, 2)


def sparse_model(path: Path, sizes: Sequence[int], *, junk: int = 0) -> None:
    """Write a model of inline uint8 tensors `w0`, `w1` ... of these sizes, in bytes.

    With `junk`, each of them has a `raw_data` of so many bytes first, which a later one replaces.
    """
    name = block(2, b"large")
    heads = [head(number, size, junk) for number, size in enumerate(sizes)]
    bodies = [
        len(before) + len(after) + junk + size
        for (before, after), size in zip(heads, sizes, strict=True)
    ]
    starts = [tag(5, 2) + varint(body) for body in bodies]
    with path.open("wb") as file:
        file.write(varint_field(1, 10) + block(8, varint_field(2, 21)))
        file.write(tag(7, 2) + varint(sum(map(len, starts)) + sum(bodies) + len(name)))
        for start, (before, after), size in zip(starts, heads, sizes, strict=True):
            file.write(start + before)
            write_hole(file, junk)
            file.write(after)
            write_hole(file, size)
        file.write(name)


def head(number: int, size: int, junk: int) -> tuple[bytes, bytes]:
    """What stands before the junk, and between it and the weights."""
    facts = varint_field(1, size) + varint_field(2, 2) + block(8, b"w%d" % number)
    if junk == 0:
        return b"", facts + RAW_DATA + varint(size)
    return RAW_DATA + varint(junk), facts + RAW_DATA + varint(size)


def write_hole(file: BinaryIO, size: int) -> None:
    """Zeros that take no disk, marked at both ends."""
    if size:
        file.write(MARK)
        file.seek(size - 2 * len(MARK), os.SEEK_CUR)
        file.write(MARK)
