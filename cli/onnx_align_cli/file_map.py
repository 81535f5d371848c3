"""The map of a data file: a line of blocks, each for a part of the file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from onnx_align_cli.show import Piece, can_show
from onnx_align_pass.inspection.report import DataFileReport, Range

__all__ = ["legend", "map_of"]

_KINDS: Final = ("tensor", "padding", "dead", "header")
_NAMES: Final = {"tensor": "tensors", "padding": "padding", "dead": "dead", "header": "header"}
_BLOCKS: Final = {"tensor": "█", "padding": "░", "dead": "▒", "header": "▓"}
_LETTERS: Final = {"tensor": "#", "padding": ".", "dead": "x", "header": "h"}
_STYLES: Final = {"tensor": "green", "padding": "bright_black", "dead": "red", "header": "blue"}


def map_of(file: DataFileReport, width: int) -> list[Piece]:
    """Draw a file in `width` blocks; a block is what most of its bytes are."""
    blocks = _blocks()
    cells = _cells(file.ranges, file.nbytes or 0, width)
    runs = ((kind, len(list(run))) for kind, run in groupby(cells))
    return [(blocks[kind] * length, _STYLES[kind]) for kind, length in runs]


def legend(file: DataFileReport) -> Iterator[Piece]:
    """Say what the blocks of a file's map mean, and what share of it each kind has."""
    blocks, size = _blocks(), file.nbytes or 1
    amounts = (file.live_bytes, file.padding_bytes, file.dead_bytes, file.header_bytes)
    for kind, amount in zip(_KINDS, amounts, strict=True):
        if amount:
            yield blocks[kind], _STYLES[kind]
            yield f" {_NAMES[kind]} {100 * amount / size:.1f} %   ", ""


def _blocks() -> dict[str, str]:
    return _BLOCKS if can_show("".join(_BLOCKS.values())) else _LETTERS


def _cells(ranges: Sequence[Range], size: int, width: int) -> Iterator[str]:
    """The kind of each cell; `width` is no more than there are bytes."""
    width = min(width, size)
    bytes_of = [dict.fromkeys(_KINDS, 0) for _ in range(width)]
    for one in ranges:
        end = one.offset + one.length
        at, cell = one.offset, one.offset * width // size
        while at < end:
            # The first byte of the next cell: whose number, times size, is at least width.
            stop = min(end, -(-(cell + 1) * size // width))
            bytes_of[cell][one.kind] += stop - at
            at, cell = stop, cell + 1
    return (max(_KINDS, key=cell.__getitem__) for cell in bytes_of)
