"""Splits the pieces of a data file into steps. Values in, values out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from onnx_align_pass.spans import FileSpan
from onnx_align_pass.transfer.open_run import OpenRun
from onnx_align_pass.transfer.steps import Load, Move, Piece, Step

__all__ = ["GATHER_BELOW", "split"]

GATHER_BELOW = 256 << 10
"""Pieces of fewer bytes are gathered into runs: above, splicing each costs no more."""


def split(
    pieces: Iterable[Piece], *, window: int, gather_below: int = GATHER_BELOW
) -> Iterator[Step]:
    """Split pieces, ordered by offset and disjoint, into steps that write each byte once, in order.

    Args:
        pieces: Empty ones are left out.
        window: Most bytes that a run reads, and most that it writes.
        gather_below: What has fewer bytes, and fits the window, is gathered.
    """
    run = OpenRun(window)
    for group, length in _contiguous(pieces):
        if length < gather_below and length <= window:
            for piece in group:
                if not run.take(piece):
                    yield run.close()
                    run.take(piece)
            continue
        if run.pieces:
            yield run.close()
        yield _large(group, length)
    if run.pieces:
        yield run.close()


def _large(group: list[Piece], length: int) -> Move | Load:
    source = group[0].source
    if not isinstance(source, FileSpan):
        return Load(source, group[0])
    return Move(source, tuple(group), length)


def _contiguous(pieces: Iterable[Piece]) -> Iterator[tuple[list[Piece], int]]:
    """Group spans that follow each other on both sides, with the bytes of each group."""
    group: list[Piece] = []
    length = 0
    for piece in pieces:
        size = piece.source.length
        if size == 0:
            continue
        if group and _follows(piece, group[-1]):
            group.append(piece)
            length += size
            continue
        if group:
            yield group, length
        group, length = [piece], size
    if group:
        yield group, length


def _follows(piece: Piece, last: Piece) -> bool:
    """Whether a piece goes on where the last one ended, in the data file and in its own."""
    source, before = piece.source, last.source
    return (
        isinstance(source, FileSpan)
        and isinstance(before, FileSpan)
        and piece.offset == last.offset + before.length
        and source.offset == before.offset + before.length
        and (source.path is before.path or source.path == before.path)
    )
