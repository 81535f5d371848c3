"""The steps that write a data file, as values: big moves, large buffers, runs of small pieces."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeAlias

from onnx_align_pass.spans import BufferSource, FileSpan, Source

__all__ = ["Load", "Move", "Piece", "Run", "Step", "Stretch"]


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

    first: FileSpan
    """The span of the first piece."""
    pieces: tuple[Piece, ...]
    length: int
    """Bytes of all pieces."""


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
