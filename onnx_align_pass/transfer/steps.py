"""Splits the pieces of a data file into steps: big moves, and runs of small pieces. Pure values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeAlias

from onnx_align_pass.spans import BufferSource, FileSpan, Source
from onnx_align_pass.transfer.positional import IOV_MAX

__all__ = [
    "GAP_BELOW",
    "GATHER_BELOW",
    "SKIP_MAX",
    "Load",
    "Move",
    "Piece",
    "Run",
    "Step",
    "Stretch",
    "split",
]

GATHER_BELOW = 256 << 10
"""Pieces of fewer bytes are gathered into runs: above, splicing each costs no more."""
GAP_BELOW = 4096
"""Gaps of fewer bytes are written, as zeros, inside a run; larger ones end the run."""
SKIP_MAX = 16 << 10
"""Most bytes of the source that are read in vain to keep a run going."""


class Piece(NamedTuple):
    """Bytes with the place in the data file where they shall be."""

    source: Source
    offset: int
    """First byte in the data file."""
    name: str
    """The tensor, for progress and errors."""


@dataclass(frozen=True, slots=True)
class Move:
    """Spans that follow each other in their file and in the data file: one copy."""

    spans: tuple[FileSpan, ...]
    pieces: tuple[Piece, ...]
    length: int


@dataclass(frozen=True, slots=True)
class Load:
    """One large piece that is made in memory."""

    source: BufferSource
    piece: Piece


@dataclass(frozen=True, slots=True)
class Stretch:
    """Bytes `[start, end)` of one file: one read into the buffer, at `at`."""

    path: Path
    start: int
    end: int
    at: int


@dataclass(frozen=True, slots=True)
class Run:
    """Small pieces with small gaps: a read for each stretch, then one vectored write."""

    pieces: tuple[Piece, ...]
    places: tuple[int, ...]
    """Where each piece starts in the buffer; -1 for one that is made in memory."""
    stretches: tuple[Stretch, ...]


Step: TypeAlias = Move | Load | Run


def split(
    pieces: Iterable[Piece], *, window: int, gather_below: int = GATHER_BELOW
) -> Iterator[Step]:
    """Split pieces, ordered by offset and disjoint, into steps that write each byte once, in order.

    Args:
        pieces: Empty ones are left out.
        window: Most bytes that a run reads, and most that it writes.
        gather_below: Pieces of fewer bytes, and fewer than `window`, are gathered.
    """
    run = _OpenRun(window)
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
    spans = tuple(piece.source for piece in group if isinstance(piece.source, FileSpan))
    if spans:
        return Move(spans, tuple(group), length)
    source = group[0].source
    assert not isinstance(source, FileSpan)
    return Load(source, group[0])


def _contiguous(pieces: Iterable[Piece]) -> Iterator[tuple[list[Piece], int]]:
    """Group spans that follow each other on both sides; a piece made in memory stands alone."""
    group: list[Piece] = []
    length = 0
    path: Path | None = None
    next_source = next_offset = 0
    for piece in pieces:
        source = piece.source
        size = source.length
        if size == 0:
            continue
        if not isinstance(source, FileSpan):
            if group:
                yield group, length
            yield [piece], size
            group = []
            continue
        if group:
            if (
                piece.offset == next_offset
                and source.offset == next_source
                and (source.path is path or source.path == path)
            ):
                group.append(piece)
                length += size
                next_source += size
                next_offset += size
                continue
            yield group, length
        group, length, path = [piece], size, source.path
        next_source = source.offset + size
        next_offset = piece.offset + size
    if group:
        yield group, length


class _OpenRun:
    """A run that still takes pieces."""

    __slots__ = (
        "_end",
        "_high",
        "_low",
        "_path",
        "_places",
        "_slices",
        "_start",
        "_stretches",
        "_used",
        "_window",
        "pieces",
    )

    def __init__(self, window: int) -> None:
        self._window = window
        self._reset()

    def _reset(self) -> None:
        self.pieces: list[Piece] = []
        self._places: list[int] = []
        self._stretches: list[Stretch] = []
        self._path: Path | None = None
        self._start = self._end = self._low = self._high = self._used = self._slices = 0

    def take(self, piece: Piece) -> bool:
        """Add a piece, unless the run would break a limit."""
        source = piece.source
        offset, length = piece.offset, source.length
        end = offset + length
        if not self.pieces:
            self._start = self._end = offset
        elif (
            offset - self._end >= GAP_BELOW
            or end - self._start > self._window
            or self._slices + 2 > IOV_MAX
        ):
            return False
        place = self._place(source) if isinstance(source, FileSpan) else -1
        if place is None:
            return False
        self._slices += 1 if offset == self._end else 2
        self._end = end
        self.pieces.append(piece)
        self._places.append(place)
        return True

    def _place(self, source: FileSpan) -> int | None:
        """Read the span with the stretch at hand, or in one of its own; None: no room."""
        start, end = source.offset, source.offset + source.length
        low, high, path = self._low, self._high, self._path
        near = low <= start <= high + SKIP_MAX and (source.path is path or source.path == path)
        base = self._used - (high - low) if near else self._used
        low, high = (low, max(high, end)) if near else (start, end)
        if base + high - low > self._window:
            return None
        if not near:
            self._end_stretch()
        self._path, self._low, self._high, self._used = source.path, low, high, base + high - low
        return base + start - low

    def _end_stretch(self) -> None:
        if self._path is not None:
            at = self._used - (self._high - self._low)
            self._stretches.append(Stretch(self._path, self._low, self._high, at))

    def close(self) -> Run:
        """Return the run and begin a new one."""
        self._end_stretch()
        run = Run(tuple(self.pieces), tuple(self._places), tuple(self._stretches))
        self._reset()
        return run
