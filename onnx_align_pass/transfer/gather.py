"""Executes a run: reads into one reused buffer, one vectored write of its slices and zero pads."""

from __future__ import annotations

from onnx_align_pass.errors import PlanError
from onnx_align_pass.spans import BufferSource, FileSpan
from onnx_align_pass.transfer.ladder import SourceEndedError
from onnx_align_pass.transfer.open_run import GAP_BELOW
from onnx_align_pass.transfer.positional import read_full, write_gathered
from onnx_align_pass.transfer.steps import Run, Stretch

__all__ = ["load", "read_stretch", "write_run"]

_ZEROS = memoryview(bytes(GAP_BELOW))


def read_stretch(stretch: Stretch, src_fd: int, buffer: memoryview) -> None:
    """Read a stretch of a run to its place in `buffer`.

    Raises:
        SourceEndedError: The file is shorter than the stretch.
        OSError: Reading failed; `filename` is `src_fd`.
    """
    wanted = buffer[stretch.at : stretch.at + stretch.end - stretch.start]
    if read_full(src_fd, wanted, stretch.start) < len(wanted):
        raise SourceEndedError("a stretch is cut short")


def write_run(run: Run, dst_fd: int, buffer: memoryview) -> None:
    """Write a run's pieces, and zeros between them; its stretches are in `buffer`.

    Raises:
        OSError: Writing failed.
    """
    cursor = start = run.pieces[0].offset
    slices: list[memoryview] = []
    for piece, place in zip(run.pieces, run.places, strict=True):
        source = piece.source
        if piece.offset != cursor:
            slices.append(_ZEROS[: piece.offset - cursor])
        if isinstance(source, FileSpan):
            slices.append(buffer[place : place + source.length])
        else:
            slices.append(load(source, piece.name))
        cursor = piece.offset + source.length
    write_gathered(dst_fd, slices, start)


def load(source: BufferSource, name: str) -> memoryview:
    """Make a piece's bytes.

    Raises:
        PlanError: They are not as many as were promised.
    """
    data = memoryview(source.load())
    if data.nbytes != source.length:
        raise PlanError(
            "a tensor's bytes are not as many as its dtype and shape need",
            tensor=name,
            needed=f"{source.length:,} bytes",
            found=f"{data.nbytes:,} bytes",
        )
    return data.cast("B")
