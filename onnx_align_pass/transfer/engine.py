"""Writes the pieces of one data file: reserve, copy in order, sync."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from onnx_align_pass.errors import PlanError
from onnx_align_pass.progress import Progress
from onnx_align_pass.transfer import kernel
from onnx_align_pass.transfer.gather import load, read_stretch, write_run
from onnx_align_pass.transfer.ladder import Ladder
from onnx_align_pass.transfer.open_source import SourceFiles
from onnx_align_pass.transfer.positional import write_all
from onnx_align_pass.transfer.reading import reading
from onnx_align_pass.transfer.room import make_room
from onnx_align_pass.transfer.split import split
from onnx_align_pass.transfer.steps import Load, Move, Piece, Run, Step

__all__ = ["WRITEBACK_BYTES", "Piece", "write_pieces"]

WRITEBACK_BYTES = 16 << 20
"""A durable copy starts the writeback each time that this many bytes lie behind it."""

_WRITE_BYTES = 512 << 10
"""Most bytes of one write from memory: larger ones make the page cache look for huge pages.

Those are slow to get where memory is scarce, or a virtual machine lends what is free to its host.
"""


def write_pieces(
    fd: int,
    pieces: Sequence[Piece],
    size: int,
    *,
    sources: SourceFiles,
    ladder: Ladder,
    progress: Progress,
    durable: bool,
) -> None:
    """Fill an empty file with pieces, each at its offset; what lies between them is zero.

    Args:
        fd: A fresh, empty file, open to read and write, and not to append.
        pieces: Disjoint, in any order; tied tensors are one piece.
        size: The file's size in bytes when done.
        sources: Opens the files of the spans.
        ladder: Copies the large spans; its buffer serves the small ones.
        progress: Told of the bytes of pieces, not of gaps.
        durable: Whether to return only when the bytes are on the disk.

    Raises:
        PlanError: Pieces overlap, end past `size`, or a buffer is not as long as it said.
        ExternalDataError: A source is missing, unsafe or too short.
        SourceChangedError: A source ended early though it was long enough when first seen.
        OSError: `filename` is the source where reading it failed; None: the destination failed.
    """
    steps = list(split(_checked(pieces, size), window=ladder.window))
    make_room(fd, size, steps, sources)
    writer = _Writer(fd, sources, ladder, progress, durable=durable)
    for step in steps:
        writer.write(step)
    if durable:
        progress.phase("syncing")
        kernel.sync_file(fd)


def _checked(pieces: Sequence[Piece], size: int) -> list[Piece]:
    filled = (piece for piece in pieces if piece.source.length)
    ordered = sorted(filled, key=attrgetter("offset"))
    end = 0
    for piece in ordered:
        if piece.offset < end:
            raise PlanError("two tensors overlap in the data file", tensor=piece.name)
        end = piece.offset + piece.source.length
    if end > size:
        raise PlanError(
            "the last tensor ends after the data file",
            tensor=ordered[-1].name,
            needed=f"{end:,} bytes",
            found=f"{size:,} bytes",
        )
    return ordered


class _Writer:
    """Executes steps, and tells progress and writeback of them."""

    def __init__(
        self, fd: int, sources: SourceFiles, ladder: Ladder, progress: Progress, *, durable: bool
    ) -> None:
        self._fd = fd
        self._sources = sources
        self._ladder = ladder
        self._progress = progress
        self._durable = durable
        self._started = 0

    def write(self, step: Step) -> None:
        match step:
            case Move():
                self._move(step)
            case Load():
                self._load(step)
            case Run():
                self._run(step)

    def _move(self, move: Move) -> None:
        first, names = move.first, _Names(move.pieces)

        def on_bytes(count: int) -> None:
            self._advance(count, *names.after(count))

        with reading(self._sources, first.path, move.pieces) as src_fd:
            self._ladder.copy(
                src_fd, first.offset, self._fd, move.pieces[0].offset, move.length, on_bytes
            )

    def _load(self, step: Load) -> None:
        data, cursor = load(step.source, step.piece.name), step.piece.offset
        most = min(self._ladder.chunk_size, _WRITE_BYTES)
        while data:
            part = data[: most - cursor % most]  # the cache's pages lie on multiples of their size
            write_all(self._fd, part, cursor)
            data, cursor = data[len(part) :], cursor + len(part)
            self._ladder.moved["loaded"] += len(part)
            self._advance(len(part), cursor, step.piece.name)

    def _run(self, run: Run) -> None:
        buffer = self._ladder.buffer
        for stretch in run.stretches:
            with reading(self._sources, stretch.path, run.pieces) as src_fd:
                read_stretch(stretch, src_fd, buffer)
        write_run(run, self._fd, buffer)
        last = run.pieces[-1]
        written = sum(piece.source.length for piece in run.pieces)
        self._ladder.moved["gathered"] += written
        self._advance(written, last.offset + last.source.length, last.name)

    def _advance(self, count: int, cursor: int, name: str) -> None:
        self._progress.advance(count, name)
        if self._durable and cursor - self._started >= WRITEBACK_BYTES:
            kernel.start_writeback(self._fd, self._started, cursor - self._started)
            self._started = cursor


class _Names:
    """Which tensor a copy of several has reached."""

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self._pieces = pieces
        self._index = 0
        self._cursor = pieces[0].offset

    def after(self, count: int) -> tuple[int, str]:
        """Go `count` bytes on; return the offset reached and the tensor of the last byte."""
        self._cursor += count
        while (
            self._index + 1 < len(self._pieces)
            and self._pieces[self._index + 1].offset < self._cursor
        ):
            self._index += 1
        return self._cursor, self._pieces[self._index].name
